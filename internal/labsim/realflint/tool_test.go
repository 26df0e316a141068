//go:build linux

package realflint

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/cardprog"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

const bdf = "0000:01:00.0"

func TestMain(m *testing.M) {
	card.SmallImages()
	os.Exit(m.Run())
}

// realTool is the tool of this machine, which has to be run as root here.
func realTool(t *testing.T) *Tool {
	t.Helper()
	tool, err := Find(t.Context(), t.TempDir())
	if err != nil {
		realtool.ReportMissing(t, err.Error())
	}
	return tool
}

// host is a machine with one card, for which the tool answers, and images in /img.
func host(t *testing.T, tool *Tool, name string, config card.Config) *labsim.Machine {
	t.Helper()
	l := labsim.New(labsim.Options{Setup: []func(*labsim.Machine){cardprog.Install, tool.SetUp}})
	m, err := l.AddMachine(labsim.Config{Name: name, OS: labsim.Ubuntu, MstflintVersion: tool.Version,
		BootDelay: time.Millisecond, Cards: []labsim.CardConfig{{BDF: bdf, Config: config}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Destroy)
	for file, data := range card.Files() {
		m.FS.Put("/img/"+file, string(data), 0o644)
	}
	return m
}

func says(t *testing.T, m *labsim.Machine, user string, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	uid := 1000
	if user == "root" {
		uid = 0
	}
	status := m.Exec(t.Context(), &labsim.Proc{Args: append([]string{"mstflint"}, args...), User: user, UID: uid, Dir: "/img", Stdout: &out,
		Stderr: &out})
	return out.String(), status
}

func pro(mac uint64) card.Config {
	return card.Config{Chip: card.ConnectX3Pro, Image: card.OldVPI(), GUIDs: card.GUIDsFromBase(card.GUIDFromMAC(mac)),
		MACs: [2]uint64{mac, mac + 1}}
}

// Each chip is queried, read, verified, burned and given GUIDs by the real tool, and the model has what was burned.
func TestTool_on_each_chip(t *testing.T) {
	tool := realTool(t)
	for _, c := range []struct {
		config card.Config
		burn   []byte
		set    []string
	}{
		{pro(0xe41d2d000010), card.VPI(), []string{"-guid", "0002c90300aabbc0", "sg"}},
		{card.Config{Chip: card.ConnectX4, Image: card.CX4(card.PSIDCX4, [3]uint16{12, 18, 1000}), GUIDs: [4]uint64{0xe41d2d0300000020}},
			card.CX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), []string{"-ocr", "-guid", "0002c90300aabbc0", "sg"}},
		{card.Config{Chip: card.ConnectX5, Image: card.CX5([3]uint16{16, 27, 2008}), GUIDs: [4]uint64{0xe41d2d0300000030}},
			card.CX5([3]uint16{16, 35, 8008}), []string{"-ocr", "-guid", "0002c90300aabbc0", "sg"}},
	} {
		t.Run(c.config.Chip.Name, func(t *testing.T) {
			m := host(t, tool, "host", c.config)
			m.FS.Put("/img/new.bin", string(c.burn), 0o644)
			flash := func() card.Firmware {
				img, err := m.Card(bdf).Flash.Active()
				if err != nil {
					t.Fatal(err)
				}
				return img.Firmware()
			}
			must := func(want string, args ...string) {
				t.Helper()
				if out, status := says(t, m, "root", args...); status != 0 || !strings.Contains(out, want) {
					t.Fatalf("%q: status %d, want %q\n%s", args, status, want, out)
				}
			}
			was := flash()
			must(card.VersionText(was.Version), "-d", bdf, "q")
			must("Image is bootable", "-d", bdf, "v")
			must("", "-d", bdf, "ri", "backup.bin")
			must(was.PSID, "-i", "backup.bin", "q")
			must("OK", "-d", bdf, "-i", "/img/new.bin", "-y", "b")
			burned := flash()
			if burned.Version == was.Version || burned.GUIDs != was.GUIDs {
				t.Errorf("burned: %+v, was %+v", burned, was)
			}
			must("", append([]string{"-d", bdf, "-y"}, c.set...)...)
			if flash().GUIDs[0] != 0x0002c90300aabbc0 {
				t.Errorf("after sg: %x", flash().GUIDs)
			}
			must("", "-d", bdf, "-i", "backup.bin", "-y", "b")
			if now := flash(); now.Version != was.Version {
				t.Errorf("restored: %+v", now)
			}
			if v := m.Violations(); len(v) > 0 {
				t.Errorf("violations: %q", v)
			}
		})
	}
}

// Hosts have files and cards of their own, though cards have one address.
func TestTool_keeps_hosts_apart(t *testing.T) {
	tool := realTool(t)
	a, b := host(t, tool, "a", pro(0xe41d2d000010)), host(t, tool, "b", pro(0xe41d2d000020))
	for m, want := range map[*labsim.Machine]string{a: "e41d2d000010", b: "e41d2d000020"} {
		if out, status := says(t, m, "root", "--device="+bdf, "q"); status != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, %s", m.Name, status, out)
		}
	}
	a.FS.Put("/img/only-a.bin", string(card.VPI()), 0o644)
	if out, status := says(t, b, "root", "-i", "/img/only-a.bin", "q"); status != 1 ||
		!strings.Contains(out, `Can not open file "/img/only-a.bin" - No such file or directory`) {
		t.Errorf("status %d, %s", status, out)
	}
	if out, status := says(t, a, "root", "-d", bdf, "ri", "/nowhere/x.bin"); status != 1 ||
		!strings.Contains(out, "Can not open /nowhere/x.bin: No such file or directory") {
		t.Errorf("status %d, %s", status, out)
	}
	if out, status := says(t, a, "root", "-d", "/sys/bus/pci/devices/"+bdf+"/config", "--allow_psid_change", "-i",
		"fw-ConnectX3-vpi.bin", "-y", "b"); status != 1 ||
		strings.Contains(out, "/tmp/") || !strings.Contains(out, "it is intended for: ConnectX-3") {
		t.Errorf("status %d, %s", status, out)
	}
	if left, err := filepath.Glob(tool.dir + "/*/run*"); err != nil || len(left) > 0 {
		t.Errorf("runs have left %q: %v", left, err)
	}
}

