package sshhost

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// startSSHD runs the real OpenSSH server as the current user on a free port. Sessions have an
// empty home: what somebody's own shell does when it starts is no part of a test.
func startSSHD(t *testing.T, more string) Config {
	t.Helper()
	sshd := realtool.Path(t, "sshd")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if me.Uid == "0" {
		// As root, sshd insists on its directory for privilege separation.
		if err = os.MkdirAll("/run/sshd", 0o755); err != nil {
			realtool.ReportMissing(t, "sshd cannot start here: "+err.Error())
		}
	}
	dir, home := t.TempDir(), t.TempDir()
	hostKey, hostPub := writeKey(t, "")
	userKey, userPub := writeKey(t, "")
	write(t, filepath.Join(dir, "authorized_keys"), string(ssh.MarshalAuthorizedKey(userPub)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	write(t, filepath.Join(dir, "config"), fmt.Sprintf(`ListenAddress 127.0.0.1:%d
HostKey %s
AuthorizedKeysFile %s/authorized_keys
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PidFile none
Subsystem sftp internal-sftp
SetEnv HOME=%s
%s
`, port, hostKey, dir, home, more))
	log := &bytes.Buffer{}
	cmd := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "config"))
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd said:\n%s", log)
		}
	})
	return Config{
		Address: "127.0.0.1", Port: port, User: me.Username, PrivateKeyFile: userKey, SSHConfigFile: "none",
		HostKeys: []string{string(ssh.MarshalAuthorizedKey(hostPub))}, Become: sshconfig.BecomeNone, ConnectAttempts: 20,
		ConnectTimeout: 5 * time.Second,
	}
}

func TestOpenSSH(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	cfg := startSSHD(t, "MaxSessions 4")
	h := mustHost(t, cfg)
	for range 2 {
		res, err := h.Run(t.Context(),
			shellcmd.Script("s", `cat; echo "$1" "$LC_ALL"; echo err >&2`, "it's").WithStdin("in\n"))
		if err != nil || string(res.Stdout) != "in\nit's C\n" || string(res.Stderr) != "err\n" {
			t.Fatalf("got %q %q %v", res.Stdout, res.Stderr, err)
		}
	}
	_, err := h.Run(t.Context(), shellcmd.New("sh", "-c", "exit 5"))
	var exit *host.ExitError
	if !errors.As(err, &exit) || exit.Status != 5 {
		t.Errorf("got %v", err)
	}
	_, err = h.Run(t.Context(), shellcmd.New("sleep", "5").WithTimeout(100*time.Millisecond))
	var gone *host.UnreachableError
	if !errors.As(err, &gone) || !gone.MayHaveRun {
		t.Errorf("got %v", err)
	}
	_, err = h.Run(t.Context(), shellcmd.Script("s", "kill -KILL $$"))
	if !errors.As(err, &gone) || !gone.MayHaveRun || !strings.Contains(err.Error(), "KILL") {
		t.Errorf("got %v", err)
	}
	if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
		t.Error(err)
	}
}

// Each hop of a chain has its own key and its own pinned host key.
func TestOpenSSH_each_hop_has_its_own_login(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	jump, cfg := startSSHD(t, ""), startSSHD(t, "")
	cfg.Jumps = []Config{jump}
	if err := reach(t, cfg); err != nil {
		t.Fatal(err)
	}
	other := jump
	other.HostKeys = cfg.HostKeys
	cfg.Jumps = []Config{other}
	hostKeyError(t, reach(t, cfg), "jump host ")
	other = jump
	other.PrivateKeyFile = cfg.PrivateKeyFile
	cfg.Jumps = []Config{other}
	var refused *auth.Error
	if err := reach(t, cfg); !errors.As(err, &refused) || !strings.Contains(err.Error(), "jump host ") {
		t.Errorf("got %v", err)
	}
}

// TestOpenSSH_roundTrips times commands near and far: the difference is what
// OpenSSH makes the client wait for, whatever the host's shells take to start.
func TestOpenSSH_roundTrips(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	cfg := startSSHD(t, "")
	const rtt = 500 * time.Millisecond
	there := cfg
	there.Port = newWAN(t, fmt.Sprintf("127.0.0.1:%d", cfg.Port), rtt).port()
	near, far := mustHost(t, cfg), mustHost(t, there)
	bestNear, bestFar, trips := time.Hour, time.Hour, 0.0
	// By turns, so that other work on this machine slows both. A busy machine needs more turns
	// until neither of the two was disturbed.
	for turn := 0; turn < 4 || turn < 20 && trips > 3.8; turn++ {
		bestNear, bestFar = min(bestNear, timeTrue(t, near)), min(bestFar, timeTrue(t, far))
		trips = float64(bestFar-bestNear) / float64(rtt)
	}
	t.Logf("a command takes %s near, %s at a round trip of %s: %.1f round trips", bestNear, bestFar, rtt, trips)
	if trips > 3.8 {
		t.Errorf("a command took %.1f round trips, want 3: the session, the shell that takes input, the script with its "+
			"answer", trips)
	}
}

// timeTrue is what the command true takes on a host that is connected.
func timeTrue(t *testing.T, h *Host) time.Duration {
	t.Helper()
	if _, err := h.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
		t.Fatal(err)
	}
	return time.Since(begin)
}

