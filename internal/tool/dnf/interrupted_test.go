package dnf

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// TestInterrupted_realDnf kills the real dnf while a script of a package runs. The next
// installation goes on: dnf and rpm leave nothing behind that stops it. A package whose
// files were all there counts as installed, though its last script has not run.
func TestInterrupted_realDnf(t *testing.T) {
	if os.Getuid() != 0 {
		realtool.ReportMissing(t, "dnf installs as root only")
	}
	for _, tt := range []struct {
		script string
		missed int // how many packages rpm does not list after the kill
	}{{"pre", 1}, {"post", 0}} {
		t.Run(tt.script, func(t *testing.T) {
			s := newSystem(t)
			s.build("late", "", "%"+tt.script+" -p <lua>\nio.open('/reached', 'w'):close()\nwhile io.open('/wait') do end\n")
			s.must("createrepo_c", "--quiet", s.repo)
			if err := os.MkdirAll(s.root, 0o755); err != nil {
				t.Fatal(err)
			}
			s.write(filepath.Join(s.root, "wait"), "")
			argv := s.argv(Install("late").Argv())
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(s.root, "reached")); err == nil {
					break
				}
				if time.Now().After(end) {
					t.Fatal("the script does not run")
				}
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if err := os.Remove(filepath.Join(s.root, "wait")); err != nil {
				t.Fatal(err)
			}
			if out, status := s.run(Query("late").Argv()); status != tt.missed {
				t.Errorf("after the kill: %d\n%s", status, out)
			}
			if out, status := s.run(Install("late").Argv()); status != 0 || !strings.Contains(out, "Complete!") {
				t.Errorf("the next installation: %d\n%s", status, out)
			}
			if out, status := s.run(Query("late").Argv()); status != 0 {
				t.Errorf("in the end: %d\n%s", status, out)
			}
		})
	}
}
