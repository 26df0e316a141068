package rollout

import "os/exec"

// isolate leaves the engine alone when its context ends: a console sends Ctrl-C to it as well.
func isolate(cmd *exec.Cmd) { cmd.Cancel = func() error { return nil } }
