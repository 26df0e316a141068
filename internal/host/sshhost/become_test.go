package sshhost

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

const sudoWord = `p'w $x`

// fakeSudo makes the session an ordinary user's, with a sudo that behaves as told.
// It writes its arguments to a file and the attempts at a password to another.
func (s *server) fakeSudo(behaviour string) {
	s.tool("id", `[ "${FAKE_ROOT-}" = 1 ] && { echo 0; exit; }; echo 1000`+"\n")
	s.tool("sudo", `log='`+s.home+`'
printf '%s\n' "$*" >>"$log/sudo-args"
ask=yes
while :; do case $1 in
-n) ask=no; shift;; -k|-S) shift;; -p) shift 2;; --) shift; break;; *) echo "usage" >&2; exit 1;;
esac; done
attempt() {
	if [ $ask = no ]; then echo 'sudo: a password is required' >&2; exit 1; fi
	tries=0
	while IFS= read -r word; do
		printf '%s\n' "$word" >>"$log/sudo-words"
		[ "$word" = "`+strings.ReplaceAll(sudoWord, "$", `\$`)+`" ] && return
		echo 'Sorry, try again.' >&2
		tries=$((tries+1)); [ $tries -lt 3 ] || break
	done
	echo 'sudo: no password was provided' >&2; echo 'sudo: 1 incorrect password attempt' >&2; exit 1
}
`+behaviour+`
FAKE_ROOT=1; export FAKE_ROOT
exec "$@"
`)
}

// words returns the lines that sudo read as passwords.
func (s *server) words() []string {
	data, _ := os.ReadFile(filepath.Join(s.home, "sudo-words"))
	return strings.Fields(strings.ReplaceAll(string(data), sudoWord, "RIGHT"))
}

var whoami = shellcmd.Script("who", `printf '%s ' "$(id -u)" "$1"; cat`, "a'b").WithStdin("in\n").AsRoot()

func TestHost_Run_becomesRoot(t *testing.T) {
	tests := []struct {
		name, behaviour, password string
		words                     []string
	}{
		{"sudo without a password", "echo 'a lecture' >&2", "", nil},
		{"sudo without a password though one is configured", "", sudoWord, nil},
		{"sudo with a password", "attempt", sudoWord, []string{"RIGHT", "RIGHT", "RIGHT"}}, // once to try it, once a command
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			s.fakeSudo(tt.behaviour)
			cfg := s.config()
			cfg.SudoPassword = tt.password
			h := mustHost(t, cfg)
			for range 2 {
				res, err := h.Run(t.Context(), whoami)
				if err != nil || string(res.Stdout) != "0 a'b in\n" || len(res.Stderr) != 0 {
					t.Fatalf("got %q %q %v", res.Stdout, res.Stderr, err)
				}
			}
			if got := s.words(); !slices.Equal(got, tt.words) {
				t.Errorf("sudo was given %q, want %q", got, tt.words)
			}
			args, err := os.ReadFile(filepath.Join(s.home, "sudo-args"))
			if err != nil || strings.Contains(string(args), "w $x") {
				t.Errorf("the password is among sudo's arguments: %q %v", args, err)
			}
			if res, err := h.Run(t.Context(), shellcmd.New("id", "-u")); err != nil || string(res.Stdout) != "1000\n" {
				t.Errorf("a command that needs no root got it: %q %v", res.Stdout, err)
			}
		})
	}
}

func TestHost_Run_rootNeedsNoSudo(t *testing.T) {
	s := newServer(t)
	s.tool("id", "echo 0\n")
	s.tool("sudo", "echo sudo was called >&2; exit 1\n")
	h := mustHost(t, s.config())
	for range 2 {
		if _, err := h.Run(t.Context(), whoami); err != nil {
			t.Error(err)
		}
	}
	cfg := s.config()
	cfg.Become = sshconfig.BecomeNone
	s.fakeSudo("exit 9")
	res, err := mustHost(t, cfg).Run(t.Context(), whoami)
	if err != nil || string(res.Stdout) != "1000 a'b in\n" {
		t.Errorf("become none: %q %v", res.Stdout, err)
	}
}

