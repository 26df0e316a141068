package acctest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const sudoWord = `s3cr'et "$x"`

// asks gives the user of hosts a sudo that asks for the password.
func asks(hosts ...labs.Host) []labs.Host {
	for i := range hosts {
		hosts[i].Users[0].Sudo, hosts[i].Users[0].Password = labsim.SudoPassword, sudoWord
	}
	return hosts
}

// workspaceWithPassword is the workspace of an operator who knows that password.
func (w *Lab) workspaceWithPassword() *Workspace {
	config := w.Provider()
	config["ssh"].(map[string]any)["sudo_password"] = sudoWord
	ws := NewWorkspace(InProcess, config)
	ws.Ended = w.DropAll
	return ws
}

// The way in that TrueNAS has by default: the user truenas_admin, whose sudo asks for
// the password. Everything is done that way, from the card as bought to the interface,
// and the password is in no command and no file.
func TestSudoPassword_on_TrueNAS(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: asks(labs.TwoHosts()...)})
	w.needSimulated("needs the middleware of TrueNAS")
	const nas = labs.Xeon2zfs
	ws, cfg := w.workspaceWithPassword(), w.CrossFlash(nas)
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	if images, guids := w.Burns(nas); images != 1 || guids != 1 {
		t.Errorf("%d firmware burns and %d GUID changes, expected one of each", images, guids)
	}
	for _, e := range w.Machine(nas).Journal() {
		if line := strings.Join(e.Args, " "); strings.Contains(line, "s3cr") {
			t.Errorf("the password shows in a command: %s", line)
		}
	}
	secretless(t, w, nas)
}

// The same with the sudo of Debian, which on the testbed is the real one.
func TestSudoPassword_on_Debian(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: asks(lockedHost(oneEnd, "192.0.2.20", 0, ""))})
	ws, cfg := w.workspaceWithPassword(), w.crossFlash(oneEnd, 0)[:4] // mstconfig is slow on the testbed, and no port gets a peer
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	if images, guids := w.Burns(oneEnd); images != 1 || guids != 1 {
		t.Errorf("%d firmware burns and %d GUID changes, expected one of each", images, guids)
	}
	secretless(t, w, oneEnd)
}

// secretless holds that the password is in no file of the provider, here or on a host.
func secretless(t *testing.T, w *Lab, host string) {
	t.Helper()
	out := w.Run(host, `for f in $(find /var/lib/terraform-provider-infiniband -type f); do grep -l s3cr "$f"; done; true`)
	if strings.TrimSpace(out) != "" {
		t.Errorf("the password is in files of the host: %s", out)
	}
	err := filepath.WalkDir(w.Backups, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "s3cr") {
			t.Errorf("the password is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
