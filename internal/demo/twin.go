package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/control"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/recording"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/twin"
)

// source is the lab that somebody asks for: one of ours by its name, or a recording.
type source struct {
	name      string
	images    []string // files of firmware
	oneSwitch bool     // all ports without a known cable are on one
}

func (s source) open(dir string) (*labs.Lab, error) {
	if strings.HasSuffix(s.name, ".tar.gz") {
		return s.openTwin(dir)
	}
	return open(dir, s.name)
}

// openTwin starts the twin of a recording, and says what it does not have.
func (s source) openTwin(dir string) (*labs.Lab, error) {
	rec, err := recording.Open(s.name)
	if err != nil {
		return nil, err
	}
	var images [][]byte
	for _, file := range s.images {
		data, readErr := os.ReadFile(file)
		if readErr != nil {
			return nil, readErr
		}
		images = append(images, data)
	}
	made, err := twin.Of(rec, images...)
	if err != nil {
		return nil, err
	}
	made.OneSwitch = s.oneSwitch
	l, err := made.Start(dir, labsim.Options{})
	if err != nil {
		return nil, err
	}
	if err = control.WriteFiles(l); err != nil {
		l.Close()
		return nil, err
	}
	if !rec.OwnNames {
		fmt.Printf("%s.names.json is not there: hosts have the names and addresses of the recording.\n", s.name)
	}
	for _, line := range made.Missing {
		fmt.Println(line)
	}
	return l, nil
}

// tellTwin says how to point a configuration at a twin, and how to break things there.
func tellTwin(l *labs.Lab, root, rc string, say func(string, ...any)) {
	config := filepath.Join(l.Dir, control.SSHConfigFile)
	say("\nPoint your configuration at it, in a copy of its folder and without its state, in another terminal:\n"+
		"  export TF_CLI_CONFIG_FILE=%s\n  provider \"infiniband\" {\n    ssh = { config_file = \"%s\" }\n    hosts = {", rc, config)
	for _, m := range l.Machines() {
		say("      %[1]s = { address = \"%[1]s\" }", m.Name)
	}
	say("    }\n  }\n\nAsk a host by the commands of the provider:\n  %s check -config-file %s %s\n",
		filepath.Join(root, "bin", "terraform-provider-infiniband"), config, l.Machines()[0].Name)
	say("Break things, from %s:", root)
	for _, m := range l.Machines() {
		say("  go run ./internal/labsim/cmd/labsim power --dir %s %s cut", l.Dir, m.Name)
		for _, c := range m.Cards() {
			say("  go run ./internal/labsim/cmd/labsim cable --dir %s %s %s 1 out   # and in", l.Dir, m.Name, c.Config.BDF)
			if c.HasFlash() {
				say("  go run ./internal/labsim/cmd/labsim slot --dir %s %s %s exchange   # another card of the same kind",
					l.Dir, m.Name, c.Config.BDF)
			}
		}
	}
}
