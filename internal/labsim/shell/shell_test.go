package shell_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/cardprog"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/shell"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/unix"
)

func machine(t *testing.T) *labsim.Machine {
	t.Helper()
	l := labsim.New(labsim.Options{Speed: 1000,
		Setup: []func(*labsim.Machine){shell.Install, unix.Install, cardprog.Install}})
	m, err := l.AddMachine(labsim.Config{Name: "host", Users: []labsim.User{
		{Name: "ops", UID: 1000, GID: 1000, Home: "/home/ops", Shell: "/bin/bash", Sudo: labsim.SudoNoPasswd},
		{Name: "pw", UID: 1001, GID: 1001, Home: "/home/pw", Shell: "/bin/bash", Sudo: labsim.SudoPassword,
			Password: "secret"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func run(t *testing.T, m *labsim.Machine, user, stdin string, args ...string) (string, int) {
	t.Helper()
	u, _ := m.LookupUser(user)
	var out bytes.Buffer
	status := m.Exec(t.Context(), &labsim.Proc{
		Args: args, User: u.Name, UID: u.UID, GID: u.GID, Dir: u.Home, Stdin: strings.NewReader(stdin), Stdout: &out,
		Stderr: &out,
	})
	return out.String(), status
}

func TestProgram_scripts(t *testing.T) {
	m := machine(t)
	for name, tc := range map[string]struct {
		script, out string
		status      int
	}{
		"quoting and parameters": {`printf '%s|' "$@"; echo "$#"`, "a b|*|\\|3\n", 0},
		"here-document":          {"cat <<'X'\n$HOME `id`\nX\n", "$HOME `id`\n", 0},
		"pipe and status":        {`printf 'b\na\n' | sort | head -n 1; false; echo $?`, "a\n1\n", 0},
		"umask and mode":         {`umask 077; umask; echo x >/tmp/f; stat -c %a /tmp/f; umask 022; mkdir /tmp/d; stat -c %a /tmp/d`, "0077\n600\n755\n", 0},
		"functions and globs": {`f() { for x; do [ -e "$x" ] && echo "${x##*/}"; done; }; f /etc/host* /etc/nothing*`,
			"hostname\n", 1},
		"read without fork": {`read -r v </etc/hostname; echo "$v"; [ -r /etc/shadow ] || echo none`, "host\nnone\n", 0},
		"command -v":        {`command -v cat; command -v nonesuch; echo $?`, "/usr/bin/cat\n127\n", 0},
		"export and local":  {`V=1; export V; f() { local V=2; echo $V; }; f; sh -c 'echo $V'`, "2\n1\n", 0},
		"same file": {`cd /tmp; ln -s /etc/hostname l; [ l -ef /etc/hostname ] && echo yes; [ l -ef /etc/passwd ] || echo no`,
			"yes\nno\n", 0},
		"no file":            {`[ /tmp/x -ef /tmp/x ]`, "", 1},
		"exit status":        {`exit 7`, "", 7},
		"set -e":             {`set -e; false; echo no`, "", 1},
		"set -u":             {`set -u; echo "$nope"`, "", 1},
		"pid":                {`[ -d /proc/$$ ] && kill -0 $$ && echo alive`, "alive\n", 0},
		"trap":               {`trap 'echo bye' EXIT; echo hi`, "hi\nbye\n", 0},
		"timeout":            {`timeout 5 sleep 1000; echo $?`, "124\n", 0},
		"flock":              {`flock -n -E 75 /run/lock/x sh -c 'flock -n -E 75 /run/lock/x true; echo $?'`, "75\n", 0},
		"redirection and mv": {`f=/tmp/a && echo hi >"$f" && mv "$f" /tmp/b && cat /tmp/b`, "hi\n", 0},
		"sums":               {`printf abc | sha256sum | cut -c1-8`, "ba7816bf\n", 0},
		"sed and grep": {`printf 'a=1\nb=2\n' | sed -n 's/^b=\(.*\)$/\1/p'; printf 'x\ny\n' | grep -c y`, "2\n1\n",
			0},
	} {
		args := []string{"/bin/sh", "-s"}
		if name == "quoting and parameters" {
			args = append(args, "a b", "*", `\`)
		}
		out, status := run(t, m, "root", tc.script, args...)
		if status != tc.status || tc.out != "" && out != tc.out {
			t.Errorf("%s: status %d, output %q", name, status, out)
		}
	}
	if v := m.Violations(); len(v) != 0 {
		t.Errorf("violations: %q", v)
	}
}

func TestProgram_truncatedScriptRunsItsCompleteStatements(t *testing.T) {
	m := machine(t)
	out, status := run(t, m, "root", "echo one\necho 'tw", "/bin/sh", "-s")
	if !strings.HasPrefix(out, "one\n") || status != 2 {
		t.Errorf("status %d, output %q", status, out)
	}
}

func TestProgram_compares_what_looks_like_an_operator(t *testing.T) {
	m := machine(t)
	const script = `set -- -k ! '(' -a
[ "$1" = -k ] && echo 1; [ "$1" != -k ] || echo 2; test "$2" = '!' && echo 3; [ "$3" = '(' ] && echo 4
[ "$4" = -o ] || echo 5; [ -n "$1" ] && echo 6; [ "$1" = x ] || echo 7; [ -n a -a -n b ] && echo 8`
	if out, status := run(t, m, "root", script, "/bin/sh", "-s"); status != 0 || out != "1\n2\n3\n4\n5\n6\n7\n8\n" {
		t.Errorf("status %d, output %q", status, out)
	}
}

func TestProgram_unknownIsRecorded(t *testing.T) {
	m := machine(t)
	for _, script := range []string{"a=(1 2)", "nonesuch --x", "ls --color", "mstflint -d 0000:01:00.0 bb"} {
		before := len(m.Violations())
		if _, status := run(t, m, "root", script, "/bin/sh", "-s"); status == 0 || len(m.Violations()) != before+1 {
			t.Errorf("%s: status %d, violations %q", script, status, m.Violations())
		}
	}
}

func TestSudo_rules(t *testing.T) {
	m := machine(t)
	for name, tc := range map[string]struct {
		user, stdin string
		args        []string
		out         string
		status      int
	}{
		"no password":    {"ops", "", []string{"sudo", "-n", "--", "id", "-u"}, "0\n", 0},
		"needs one":      {"pw", "", []string{"sudo", "-n", "true"}, "sudo: a password is required\n", 1},
		"right password": {"pw", "secret\nid -u\n", []string{"sudo", "-k", "-S", "-p", "", "--", "/bin/sh", "-s"}, "0\n", 0},
		"wrong password": {"pw", "a\nb\nc\n", []string{"sudo", "-S", "-p", "", "true"},
			"Sorry, try again.\nSorry, try again.\nsudo: 3 incorrect password attempts\n", 1},
	} {
		out, status := run(t, m, tc.user, tc.stdin, tc.args...)
		if out != tc.out || status != tc.status {
			t.Errorf("%s: status %d, output %q", name, status, out)
		}
	}
	m.Faults.Set(labsim.FaultSpec{SudoRefused: true})
	if out, status := run(t, m, "ops", "", "sudo", "-n", "true"); status != 1 ||
		out != "ops is not in the sudoers file.\n" {
		t.Errorf("refused: %d %q", status, out)
	}
}
