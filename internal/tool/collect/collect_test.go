package collect

import (
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
)

// whole is what runs on a host.
var whole = answer.Functions + cardusers.Functions + script

// wholeFile writes what runs on a host to a file.
func wholeFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "whole.sh")
	write(t, file, whole)
	return file
}

func TestScript_is_POSIX(t *testing.T) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(whole), "whole.sh")
	if err != nil {
		t.Fatal(err)
	}
	syntax.Walk(f, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Redirect:
			if n.N != nil && n.N.Value > "2" {
				t.Errorf("%s: file descriptor %s", n.Pos(), n.N.Value)
			}
			if n.Op == syntax.RdrOut && n.Word.Lit() != "/dev/null" || n.Op == syntax.AppOut {
				t.Errorf("%s: the script writes a file", n.Pos())
			}
		case *syntax.ProcSubst, *syntax.ArrayExpr:
			t.Errorf("%s: not of POSIX", n.Pos())
		}
		return true
	})
}

// TestScript_changes_nothing names every program that the script may call.
func TestScript_changes_nothing(t *testing.T) {
	harmless := map[string]bool{
		"find_users": true, "find_job": true, "users_of": true, "users_file": true, "users_address": true,
		"users_named": true, "users_under": true, "users_process": true, "users_vfio": true, "users_holds": true,
		"users_argument": true, "users_since": true, "users_ticks": true, "find": true, "tr": true,
		"echo": true, "printf": true, "read": true, "set": true, "shift": true, "[": true, "command": true, "continue": true,
		"break": true, "return": true, "export": true, "unset": true, "id": true, "sed": true, "readlink": true,
	}
	asked := regexp.MustCompile(`^(ip|mstflint|lspci|systemctl|dpkg-query|tail|stat|sha256sum|df|midclt|grep|zpool|upsc|uname|modinfo|rpm|pacman|under_lock|briefly|timeout|flock|date)$`)
	f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(whole), "whole.sh")
	if err != nil {
		t.Fatal(err)
	}
	syntax.Walk(f, func(node syntax.Node) bool {
		if own, ok := node.(*syntax.FuncDecl); ok {
			harmless[own.Name.Value] = true
		}
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		name := call.Args[0].Lit()
		if name == "ask_card" {
			if program := call.Args[3].Lit(); !asked.MatchString(program) {
				t.Errorf("%s: runs %q on a card", call.Pos(), program)
			}
		}
		if name == "answer" {
			if program := call.Args[2].Lit(); !asked.MatchString(program) {
				t.Errorf("%s: runs %q", call.Pos(), program)
			}
		}
		if name == "mkdir" && strings.Contains(whole[call.Pos().Offset():call.End().Offset()], `"${LOCK%/*}"`) {
			return true // of the locks, in /run
		}
		if name == "udevadm" && call.Args[1].Lit() == "settle" {
			return true // it only waits
		}
		if name != "" && !harmless[name] {
			t.Errorf("%s: calls %q", call.Pos(), name)
		}
		return true
	})
}

