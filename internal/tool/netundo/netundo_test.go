package netundo

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

var guard = Guard{ID: "e41d2d0300e44ed1", Change: "C1"}

func TestScripts_arePOSIX(t *testing.T) {
	for name, text := range map[string]string{"save": saveScript, "undo": undoScript, "undo now": undoNowScript,
		"call off": callOffScript} {
		if _, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), name); err != nil {
			t.Error(err)
		}
	}
}

func TestGuard_Arm(t *testing.T) {
	dir := "/var/lib/terraform-provider-infiniband/undo/e41d2d0300e44ed1"
	want := []string{"systemd-run", "--quiet", "--collect", "--unit=infiniband-undo-e41d2d0300e44ed1", "--on-active=90s",
		"--timer-property=AccuracySec=100ms", "--", "/bin/sh", dir + "/undo.sh", dir}
	cmd := guard.Arm(90 * time.Second)
	if diff := cmp.Diff(want, cmd.Argv()); diff != "" {
		t.Error(diff)
	}
	if !cmd.Root() || !cmd.Changing() {
		t.Error("arming is not marked as a change by root")
	}
}

// A step of a change that arrives after the host has decided does not run.
func TestGuard_Step(t *testing.T) {
	text, err := shellcmd.Compose(guard.Step(shellcmd.New("ip", "addr", "del", "10.0.0.1/24", "dev", "ib0")),
		shellcmd.NewFrame(), shellcmd.Elevation{})
	if err != nil || !strings.Contains(text, "[ ! -e "+guard.Dir()+"/decided ] ||") ||
		!strings.Contains(text, "[ -e "+guard.mark()+" ] ||") {
		t.Errorf("%v:\n%s", err, text)
	}
}

func TestGuard_Save(t *testing.T) {
	cmd := guard.Save(Before{
		Stack: Ifupdown, Interface: "ibp1s0", Existed: true, Mode: ib.ModeDatagram, MTU: 2044, Up: true,
		Added:         []netip.Prefix{netip.MustParsePrefix("172.16.0.20/24"), netip.MustParsePrefix("fd00::1/64")},
		RoutesRemoved: []ipconf.Route{{To: netip.MustParsePrefix("10.0.0.0/8"), Via: netip.MustParseAddr("172.16.0.1")}},
	}, "/etc/a", "/etc/b c")
	args := cmd.Argv()
	if diff := cmp.Diff([]string{"save-interface", guard.Dir(), guard.Change, "ifupdown", "ibp1s0", "yes", "datagram",
		"2044", "up", "",
		"added 172.16.0.20/24\nadded fd00::1/64\nroutes-removed 10.0.0.0/8 172.16.0.1", undoScript, guard.BootUnit()},
		args[:13]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/etc/a", "/etc/b c"}, args[14:]); diff != "" {
		t.Error(diff)
	}
}

