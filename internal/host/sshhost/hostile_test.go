package sshhost

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// A host may send more than it announced, and announce more than there can be.
func TestHost_Download_takes_no_more_than_announced(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	file := filepath.Join(s.home, "f")
	write(t, file, "x")
	for _, tt := range []struct{ name, tool, text, want string }{
		{"more than announced", "cat", "head -c 67108864 /dev/zero\n", "more than the 1 bytes that it announced"},
		{"more than is taken", "wc", "echo 1099511627776\n", "at most 268435456 are taken"},
	} {
		s.tool(tt.tool, tt.text)
		var got bytes.Buffer
		_, _, err := h.Download(t.Context(), file, &got)
		var bad *host.TransferError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.want) || got.Len() > 1 {
			t.Errorf("%s: %d bytes were taken: %v", tt.name, got.Len(), err)
		}
	}
}

// The end marker stands in the text that the host is given: a host can print it and
// go on for ever.
func TestHost_Run_endMarkerWithoutEnd(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	s.login = `exec sh -c 'nonce=$(sed -n "s/.*\(tpi-[0-9a-f]*\):begin.*/\1/p" | head -n 1); echo $nonce:begin; printf "%s:end " $nonce; head -c 33554432 /dev/zero | tr "\\0" 9; sleep 5' #`
	h.cfg.CommandTimeout = time.Minute
	_, err := h.Run(t.Context(), shellcmd.New("true"))
	var odd *host.OutputError
	if !errors.As(err, &odd) || !strings.Contains(odd.Problem, "not followed by a status") {
		t.Errorf("got %T %v", err, err)
	}
}

// closeLogins lets a server close the connection in the middle of the first n logins.
func closeLogins(s *server, n int) {
	allow := s.auth.PublicKeyCallback
	tries := 0
	s.auth.PublicKeyCallback = func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if tries++; tries <= n {
			s.cut()
		}
		return allow(c, key)
	}
}

func TestDial_closedDuringLogin(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	cfg.ConnectAttempts = 3
	closeLogins(s, 2)
	if err := reach(t, cfg); err != nil || s.get(&s.dials) != 3 {
		t.Errorf("%d dials: %v", s.dials, err)
	}
	cfg.ConnectAttempts = 1
	closeLogins(s, 1)
	err := reach(t, cfg)
	var gone *host.UnreachableError
	if !errors.As(err, &gone) || gone.Op != host.OpConnect || gone.Lasting() ||
		!strings.Contains(err.Error(), "closed during the login") || !strings.Contains(gone.Advice, "MaxStartups") {
		t.Errorf("got %+v", err)
	}
}

// A password that may have arrived is not sent again.
func TestDial_closedDuringLoginByPassword(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	cfg.PrivateKey, cfg.Password, cfg.ConnectAttempts = "", "correct", 3
	t.Setenv("HOME", t.TempDir())
	t.Setenv("SSH_AUTH_SOCK", "")
	s.auth.PasswordCallback = func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) {
		s.noteAuth("password")
		s.cut()
		return nil, errors.New("no")
	}
	err := reach(t, cfg)
	var gone *host.UnreachableError
	if !errors.As(err, &gone) || gone.Op != host.OpConnect || len(s.auths) != 1 {
		t.Errorf("sent %d times: %+v", len(s.auths), err)
	}
}

func TestAuth_keysThatCannotBeRead(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	cfg.PrivateKey = ""
	locked, _ := writeKey(t, "open sesame")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("SSH_AUTH_SOCK", "")
	check := func(name, op, advice string) {
		t.Helper()
		err := reach(t, cfg)
		var gone *host.UnreachableError
		if !errors.As(err, &gone) || gone.Op != op || !gone.Lasting() || !strings.Contains(gone.Advice, advice) {
			t.Errorf("%s: got %+v", name, err)
		}
	}
	check("no key", host.OpOffer, "Configure private_key_file")
	cfg.PrivateKeyFile = locked
	check("no passphrase", host.OpKey, "INFINIBAND_SSH_PASSPHRASE")
	cfg.Passphrase = "wrong"
	check("wrong passphrase", host.OpKey, "Check passphrase")
	cfg.PrivateKeyFile = filepath.Join(t.TempDir(), "none")
	check("missing file", host.OpKey, "Check private_key_file")
	if len(s.auths) != 0 {
		t.Errorf("offered: %v", s.auths)
	}
}

func TestHost_Upload_behindALoginShellThatPrints(t *testing.T) {
	for name, text := range map[string]string{"a line": "Welcome to intel9!\n", "much": strings.Repeat("news\n", 20000)} {
		s := newServer(t)
		s.banner = text
		h := mustHost(t, s.config())
		data, file := randomFile(t, 100)
		err := h.Upload(t.Context(), bytes.NewReader(data), 100, file)
		var bad *host.TransferError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "prints text before") ||
			!strings.Contains(err.Error(), text[:4]) ||
			!strings.Contains(bad.Advice, "~/.bashrc") || strings.Contains(bad.Advice, "full") {
			t.Errorf("%s: got %+v", name, err)
		}
	}
}