func TestScript_passes_shellcheck(t *testing.T) {
	realtool.Path(t, "shellcheck")
	out, err := exec.CommandContext(t.Context(), "shellcheck", "-s", "sh", wholeFile(t)).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// shells returns the POSIX shells of this machine.
func shells() [][]string {
	var found [][]string
	for _, argv := range [][]string{{"/bin/sh"}, {"dash"}, {"bash", "--posix"}, {"bash"}, {"busybox", "sh"}, {"mksh"}} {
		if _, err := exec.LookPath(argv[0]); err == nil {
			found = append(found, argv)
		}
	}
	return found
}

// answerOf runs the script and reads what it prints.
func answerOf(t *testing.T, run *exec.Cmd) (string, *Answer) {
	t.Helper()
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	a, err := Parse(string(out))
	if err != nil {
		t.Fatal(err)
	}
	return string(out), a
}

// write makes a file of the fixture.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestScript_reads_any_text holds the framing against content that looks like
// it, in every shell.
func TestScript_reads_any_text(t *testing.T) {
	texts := map[string]string{
		"plain":      "network:\n  version: 2\n",
		"no-newline": "a\nb",
		"empty":      "",
		"blank":      "\n\n",
		"framing":    "@end\n@.\n|x\n=/etc\ty\n!z\n",
		"shell":      "$(exit 3) `id` \\n %s \\\\ 'q' \"d\" $HOME\n\\",
		"blanks":     "  two  \n\tone\t\n",
		"unicode":    "größe ∞\n",
	}
	file := wholeFile(t)
	for _, shell := range shells() {
		t.Run(strings.Join(shell, " "), func(t *testing.T) {
			root := t.TempDir()
			for name, text := range texts {
				write(t, filepath.Join(root, "etc/netplan", name+".yaml"), text)
			}
			// What hides a file of the same name in another directory.
			if err := os.Symlink("/dev/null", filepath.Join(root, "etc/netplan/masked.yaml")); err != nil {
				t.Fatal(err)
			}
			// A line of the answer has one path.
			odd := []string{"etc/netplan/od\nd.yaml", "etc/modprobe.d/od\n\nd.conf", "etc/udev/rules.d/od\nd.rules",
				"etc/opensm/od\nd.conf", "etc/netplan/.od\nd.yaml.before-infiniband-1"}
			for _, path := range odd {
				write(t, filepath.Join(root, path), "options mlx4_core port_type_array=1,1\n")
			}
			write(t, filepath.Join(root, "proc/sys/kernel/osrelease"), "6.8.0-45-generic\n")
			write(t, filepath.Join(root, "sys/kernel/security/lockdown"), "[none] integrity confidentiality\n")
			run := exec.CommandContext(t.Context(), shell[0],
				append(shell[1:], file, root, "/var/lib/state", filepath.Join(root, "lock"))...)
			_, a := answerOf(t, run)
			for _, path := range odd[:4] {
				if path = "/" + strings.ReplaceAll(path, "\n", "?"); !a.Denied[path] {
					t.Errorf("%s is not said to be there and unreadable: %v", path, a.Denied)
				}
			}
			want := maps.Clone(texts)
			want["masked"] = ""
			for name, text := range want {
				got, ok := a.Files["/etc/netplan/"+name+".yaml"]
				if !ok {
					t.Errorf("%s is missing", name)
				}
				if diff := cmp.Diff(text, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if got := a.Values["/proc/sys/kernel/osrelease"].Text; got != "6.8.0-45-generic" {
				t.Errorf("kernel %q", got)
			}
		})
	}
}

// TestScript_finds_the_SSH_client_behind_sudo runs the script without
// SSH_CONNECTION below a process that has it, as sudo does.
func TestScript_finds_the_SSH_client_behind_sudo(t *testing.T) {
	file := wholeFile(t)
	for _, shell := range shells() {
		script := "env -u SSH_CONNECTION " + strings.Join(shell,
			" ") + " " + file + ` "" /var/lib/state ` + filepath.Join(t.TempDir(), "lock") + "; true"
		run := exec.CommandContext(t.Context(), "sh", "-c", script)
		run.Env = append(os.Environ(), "SSH_CONNECTION=192.0.2.7 50022 192.0.2.20 22")
		_, a := answerOf(t, run)
		if a.Client != "192.0.2.7" || a.Server != "192.0.2.20" {
			t.Errorf("%v: client %q, server %q", shell, a.Client, a.Server)
		}
	}
}

// TestScript_looks_again_after_another_reader holds that a card is not opened if somebody
// else came while a reader of ours had it.
func TestScript_looks_again_after_another_reader(t *testing.T) {
	const pci = "0000:01:00.0"
	for name, tt := range map[string]struct{ burn, always bool }{
		"nobody came": {}, "a burn began": {burn: true}, "a reader that does not end": {always: true},
	} {
		for _, shell := range shells() {
			t.Run(name+" "+strings.Join(shell, " "), func(t *testing.T) {
				root, bin := t.TempDir(), t.TempDir()
				write(t, filepath.Join(root, "proc/1/comm"), "systemd\n")
				write(t, filepath.Join(root, "sys/bus/pci/devices", pci, "vendor"), "0x15b3\n")
				write(t, filepath.Join(root, "sys/bus/pci/devices", pci, "class"), "0x020700\n")
				burn := filepath.Join(root, "burn")
				write(t, filepath.Join(burn, "comm"), "mstflint\n")
				write(t, filepath.Join(burn, "cmdline"), "mstflint\x00-d\x00"+pci+"\x00b\x00")
				write(t, filepath.Join(burn, "status"), "Uid:\t0\t0\t0\t0\n")
				came, kept := ":", ":"
				if tt.burn {
					came = "mv " + burn + " " + root + "/proc/4711"
				}
				if tt.always {
					kept = "exit 74"
				}
				for program, text := range map[string]string{
					"flock": "[ -e " + root + "/first ] || { : >" + root + "/first; " + came + "; exit 74; }\n" + kept +
						"\nexec mstflint opened\n",
					"mstflint": "echo \"mstflint $*\"\n",
				} {
					write(t, filepath.Join(bin, program), "#!/bin/sh\n"+text)
					if err := os.Chmod(filepath.Join(bin, program), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				args := append(slices.Clone(shell[1:]), "-c", whole, "sh", root, "/x", filepath.Join(root, "run/lock"))
				run := exec.CommandContext(t.Context(), shell[0], args...)
				run.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
				out, err := run.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				opened := strings.Contains(string(out), "@run 0\tflash "+pci+"\n|mstflint opened\n")
				taken := strings.Contains(string(out), "@run 75\tflash "+pci+"\n")
				seen := strings.Contains(string(out), "@user 4711 ")
				if opened == (tt.burn || tt.always) || taken != (tt.burn || tt.always) || seen != tt.burn {
					t.Errorf("opened %t, taken %t, burn seen %t", opened, taken, seen)
				}
			})
		}
	}
}

// TestScript_says_whose_a_virtual_function_is holds that each shell follows the link to the
// physical function, and that a link to nowhere gives none.
func TestScript_says_whose_a_virtual_function_is(t *testing.T) {
	file := wholeFile(t)
	for _, shell := range shells() {
		root := filepath.Join(t.TempDir(), "a root")
		devices := filepath.Join(root, "sys/bus/pci/devices")
		for pci, physical := range map[string]string{"0000:01:00.0": "", "0000:01:00.1": "", "0000:01:00.2": "0000:01:00.0",
			"0000:01:01.0": "0000:01:00.1", "0000:01:01.1": "0000:01:00.7"} {
			write(t, filepath.Join(devices, pci, "vendor"), "0x15b3\n")
			write(t, filepath.Join(devices, pci, "class"), "0x020700\n")
			if physical == "" {
				continue
			}
			if err := os.Symlink("../"+physical, filepath.Join(devices, pci, "physfn")); err != nil {
				t.Fatal(err)
			}
		}
		run := exec.CommandContext(t.Context(), shell[0], append(shell[1:], file, root, "/x", filepath.Join(root, "lock"))...)
		out, a := answerOf(t, run)
		want := []Device{{Address: "0000:01:00.0"}, {Address: "0000:01:00.1"},
			{Address: "0000:01:00.2", Virtual: true, Physical: "0000:01:00.0"},
			{Address: "0000:01:01.0", Virtual: true, Physical: "0000:01:00.1"}, {Address: "0000:01:01.1", Virtual: true}}
		if diff := cmp.Diff(want, a.Devices); diff != "" {
			t.Errorf("%v (-want +got):\n%s", shell, diff)
		}
		if strings.Contains(out, "flash 0000:01:01.1") {
			t.Errorf("%v: a virtual function was asked for a flash", shell)
		}
	}
}

// TestScript_asks_for_the_way_to_each_server_of_a_mount holds that each shell finds the
// addresses in what a mount names, and only these.
func TestScript_asks_for_the_way_to_each_server_of_a_mount(t *testing.T) {
	const mounts = "192.0.2.1@o2ib,192.0.2.2@o2ib:192.0.2.3@tcp:/l*s /mnt lustre rw 0 0\n" +
		"a@b.c=/ /mnt ceph rw,mon_addr=192.0.2.4:3300/[fd00::4]:3300,x=1 0 0\nnas:/v1.2 /mnt fuse.glusterfs rw 0 0\n" +
		"nas:/tank /mnt nfs4 rw,addr=fd00::5 0 0\n"
	file, bin := wholeFile(t), t.TempDir()
	write(t, filepath.Join(bin, "ip"), "#!/bin/sh\necho \"ip $*\"\n")
	if err := os.Chmod(filepath.Join(bin, "ip"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, shell := range shells() {
		root := t.TempDir()
		write(t, filepath.Join(root, "proc/mounts"), mounts)
		run := exec.CommandContext(t.Context(), shell[0], append(shell[1:], file, root, "/x", filepath.Join(root, "lock"))...)
		run.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		_, a := answerOf(t, run)
		var asked []string
		for name := range a.Runs {
			if to, ok := strings.CutPrefix(name, "way "); ok {
				asked = append(asked, to)
			}
		}
		slices.Sort(asked)
		want := []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "fd00::4", "fd00::5"}
		if !slices.Equal(asked, want) {
			t.Errorf("%v asked for the ways to %q", shell, asked)
		}
		// What comes behind splits words and expands patterns as before.
		if len(a.Commands) == 0 || a.Runs["ip-addr"].Output != "ip -j -d addr show\n" {
			t.Errorf("%v: %+v", shell, a.Runs)
		}
	}
}

// A file that would cost the reader its memory is refused, and the message names it.
func TestParse_refuses_files_that_cost_too_much(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("[", 20000):                 "/etc/netplan/a.yaml nests more than 1000",
		"a:\n" + strings.Repeat("- ", 20000) + "x": "/etc/netplan/a.yaml nests more than 1000",
		strings.Repeat("{a: [", 600) + "x":         "/etc/netplan/a.yaml nests more than 1000",
		strings.Repeat("x", 2<<20):                 "/etc/netplan/a.yaml has 2097153 bytes; at most 1048576 are read",
		strings.Repeat("[x] {y}\n- a\n", 9000):     "",
	} {
		lines := strings.TrimSuffix(strings.ReplaceAll("|"+text, "\n", "\n|"), "\n|") + "\n"
		_, err := Parse("@begin 1\n@uid 0\n@file /etc/netplan/a.yaml\n" + lines + "@.\n@end\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("expected %q, got %.300v", want, err)
		}
	}
}

func TestParse(t *testing.T) {
	const output = `@begin 1
@uid 1000
=/proc/sys/kernel/osrelease	6.8.0
@directory /etc/netplan/x.yaml
!/etc/secret
@net 0000:01:00.0 ib0
@pci 0000:01:00.0
@virtual 0000:01:00.0 0000:01:00.7
@driver 0000:01:00.0 mlx4_core
@rdma 0000:01:00.0 mlx4_0
@module ib_ipoib
@command ip
@absent lspci
@ssh 192.0.2.1
@route6 eth0 fd000000000000000000000000000001
@run 75	flash 0000:01:00.0
|-E- two
@.
@rule /etc/udev/rules.d/70-x.rules
@users 
@user 12 0 any root	mstconfig q
@users the processes in /proc cannot be read
@user 12 0 any root	mstconfig q
@job 1
@settled 1
@job 2
@process 2 4711
@hidden 2 no /proc
@end
`
	got, err := Parse(output)
	if err != nil {
		t.Fatal(err)
	}
	want := &Answer{
		UID: 1000, Values: map[string]Value{"/proc/sys/kernel/osrelease": {Text: "6.8.0", Line: 3}},
		Denied: map[string]bool{"/etc/secret": true}, Directories: map[string]bool{"/etc/netplan/x.yaml": true},
		Files: map[string]string{}, Runs: map[string]Run{"flash 0000:01:00.0": {Status: 75, Output: "-E- two\n", Line: 16}},
		Commands: map[string]bool{"ip": true,
			"lspci": false}, Modules: map[string]bool{"ib_ipoib": true}, Rules: []string{"/etc/udev/rules.d/70-x.rules"},
		Devices: []Device{{Address: "0000:01:00.0", Driver: "mlx4_core", RDMA: "mlx4_0", Virtual: true,
			Physical: "0000:01:00.7"}},
		Netdevs: map[string]string{"ib0": "0000:01:00.0"}, Jobs: []Job{{ID: "1", Settled: true},
			{ID: "2", PIDs: []string{"4711"}, Hidden: "no /proc"}}, Client: "192.0.2.1",
		Users:    []inventory.CardUser{{PID: 12, Name: "root", Any: true, Command: "mstconfig q"}},
		UsersWhy: "the processes in /proc cannot be read",
		Routes6:  []Route6{{Dev: "eth0", Gateway: netip.MustParseAddr("fd00::1")}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, inventory.CardUser{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Cut anywhere, an answer must not be taken for a whole one.
	for i := range len(output) - 1 {
		if _, err := Parse(output[:i]); err == nil && output[:i] != strings.TrimSuffix(output, "\n") {
			t.Errorf("the answer was read although it was cut behind %d bytes", i)
		}
	}
	for name, bad := range map[string]string{
		"no beginning":             "@end\n",
		"a line behind the end":    output + "x\n",
		"a stray line":             strings.Replace(output, "@uid 1000", "uid 1000", 1),
		"an empty line":            strings.Replace(output, "@uid 1000", "", 1),
		"a fact of no device":      strings.Replace(output, "@pci 0000:01:00.0\n", "", 1),
		"a fact of another device": strings.Replace(output, "@driver 0000:01", "@driver 0000:02", 1),
		"a status that is none":    strings.Replace(output, "@run 75", "@run x", 1),
		"a line out of a section":  strings.Replace(output, "|-E-", "-E-", 1),
		"an unknown fact":          strings.Replace(output, "@module", "@modules", 1),
		"a gateway of 4 digits":    strings.Replace(output, "fd000000000000000000000000000001", "fd00", 1),
		"a user without command":   strings.Replace(output, "root\tmst", "root mst", 1),
		"a value without path":     strings.Replace(output, "osrelease\t", "osrelease ", 1),
	} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// TestScript_asks_for_instances_that_are_not_loaded has one that is masked and one that is enabled. A template
// has no state: systemctl ends with an error for its name.
func TestScript_asks_for_instances_that_are_not_loaded(t *testing.T) {
	file := wholeFile(t)
	for _, shell := range shells() {
		root, bin := t.TempDir(), t.TempDir()
		for link, target := range map[string]string{"opensm@masked.service": "/dev/null", "opensm@.service": "/dev/null",
			"multi-user.target.wants/opensm@enabled.service":  "/etc/systemd/system/opensm@.service",
			"multi-user.target.wants/opensm@.service":         "/etc/systemd/system/opensm@.service",
			"multi-user.target.wants/infiniband-port.service": "/dev/null"} {
			at := filepath.Join(root, "etc/systemd/system", link)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, at); err != nil {
				t.Fatal(err)
			}
		}
		write(t, filepath.Join(bin, "systemctl"), "#!/bin/sh\necho \"asked $*\"\n")
		if err := os.Chmod(filepath.Join(bin, "systemctl"), 0o755); err != nil {
			t.Fatal(err)
		}
		run := exec.CommandContext(t.Context(), shell[0],
			append(shell[1:], file, root, "/var/lib/state", filepath.Join(root, "lock"))...)
		run.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, _ := answerOf(t, run)
		if !strings.Contains(out, " opensm@masked.service opensm@enabled.service\n") ||
			strings.Contains(out, " opensm@.service") {
			t.Errorf("%v:\n%s", shell, out)
		}
	}
}
