package check

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/simssh"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// config writes an SSH client configuration for a lab. more holds lines of single hosts.
func config(t *testing.T, lab *labs.Lab, more map[string]string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ssh_config")
	if err := os.WriteFile(file, []byte(lab.SSHConfig(more)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func check(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = Command.Run(t.Context(), args, command.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	if stderr.Len() > 0 {
		t.Errorf("on standard error: %s", stderr.String())
	}
	return status, stdout.String()
}

// words are those of a report, without what differs from run to run.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// One lab with a host for each way in which a check comes out: the outcome, the exit
// status, and what is said on the way.
func TestCheck_outcomes(t *testing.T) {
	names := []string{"good", "stranger", "shut", "nosudo", "bare", "odd", "empty", "old", "dead", "misconfigured",
		"chatty", "nologin"}
	var all []labs.Host
	for i, name := range names {
		h := labs.Server(name, labsim.Ubuntu, fmt.Sprintf("192.0.2.%d", i+10), i)
		if name == "empty" {
			h.Cards = nil
		}
		all = append(all, h)
	}
	lab, err := labs.Start(t.TempDir(), labsim.Options{}, all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	other := filepath.Join(t.TempDir(), "other")
	if _, private, keyErr := simssh.NewKey(); keyErr != nil {
		t.Fatal(keyErr)
	} else if block, pemErr := ssh.MarshalPrivateKey(private, ""); pemErr != nil {
		t.Fatal(pemErr)
	} else if err = os.WriteFile(other, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	lab.Machine("nosudo").Faults.Update(func(f *labsim.FaultSpec) { f.SudoRefused = true })
	lab.Machine("chatty").Faults.Update(func(f *labsim.FaultSpec) { f.LoginPrints = "HELLO\n" })
	lab.Machine("nologin").Faults.Update(func(f *labsim.FaultSpec) {
		f.LoginPrints, f.NoLogin = "This account is currently not available.\n", true
	})
	lab.Machine("bare").Uninstall("/usr/bin/mstflint")
	for name, release := range map[string]string{
		"odd": "ID=gentoo\nPRETTY_NAME=\"Gentoo Linux\"\n",
		"old": "ID=rhel\nVERSION_ID=\"7.9\"\nPRETTY_NAME=\"RHEL 7.9\"\n",
	} {
		if err = lab.Machine(name).FS.WriteFile("/etc/os-release", []byte(release), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lab.Servers["dead"].Close()
	file := config(t, lab, map[string]string{
		"stranger":      "  UserKnownHostsFile /dev/null\n",
		"shut":          "  IdentityFile " + other + "\n",
		"misconfigured": "  BindInterface lo\n",
	})
	for _, tc := range []struct {
		name   string
		status int
		says   []string
	}{
		{"good", command.OK, []string{"ok config Port ", "ok config User ops (" + file, "ok host key ssh-ed25519 SHA256:",
			"(" + lab.KnownHostsFile() + ":", "ok login key ssh-ed25519 SHA256:", "ok root sudo, without a password", "ok transfer SFTP",
			"ok system Ubuntu 24.04, kernel 6.8.0", "note tools opensm is not installed, which only infiniband_opensm needs",
			"ok tools mstflint 4.26.0", "ok card 0000:01:00.0 ConnectX-3 Pro MCX314A-BCCT serial MT1234X00000 firmware",
			"good: ready"}},
		{"stranger", command.Unreachable, []string{"failed host key unable to verify host key: the host key is not known: " +
			"ssh-ed25519 SHA256:", "Compare the fingerprint", "On this command line they are -host-key KEY and -host-key-policy accept-new",
			"stranger: not reached"}},
		{"shut", command.Unreachable, []string{"failed login unable to authenticate: the server rejected user ops",
			other + ", IdentityFile", "shut: not reached"}},
		{"nosudo", command.Failed, []string{"ok login", "missing root user ops cannot become root: not in sudoers",
			"Add a file in /etc/sudoers.d", "nosudo: reached, 1 thing is missing"}},
		{"chatty", command.Failed, []string{"ok root", "missing transfer an apply could not move a file to the host: the login " +
			"shell prints text before the file transfer begins: \"HELL", "~/.bashrc", "case $- in *i*)", "ok card",
			"chatty: reached, 1 thing is missing"}},
		{"nologin", command.Failed, []string{"missing facts", "The login shell may be restricted",
			"Output: This account is currently not available.", "nologin: reached, 1 thing is missing"}},
		{"bare", command.Failed, []string{"missing card mstflint is not installed on the host",
			"No mstflint on bare's PATH", "apt install", "Finding: FW051"}},
		{"odd", command.Failed, []string{"missing system Gentoo Linux is not supported", "nothing on it can be changed",
			"odd: reached, 1 thing is missing"}},
		{"old", command.Failed, []string{"missing system RHEL 7.9 is not supported", "not supported: its cards can be read"}},
		{"empty", command.Failed, []string{"missing card no InfiniBand card", "empty: reached, 1 thing is missing"}},
		{"dead", command.Unreachable, []string{"failed connection unable to connect:", "dead: not reached"}},
		{"misconfigured", command.Unreachable, []string{"failed config", "BindInterface", "misconfigured: not reached"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			status, out := check(t, "-config-file", file, tc.name)
			if status != tc.status {
				t.Errorf("status %d, want %d", status, tc.status)
			}
			for _, want := range tc.says {
				if !strings.Contains(words(out), words(want)) {
					t.Errorf("no %q in:\n%s", want, out)
				}
			}
		})
	}
	t.Run("a host that only a pin vouches for", func(t *testing.T) {
		t.Parallel()
		pin := ssh.FingerprintSHA256(lab.Servers["stranger"].HostKey())
		status, out := check(t, "-config-file", file, "-host-key", "stranger="+pin, "stranger")
		if status != command.OK || !strings.Contains(words(out), "ok host key ssh-ed25519 "+pin+" (host_keys)") {
			t.Errorf("status %d:\n%s", status, out)
		}
		wrong := ssh.FingerprintSHA256(lab.Servers["good"].HostKey())
		status, out = check(t, "-config-file", file, "-host-key", wrong, "stranger")
		if status != command.Unreachable || !strings.Contains(words(out), "but is pinned to "+wrong) {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
	t.Run("several", func(t *testing.T) {
		t.Parallel()
		status, out := check(t, "-config-file", file, "-json", "good", "nosudo", "dead")
		var got struct{ Hosts []Report }
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		var outcomes []string
		for _, h := range got.Hosts {
			outcomes = append(outcomes, h.Name+" "+h.Outcome)
		}
		want := "good ready, nosudo reached, 1 thing is missing, dead not reached"
		if status != command.Unreachable || strings.Join(outcomes, ", ") != want {
			t.Errorf("status %d: %s", status, strings.Join(outcomes, ", "))
		}
	})
	t.Run("wrong", func(t *testing.T) {
		t.Parallel()
		var stderr bytes.Buffer
		status := Command.Run(t.Context(), []string{"-config-file", file}, command.Streams{Out: t.Output(), Err: &stderr})
		if status != command.Usage || !strings.Contains(stderr.String(), "check: no host is named") {
			t.Errorf("status %d: %s", status, stderr.String())
		}
	})
	t.Cleanup(func() {
		for _, name := range names {
			// The SFTP server is started and asked; nothing is written.
			if _, err := lab.Machine(name).FS.Stat(vfs.Root, "/home/ops/.cache", true); err == nil {
				t.Errorf("%s: something was written below the home directory", name)
			}
		}
		for _, v := range lab.Violations() {
			t.Errorf("the lab was asked for what no real host would answer: %s", v)
		}
	})
}

// The command of the guide, as it stands there, on hosts with those names.
func TestCheck_guide(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../templates/guides/connect.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	arguments, ok := strings.CutPrefix(block, "terraform-provider-infiniband check ")
	hosts := strings.Fields(arguments)
	if !ok || len(hosts) != 2 {
		t.Fatalf("the guide begins with %q", block)
	}
	var all []labs.Host
	for i, name := range hosts {
		all = append(all, labs.Server(name[strings.Index(name, "@")+1:], labsim.Ubuntu, fmt.Sprintf("192.0.2.%d", i+10), i))
	}
	lab, err := labs.Start(t.TempDir(), labsim.Options{}, all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	status, out := check(t, append([]string{"-config-file", config(t, lab, nil)}, hosts...)...)
	if status != command.OK || strings.Count(out, ": ready") != len(hosts) {
		t.Errorf("status %d:\n%s", status, out)
	}
}