func TestHost_Run_rootRefused(t *testing.T) {
	tests := []struct {
		name, behaviour, password, reason, advice string
	}{
		{"not installed", "echo 'sh: 1: sudo: not found' >&2; exit 127", "", host.ReasonNoSudo, "Install sudo"},
		{"password needed", "attempt", "", host.ReasonPasswordNeeded, "Set sudo_password"},
		{"wrong password", "attempt", "guess", host.ReasonWrongPassword, "tried once"},
		{"not in sudoers", "attempt; echo 'ops is not in the sudoers file.' >&2; exit 1", sudoWord, host.ReasonNotInSudoers,
			"sudoers.d"},
		{"one command denied", "echo 'Sorry, user ops is not allowed to execute /bin/sh as root.' >&2; exit 1", "",
			host.ReasonNotInSudoers, "/bin/sh -s"},
		{"requiretty", "echo 'sudo: sorry, you must have a tty to run sudo' >&2; exit 1", "", host.ReasonRequireTTY,
			"!requiretty"},
		{"silence", "exit 1", "", host.ReasonRefused, "does not know"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			s.fakeSudo(tt.behaviour)
			cfg := s.config()
			cfg.SudoPassword = tt.password
			h := mustHost(t, cfg)
			file := filepath.Join(s.home, "made")
			_, err := h.Run(t.Context(), shellcmd.New("touch", file).AsRoot())
			var refused *host.PrivilegeError
			if !errors.As(err, &refused) || refused.Reason != tt.reason || !strings.Contains(refused.Advice, tt.advice) ||
				refused.User != "ops" {
				t.Errorf("got %T %+v", err, err)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("the command ran")
			}
			if words := s.words(); len(words) > 1 {
				t.Errorf("sudo was given %d passwords: %q", len(words), words)
			}
		})
	}
}

func TestHost_Run_sudoChangesItsMind(t *testing.T) {
	s := newServer(t)
	s.fakeSudo("[ ! -e " + s.home + "/strict ] || attempt")
	cfg := s.config()
	cfg.SudoPassword = sudoWord
	h := mustHost(t, cfg)
	for i := range 3 {
		if i == 1 {
			write(t, filepath.Join(s.home, "strict"), "")
		}
		if res, err := h.Run(t.Context(), whoami); err != nil || string(res.Stdout) != "0 a'b in\n" {
			t.Errorf("command %d: %q %v", i, res.Stdout, err)
		}
	}
}

func TestSecrets_neverShow(t *testing.T) {
	s := newServer(t)
	s.fakeSudo(`attempt; echo "leaked: $word" >&2; exit 1`)
	cfg := s.config()
	cfg.SudoPassword = sudoWord
	var events []string
	cfg.Trace = func(e host.Event) { events = append(events, e.What) }
	h := mustHost(t, cfg)
	_, refused := h.Run(t.Context(), shellcmd.New("true").AsRoot())
	_, failed := h.Run(t.Context(),
		shellcmd.New("sh", "-c", `echo "$1"; echo "$1" >&2; exit 1`, "sh", sudoWord))
	var p *host.PrivilegeError
	var e *host.ExitError
	if !errors.As(refused, &p) || !errors.As(failed, &e) {
		t.Fatalf("got %v, %v", refused, failed)
	}
	all := strings.Join(append(events, refused.Error(), p.Stderr, p.Advice, failed.Error(), e.Stdout, e.Stderr, e.Command),
		"\n")
	for _, secret := range []string{sudoWord, "w $x", "en 42"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q shows in:\n%s", secret, all)
		}
	}
	for _, c := range s.argv {
		if c != shellcmd.Interpreter {
			t.Errorf("remote command %q", c)
		}
	}
}