// TestSave_inRealShells runs the real script of saving on a directory of the
// test and looks at what the undo will read.
func TestSave_inRealShells(t *testing.T) {
	for _, shell := range []string{"dash", "bash", "busybox"} {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		t.Run(shell, func(t *testing.T) {
			root := t.TempDir()
			dir, kept := filepath.Join(root, "undo"), filepath.Join(root, "kept file")
			if err := os.WriteFile(kept, []byte("as it was\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(saveScript, "/etc/systemd/system", filepath.Join(root, "units"))
			args := []string{"-c", text, "save", dir, "c1", "networkd", "ib0", "no", "", "0", "down", "", "added 10.0.0.1/24",
				undoScript,
				filepath.Join(root, "units", "u.service"), "[Unit]", kept, filepath.Join(root, "absent")}
			if shell == "busybox" {
				args = append([]string{"sh"}, args...)
			}
			if out, err := exec.CommandContext(t.Context(), shell, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for name, want := range map[string]string{
				"manifest": "restore 1 " + kept + "\nremove 2 " + filepath.Join(root, "absent") + "\n",
				"files/1":  "as it was\n", "added": "10.0.0.1/24\n", "removed": "", "undo.sh": undoScript + "\n", "existed": "no\n",
				"mode": "\n",
			} {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
					t.Errorf("%s: %q, %v; want %q", name, got, err, want)
				}
			}
			// Another change of the interface is open.
			args[slices.Index(args, "c1")] = "c2"
			out, err := exec.CommandContext(t.Context(), shell, args...).CombinedOutput()
			if _, gone := os.Stat(filepath.Join(dir, "change.c1")); err == nil || gone != nil {
				t.Errorf("the saved state of an open change was replaced: %s", out)
			}
			if target, err := os.Readlink(filepath.Join(root, "units/sysinit.target.wants/u.service")); err != nil ||
				filepath.Base(target) != "u.service" {
				t.Errorf("the unit is not enabled: %q, %v", target, err)
			}
		})
	}
}

// Routes that could not be listed before a change are named after it: they may have ended.
func TestSave_names_routes_that_cannot_be_read(t *testing.T) {
	sh, root := realtool.Path(t, "/bin/sh"), t.TempDir()
	dir, fake := filepath.Join(root, "undo"), filepath.Join(root, "bin", "ip")
	if err := os.Mkdir(filepath.Dir(fake), 0o700); err != nil {
		t.Fatal(err)
	}
	const ip = "#!/bin/sh\n[ \"$1\" = -6 ] && exit 0\necho 'Dump terminated' >&2\necho more >&2\nexit 2\n"
	if err := os.WriteFile(fake, []byte(ip), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), sh, "-c",
		strings.ReplaceAll(saveScript, "/etc/systemd/system", filepath.Join(root, "units")), "save", dir, "c1", "networkd",
		"ib0", "yes", "", "0", "up", "", "", undoScript, filepath.Join(root, "units", "u.service"), "[Unit]")
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(fake)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), sh, filepath.Join(dir, "undo.sh"), dir, "routes").CombinedOutput()
	const want = "routes ib0 routes that could not be read before the change (ip -4 route: Dump terminated)\n"
	if err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}

// TestRestore_inRealShells has a disk become full while a file is put back: a link needs no
// space. If neither comes to be, what is at the path stays as it is.
func TestRestore_inRealShells(t *testing.T) {
	_, function, _ := strings.Cut(undoSteps, "\nrestore() {")
	function, _, _ = strings.Cut(function, "\n}\n")
	const full = "cp() { head -c 3 \"$2\" >\"$3\"; return 1; }\n"
	for name, c := range map[string]struct{ fault, want string }{
		"room":           {"", "as it was\n"},
		"full":           {full, "as it was\n"},
		"full, no links": {full + "ln() { return 1; }\n", "changed\n"},
	} {
		for _, shell := range []string{"dash", "bash"} {
			if _, err := exec.LookPath(shell); err != nil {
				continue
			}
			dir := t.TempDir()
			saved, target := filepath.Join(dir, "saved"), filepath.Join(dir, "etc", "file")
			if err := errors.Join(os.Mkdir(filepath.Dir(target), 0o700), os.WriteFile(saved, []byte("as it was\n"), 0o600),
				os.WriteFile(target, []byte("changed\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
			for range 2 { // an undo that is called again
				out, err := exec.CommandContext(t.Context(), shell, "-c", c.fault+"restore() {"+function+"\n}\nrestore \"$@\"",
					"undo", saved, target).CombinedOutput()
				if (err == nil) != (c.want == "as it was\n") {
					t.Errorf("%s, %s: %v\n%s", name, shell, err, out)
				}
				if got, err := os.ReadFile(target); err != nil || string(got) != c.want {
					t.Errorf("%s, %s: the file has %q, %v", name, shell, got, err)
				}
			}
			if left, err := os.ReadDir(filepath.Dir(target)); err != nil || len(left) != 1 {
				t.Errorf("%s, %s: %v is left, %v", name, shell, left, err)
			}
		}
	}
}