func TestOpenSSH_transfer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	me, err := user.Current()
	if err != nil || me.Uid != "0" {
		realtool.ReportMissing(t, "only root may give the file to root without sudo")
	}
	cfg := startSSHD(t, "")
	w := newWAN(t, fmt.Sprintf("127.0.0.1:%d", cfg.Port), 20*time.Millisecond)
	cfg.Port = w.port()
	h := mustHost(t, cfg)
	if _, err = h.Run(t.Context(), shellcmd.New("true")); err != nil {
		t.Fatal(err)
	}
	data, file := randomFile(t, 16<<20)
	begin := time.Now()
	if err = h.Upload(t.Context(), bytes.NewReader(data), int64(len(data)), file); err != nil {
		t.Fatal(err)
	}
	up := time.Since(begin)
	begin = time.Now()
	var back bytes.Buffer
	if _, _, err = h.Download(t.Context(), file.Path, &back); err != nil || !bytes.Equal(back.Bytes(), data) {
		t.Fatal(err)
	}
	t.Logf("16 MiB to and from OpenSSH at a round trip of 20 ms: up %s, down %s", up, time.Since(begin))
	// The directory is the real one of whoever runs this; others may use it too.
	left, err := filepath.Glob(filepath.Join(me.HomeDir, stagingDir, "upload-*"))
	if err != nil || left != nil {
		t.Errorf("left behind: %q %v", left, err)
	}
}

func TestOpenSSH_refusesKey(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	cfg := startSSHD(t, "")
	cfg.PrivateKeyFile, _ = writeKey(t, "")
	err := reach(t, cfg)
	var auth *auth.Error
	if !errors.As(err, &auth) || len(auth.Offered) == 0 || len(auth.Tried) != 1 {
		t.Errorf("got %v", err)
	}
}

// The way through a program, and through a jump host with a login of its own, all of
// it from a configuration as ssh reads it.
func TestOpenSSH_proxies(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	program := realtool.Path(t, "ssh")
	gate, target := startSSHD(t, ""), startSSHD(t, "")
	dir := t.TempDir()
	file, known := filepath.Join(dir, "config"), filepath.Join(dir, "known")
	write(t, known, "gate "+gate.HostKeys[0]+"target "+target.HostKeys[0])
	section := func(alias string, c Config) string {
		return fmt.Sprintf("Host %s\n  HostName %s\n  Port %d\n  User %s\n  IdentityFile %s\n  IdentitiesOnly yes\n"+
			"  UserKnownHostsFile %s\n", alias, c.Address, c.Port, c.User, c.PrivateKeyFile, known)
	}
	write(t, file, section("gate", gate)+"  HostKeyAlias gate\n"+
		section("jumped proxied lost mute", target)+"  HostKeyAlias target\n"+
		"Host jumped\n  ProxyJump gate\n"+
		"Host proxied\n  ProxyCommand "+program+" -F "+file+" -W %h:%p gate\n"+
		"Host lost\n  ProxyCommand echo no way to %n >&2; exit 3\n"+
		"Host mute\n  ProxyCommand sh -c 'echo no route to %n >&2; sleep 60'\n  ConnectTimeout 1\n")
	for alias, want := range map[string]string{
		"jumped": "", "proxied": "", "lost": "no way to lost", "mute": "through the ProxyCommand; it said: no route to mute: no answer within 1s",
	} {
		attempts := 1
		if want == "" {
			attempts = 20 // the servers have just been started
		}
		err := reach(t, Config{Address: alias, SSHConfigFile: file, Become: sshconfig.BecomeNone, ConnectAttempts: attempts})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", alias, err, want)
		}
		var gone *host.UnreachableError
		if errors.As(err, &gone) &&
			(!strings.Contains(gone.Advice, "Run it by hand: ") || strings.Contains(gone.Advice, "port")) {
			t.Errorf("%s: the advice is %q", alias, gone.Advice)
		}
	}
	h := mustHost(t, Config{Address: "jumped", SSHConfigFile: file})
	stops := h.Route(t.Context())
	if err := h.Prove(t.Context(), stops); err != nil || len(stops) != 2 {
		t.Fatalf("%d stops: %v", len(stops), err)
	}
	for i, c := range []Config{gate, target} {
		if s := stops[i]; s.HostKey == "" || s.Vouched != fmt.Sprintf("%s:%d", known, i+1) ||
			!strings.Contains(s.Login, c.PrivateKeyFile) {
			t.Errorf("stop %d: %+v", i, s)
		}
	}
}

func TestUserConfig_certificates(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	dir := t.TempDir()
	authority, authorityKey := writeKey(t, "")
	ca := filepath.Join(dir, "ca.pub")
	write(t, ca, string(ssh.MarshalAuthorizedKey(authorityKey)))
	cfg := startSSHD(t, "TrustedUserCAKeys "+ca)
	key, pub := writeKey(t, "")
	data, err := os.ReadFile(authority)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(data)
	if err != nil {
		t.Fatal(err)
	}
	cert := &ssh.Certificate{Key: pub, CertType: ssh.UserCert, ValidBefore: ssh.CertTimeInfinity,
		ValidPrincipals: []string{cfg.User}}
	if err = cert.SignCert(rand.Reader, signer); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "mine.pub"), string(ssh.MarshalAuthorizedKey(cert)))
	file := filepath.Join(dir, "config")
	write(t, file, fmt.Sprintf("IdentityFile %s\nIdentitiesOnly yes\nCertificateFile %s/none.pub\nCertificateFile %s/mine.pub\n",
		key, dir, dir))
	cfg.PrivateKeyFile, cfg.SSHConfigFile, cfg.ConnectAttempts = "", file, 3
	if err := reach(t, cfg); err != nil {
		t.Error(err)
	}
}
