package simssh_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// start makes the two-host lab with a clock twenty times as fast.
func start(t *testing.T, o labsim.Options) *labs.Lab {
	t.Helper()
	o.Speed = 20
	l, err := labs.Start(t.TempDir(), o, labs.TwoHosts()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func dial(t *testing.T, l *labs.Lab, machine string) *ssh.Client {
	t.Helper()
	key, err := os.ReadFile(l.KeyFile())
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	server := l.Servers[machine]
	c, err := ssh.Dial("tcp", server.Addr.String(), &ssh.ClientConfig{
		User: l.User(machine), Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, Timeout: 10 * time.Second,
		HostKeyCallback: ssh.FixedHostKey(server.HostKey()),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// sh runs a script as root the way the provider does: constant command, script on
// standard input.
func sh(t *testing.T, c *ssh.Client, script string) (string, error) {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		return "", err
	}
	defer func() { _ = s.Close() }()
	s.Stdin = strings.NewReader(script)
	out, err := s.CombinedOutput("exec sudo -n -- /bin/sh -s")
	return string(out), err
}

func must(t *testing.T, c *ssh.Client, script string) string {
	t.Helper()
	out, err := sh(t, c, script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

func upload(t *testing.T, c *ssh.Client, local []byte, remote string) {
	t.Helper()
	s, err := sftp.NewClient(c, sftp.UseConcurrentWrites(true))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	f, err := s.Create(remote)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadFrom(bytes.NewReader(local)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func awaitReboot(t *testing.T, m *labsim.Machine, boots int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := m.AwaitBoot(ctx, boots); err != nil {
		t.Fatal(err)
	}
}

const oneImage = "fw-ConnectX3Pro-vpi.bin"

func burnVPI(t *testing.T, r *labs.Lab, name, bdf string) {
	t.Helper()
	c := dial(t, r, name)
	image, err := os.ReadFile(r.Images[oneImage].Path)
	if err != nil {
		t.Fatal(err)
	}
	upload(t, c, image, "vpi.bin")
	home := "/home/" + r.User(name) + "/vpi.bin"
	sum := must(t, c, "sha256sum "+home+" | cut -d' ' -f1")
	if strings.TrimSpace(sum) != r.Images[oneImage].SHA256 {
		t.Fatalf("hash on the host: %s", sum)
	}
	out, err := sh(t, c, "mstflint -d "+bdf+" -i "+home+" b </dev/null")
	var exit *ssh.ExitError
	if !errors.As(err, &exit) || exit.ExitStatus() != 1 ||
		!strings.Contains(out, "-E- PSID mismatch. The PSID on flash (MT_9200111023) differs from the PSID in the given image (MT_9090111019).") {
		t.Fatalf("without consent: %v\n%s", err, out)
	}
	out = must(t, c, "mstflint -d "+bdf+" -y -allow_psid_change -i "+home+
		" -guid 0xe41d2d0300e44ed0 -mac 0xe41d2de44ed0 b </dev/null")
	if !strings.HasSuffix(out, "Restoring signature                     - OK\n") {
		t.Fatalf("burn printed %q", out)
	}
}

func TestCrossflash_burnRebootAndLinkType(t *testing.T) {
	r := start(t, labsim.Options{})
	name, bdf := labs.Intel9, "0000:01:00.0"
	burnVPI(t, r, name, bdf)
	c := dial(t, r, name)
	out := must(t, c, "mstflint -d "+bdf+" q; mstflint -d "+bdf+" v >/dev/null && echo bootable")
	for _, want := range []string{"FW Version(Running):   2.40.5032\n", "PSID:                  MT_9090111019\n",
		"e41d2d0300e44ed1", "bootable"} {
		if !strings.Contains(out, want) {
			t.Errorf("query lacks %q:\n%s", want, out)
		}
	}
	dev := "/sys/bus/pci/devices/" + bdf
	early, err := sh(t, c, "echo ib | tee "+dev+"/mlx4_port1")
	if err == nil || !strings.Contains(early, "Operation not supported") {
		t.Errorf("EN firmware is still running, yet: %v %q", err, early)
	}
	if _, err := sh(t, c, "reboot"); err != nil {
		t.Logf("reboot: %v", err)
	}
	awaitReboot(t, r.Machine(name), 2)
	c = dial(t, r, name)
	must(t, c, "set -e; modprobe mlx4_ib; modprobe ib_ipoib; echo ib >"+dev+"/mlx4_port1; echo ib >"+dev+"/mlx4_port2")
	out = must(t, c, "cat /sys/class/infiniband/*/ports/1/state /sys/class/infiniband/*/ports/1/phys_state "+dev+
		"/mlx4_port1; ls /sys/class/net")
	if !strings.Contains(out, "2: INIT\n5: LinkUp\nib\n") || !strings.Contains(out, "ibp1s0d1") {
		t.Errorf("after the link type: %q", out)
	}
	if v := r.Violations(); len(v) > 0 {
		t.Errorf("violations: %q", v)
	}
}

func TestCrossflash_mstconfigNeedsAnOldTool(t *testing.T) {
	r := start(t, labsim.Options{})
	out, err := sh(t, dial(t, r, labs.Intel9), "mstconfig -d 0000:01:00.0 q")
	if err == nil || out != "-E- Unsupported device\n" {
		t.Errorf("4.26.0: %v %q", err, out)
	}
	burnVPI(t, r, labs.Xeon2zfs, "0000:04:00.0")
	m := r.Machine(labs.Xeon2zfs)
	m.PowerCut()
	awaitReboot(t, m, 2)
	c := dial(t, r, labs.Xeon2zfs)
	out = must(t, c, "mstconfig -y -d 0000:04:00.0 set LINK_TYPE_P1=1 LINK_TYPE_P2=IB")
	if !strings.HasSuffix(out, "Applying... Done!\n-I- Please reboot machine to load new configurations.\n") {
		t.Errorf("set printed %q", out)
	}
	if got := must(t, c, "cat /sys/bus/pci/devices/0000:04:00.0/mlx4_port1"); got != "eth\n" {
		t.Errorf("before the reboot: %q", got)
	}
	m.PowerCut()
	awaitReboot(t, m, 3)
	if got := must(t, dial(t, r, labs.Xeon2zfs), "cat /sys/bus/pci/devices/0000:04:00.0/mlx4_port1"); got != "ib\n" {
		t.Errorf("after the reboot: %q", got)
	}
}

func TestFaults_cutAtExec(t *testing.T) {
	for when, ran := range map[labsim.CutWhen]bool{labsim.CutBefore: false, labsim.CutAfter: true} {
		r := start(t, labsim.Options{})
		m := r.Machine(labs.Intel9)
		c := dial(t, r, labs.Intel9)
		must(t, c, "true")
		m.Faults.Set(labsim.FaultSpec{CutAtExec: 2, CutWhen: when})
		must(t, c, "true")
		_, err := sh(t, c, "touch /root/ran")
		var exit *ssh.ExitError
		if err == nil || errors.As(err, &exit) {
			t.Errorf("%s: %v", when, err)
		}
		if m.FS.Exists("/root/ran") != ran {
			t.Errorf("%s: ran is %v", when, !ran)
		}
		must(t, dial(t, r, labs.Intel9), "true")
	}
}

func TestFaults_powerCutLeavesABootableCard(t *testing.T) {
	for _, op := range []int{1, 2, 150, 305, 306, 307, 308} {
		r := start(t, labsim.Options{FlashDelay: time.Nanosecond})
		m := r.Machine(labs.Intel9)
		c := dial(t, r, labs.Intel9)
		image, err := os.ReadFile(r.Images[oneImage].Path)
		if err != nil {
			t.Fatal(err)
		}
		m.FS.Put("/root/vpi.bin", string(image), 0o600)
		m.Faults.Set(labsim.FaultSpec{PowerCutAtFlash: op})
		if _, err := sh(t, c, "mstflint -d 0000:01:00.0 -y -allow_psid_change -i /root/vpi.bin b >/root/log </dev/null"); err == nil {
			t.Errorf("operation %d: the burn succeeded", op)
		}
		m.Faults.Clear()
		awaitReboot(t, m, 2)
		if fw := m.Cards()[0].Running(); !fw.Loaded {
			t.Errorf("operation %d: nothing bootable", op)
		}
		out := must(t, dial(t, r, labs.Intel9),
			"mstflint -d 0000:01:00.0 -y -allow_psid_change -i /root/vpi.bin b </dev/null && mstflint -d 0000:01:00.0 v")
		if !strings.Contains(out, "Image is bootable") {
			t.Errorf("operation %d: after burning again: %s", op, out)
		}
	}
}

func TestServer_latencyDelaysWithoutThrottling(t *testing.T) {
	r := start(t, labsim.Options{})
	r.Machine(labs.Intel9).Faults.Set(labsim.FaultSpec{Latency: 20 * time.Millisecond})
	c := dial(t, r, labs.Intel9)
	must(t, c, "true")
	took := time.Hour
	for try := 0; try < 10 && took > 400*time.Millisecond; try++ { // other work may disturb some
		begin := time.Now()
		must(t, c, "true")
		took = time.Since(begin)
	}
	if took < 40*time.Millisecond || took > 400*time.Millisecond {
		t.Errorf("one command took %v", took)
	}
	begin := time.Now()
	upload(t, c, make([]byte, 4<<20), "big")
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("4 MiB took %v", took)
	}
}

func TestServer_stdoutGoneKillsABurn(t *testing.T) {
	r := start(t, labsim.Options{FlashDelay: 2 * time.Millisecond})
	m := r.Machine(labs.Intel9)
	c := dial(t, r, labs.Intel9)
	image, err := os.ReadFile(r.Images[oneImage].Path)
	if err != nil {
		t.Fatal(err)
	}
	m.FS.Put("/root/vpi.bin", string(image), 0o600)
	m.Faults.Set(labsim.FaultSpec{CutAtByteOut: 9000})
	if _, err := sh(t, c, "mstflint -d 0000:01:00.0 -y -allow_psid_change -i /root/vpi.bin b </dev/null"); err == nil {
		t.Error("the connection was not cut")
	}
	m.Faults.Clear()
	deadline := time.Now().Add(5 * time.Second)
	for len(m.Processes()) > 0 && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	found := false
	for _, e := range m.Journal() {
		if e.Args[0] == "mstflint" {
			found = true
			if e.Exit != 141 {
				t.Errorf("mstflint ended with %d, want death by SIGPIPE", e.Exit)
			}
		}
	}
	if !found {
		t.Error("mstflint never ran")
	}
	if got := must(t, dial(t, r, labs.Intel9), "mstflint -d 0000:01:00.0 q | grep ^PSID"); !strings.Contains(got,
		"MT_9200111023") {
		t.Errorf("flash after the cut: %s", got)
	}
}