// A power cut in the middle of a burn ends the tool, and the flash is torn as the model says. The card boots what it can,
// and the next burn mends it. A killed tool leaves the semaphore as on a real card.
func TestTool_ends_in_a_burn(t *testing.T) {
	tool := realTool(t)
	m, whole := host(t, tool, "host", pro(0xe41d2d000010)), host(t, tool, "whole", pro(0xe41d2d000020))
	if out, status := says(t, whole, "root", "-d", bdf, "-i", "fw-ConnectX3Pro-vpi.bin", "-y", "b"); status != 0 {
		t.Fatalf("status %d, %s", status, out)
	}
	before := m.Card(bdf).Flash.Dump()
	m.Faults.Update(func(s *labsim.FaultSpec) { s.PowerCutAtFlash = whole.Card(bdf).Flash.Operations() - 2 })
	if out, status := says(t, m, "root", "-d", bdf, "-i", "fw-ConnectX3Pro-vpi.bin", "-y", "b"); status != 137 {
		t.Errorf("status %d, %s", status, out)
	}
	m.Faults.Clear()
	if err := m.AwaitBoot(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if torn := m.Card(bdf).Flash.Dump(); bytes.Equal(torn, before) {
		t.Error("the power cut has left no trace in flash")
	}
	if out, status := says(t, m, "root", "-d", bdf, "-i", "fw-ConnectX3Pro-vpi.bin", "-y", "b"); status != 0 {
		t.Errorf("the next burn: status %d, %s", status, out)
	}
	m.Card(bdf).Flash.SetHook(func(op card.Op) error {
		for _, p := range m.Processes() {
			p.Signal(syscall.SIGKILL)
		}
		return nil
	})
	if out, status := says(t, m, "root", "-d", bdf, "-i", "fw-ConnectX3Pro-vpi-2_36_5000.bin", "-y", "b"); status != 137 {
		t.Errorf("killed: status %d, %s", status, out)
	}
	m.Card(bdf).Flash.SetHook(nil)
	if out, status := says(t, m, "root", "-d", bdf, "q"); status != 1 || !strings.Contains(out, "Can not obtain Flash semaphore") {
		t.Errorf("after SIGKILL: status %d, %s", status, out)
	}
	says(t, m, "root", "-d", bdf, "-clear_semaphore")
	if out, status := says(t, m, "root", "-d", bdf, "q"); status != 0 {
		t.Errorf("after -clear_semaphore: status %d, %s", status, out)
	}
}

// What the real tool cannot open there is answered as before: no name of a device of this machine gets to it.
func TestTool_is_not_asked(t *testing.T) {
	tool := realTool(t)
	tool.path = "/nonexistent/mstflint" // it would be an error
	m := host(t, tool, "host", pro(0xe41d2d000010))
	later := card.CX4Spec(card.PSIDCX5, [3]uint16{28, 39, 1002})
	later.Format, later.Device, later.HWIDs = card.FS4, 0x1021, []uint32{0x218}
	seven := host(t, tool, "seven", card.Config{Chip: card.ConnectX7, Image: card.BuildTOC(later), GUIDs: [4]uint64{0xe41d2d0300000040}})
	for _, c := range []struct {
		m          *labsim.Machine
		user, want string
		args       []string
	}{
		{m, "ops", "Permission denied", []string{"-d", bdf, "q"}},
		{m, "root", "No such file or directory", []string{"-d", "0000:7f:00.0", "q"}},
		{m, "root", "Unable to parse device name /dev/mst/mt4103_pciconf0", []string{"-d", "/dev/mst/mt4103_pciconf0", "q"}},
		{seven, "root", "28.39.1002", []string{"-d", bdf, "q"}},
	} {
		if out, _ := says(t, c.m, c.user, c.args...); !strings.Contains(out, c.want) {
			t.Errorf("%s %q: %s", c.user, c.args, out)
		}
	}
	if out, status := says(t, m, "root", "-d", bdf, "q"); status != 1 || !strings.Contains(out, "the lab cannot run the real program") {
		t.Errorf("status %d, %s", status, out)
	}
}

// What is missing is said.
func TestFind_says_what_is_missing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "mstflint is not on PATH") {
		t.Errorf("without the program: %v", err)
	}
}

// Files are renamed in what the tool prints, also where a write ends in the middle of a name.
func TestRenamed(t *testing.T) {
	var out bytes.Buffer
	r := &renamed{w: &out, names: [][2]string{{"/tmp/run1/0/x.bin", "/root/x.bin"}}}
	for _, part := range []string{`"/tm`, `p/run1/`, `0/x.bin" and /tmp/ru`, "n2 at /t"} {
		if _, err := r.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.flush(); err != nil || out.String() != `"/root/x.bin" and /tmp/run2 at /t` {
		t.Errorf("%q, %v", &out, err)
	}
}