func TestHost_Run_limits(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	cfg.CommandTimeout = 90 * time.Millisecond
	h := mustHost(t, cfg)
	check := func(cmd shellcmd.Command, limit string, reading bool) {
		t.Helper()
		_, err := h.Run(t.Context(), cmd)
		var gone *host.UnreachableError
		if !errors.As(err, &gone) || gone.Limit != limit || gone.Reading != reading || !strings.Contains(err.Error(), limit) {
			t.Errorf("got %+v", err)
		}
	}
	check(shellcmd.New("sleep", "5"), "command_timeout = 90ms", true)
	check(shellcmd.New("sleep", "5").Changes().WithTimeout(80*time.Millisecond), "its limit of 80ms", false)
}

// A sudo that waits for DNS or LDAP is named; it may ask for a password or not.
func TestHost_Run_sudoThatIsSlow(t *testing.T) {
	for name, password := range map[string]string{"without a password": "", "with a password": sudoWord} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.fakeSudo("sleep 60")
			cfg := s.config()
			cfg.SudoPassword, cfg.CommandTimeout = password, 3*time.Second
			_, err := mustHost(t, cfg).Run(t.Context(), whoami)
			var gone *host.UnreachableError
			if !errors.As(err, &gone) || !strings.Contains(gone.Advice, "sudo was still busy") ||
				!strings.Contains(gone.Advice, "DNS and LDAP") {
				t.Errorf("got %+v", err)
			}
		})
	}
	s := newServer(t)
	s.fakeSudo("")
	h := mustHost(t, s.config())
	_, err := h.Run(t.Context(), shellcmd.New("sleep", "5").AsRoot().WithTimeout(3*time.Second))
	var gone *host.UnreachableError
	if !errors.As(err, &gone) || strings.Contains(fmt.Sprint(gone.Advice), "sudo") {
		t.Errorf("a command that is slow itself: %+v", err)
	}
}

// A session that breaks off before the command began is not the fault of sudo.
func TestHost_Run_cutWhileInSudo(t *testing.T) {
	s := newServer(t)
	inSudo := filepath.Join(t.TempDir(), "in-sudo")
	s.fakeSudo("touch " + inSudo + "; sleep 60")
	h := mustHost(t, s.config())
	go func() {
		for t.Context().Err() == nil {
			if _, err := os.Stat(inSudo); err == nil {
				s.cut()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err := h.Run(t.Context(), whoami.Changes())
	var gone *host.UnreachableError
	if !errors.As(err, &gone) || !gone.MayHaveRun || strings.Contains(gone.Advice, "sudo") {
		t.Errorf("got %+v", err)
	}
}

// A script that is killed has printed what it had read; one that fails, too.
func TestHost_Run_confidentialOutput(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	const leak = `printf '%s\n' 'password: "wlan-secret"' | tee /dev/stderr; `
	for name, script := range map[string]string{
		"fails": leak + "exit 3", "is killed": leak + "kill -9 $$",
		"prints too much": leak + "yes wlan-secret | head -c 300000",
	} {
		h.cfg.MaxOutput = 200000
		_, err := h.Run(t.Context(), shellcmd.Script("s", script).Confidential())
		text := fmt.Sprintf("%v %+v", err, err)
		var exit *host.ExitError
		if errors.As(err, &exit) {
			text += fmt.Sprintf("%+v", *exit)
		}
		var odd *host.OutputError
		if errors.As(err, &odd) {
			text += fmt.Sprintf("%+v", *odd)
		}
		if err == nil || strings.Contains(text, "wlan-secret") || exit != nil && !strings.Contains(exit.Stdout, "not shown") {
			t.Errorf("%s: got %s", name, text)
		}
	}
}

// A line that is not understood is named; none is taken for another one.
func TestUserConfig_matchLines(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	file, included := filepath.Join(home, "config"), filepath.Join(home, "stock.conf")
	for _, line := range []string{
		"Match exec \"test -f /x\"", "Match host lab exec \"false\"", "Match host a,b", "Match final all", "match user ops",
		"Match originalhost lab", "Match=host a b",
	} {
		write(t, included, "# stock\n  "+line+"\n  User impostor\n")
		write(t, file, "Host *\nInclude "+included+"\n")
		_, err := New("lab1", Config{Address: "lab", SSHConfigFile: file})
		for _, want := range []string{included + ":2", "`" + line + "`", `config_file = "none"`} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error lacks %q: %v", line, want, err)
			}
		}
	}
	write(t, included, "Match host lab # ours\n User ops\nMatch all\n Port 2222\n")
	h, err := New("lab1", Config{Address: "lab", SSHConfigFile: file})
	if err != nil || h.User() != "ops" || h.Address() != "lab:2222" {
		t.Errorf("got %v %v", h, err)
	}
}

func TestHost_Run_saysHowLongSudoTook(t *testing.T) {
	s := newServer(t)
	s.fakeSudo("sleep 0.3")
	h := mustHost(t, s.config())
	begin := time.Now()
	res, err := h.Run(t.Context(), whoami)
	if took := time.Since(begin); err != nil || res.Sudo < 300*time.Millisecond || res.Sudo > took {
		t.Errorf("sudo took %s of %s: %v", res.Sudo, took, err)
	}
	if res, err = h.Run(t.Context(), shellcmd.New("true")); err != nil || res.Sudo != 0 {
		t.Errorf("without sudo: %s, %v", res.Sudo, err)
	}
}
