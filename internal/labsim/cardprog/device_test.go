package cardprog

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

const bdf = "0000:01:00.0"

func deviceMachine(t *testing.T, version string, image []byte) *labsim.Machine {
	t.Helper()
	l := labsim.New(labsim.Options{Setup: []func(*labsim.Machine){Install}})
	m, err := l.AddMachine(labsim.Config{Name: "host", OS: labsim.TrueNAS, MstflintVersion: version,
		Cards: []labsim.CardConfig{{
			BDF: bdf, Config: card.Config{Chip: card.ConnectX3Pro, Image: image, GUIDs: card.BlankGUIDs,
				MACs: [2]uint64{0xe41d2d1f28c0, 0xe41d2d1f28c1}},
		}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range card.Files() {
		m.FS.Put("/img/"+name, string(data), 0o644)
	}
	m.FS.PutDir("/root", 0o700, 0, 0)
	return m
}

const vpi = "/img/fw-ConnectX3Pro-vpi.bin"

func answer(t *testing.T, m *labsim.Machine, stdin string, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	status := m.Exec(t.Context(), &labsim.Proc{Args: args, User: "root", Stdin: strings.NewReader(stdin), Stdout: &out,
		Stderr: &out})
	return out.String(), status
}

// finalText is what a terminal is left with: progress overwrites itself.
func finalText(s string) string {
	s = regexp.MustCompile(`[^\n]*\r`).ReplaceAllString(s, "")
	return regexp.MustCompile(`(?m) +$`).ReplaceAllString(s, "")
}

// TestMstflint_burnAsCaptured compares burns with what people saw on real cards.
func TestMstflint_burnAsCaptured(t *testing.T) {
	for name, from := range map[string]string{"cx3pro-same-version-prompt": "2.42.5700",
		"cx3pro-hp544flr-upgrade-ok": "2.42.5016"} {
		want, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		build := func(sub uint16) []byte {
			return card.Build(card.Spec{PSID: card.PSIDVPI, Version: [3]uint16{2, 42, sub}, Device: 0x1007,
				HWIDs: []uint32{0x1f7}, Failsafe: true, Code: 0x9000})
		}
		sub := map[string]uint16{"2.42.5700": 5700, "2.42.5016": 5016}[from]
		m := deviceMachine(t, "4.21.0", build(sub))
		m.FS.Put("/img/new.bin", string(build(5700)), 0o644)
		out, status := answer(t, m, "", "mstflint", "-y", "-d", bdf, "-i", "/img/new.bin", "b")
		if status != 0 || finalText(out) != finalText(string(want)) {
			t.Errorf("%s: status %d\n got %q\nwant %q", name, status, finalText(out), want)
		}
	}
}

func TestMstflint_questionsAndRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		stdin  string
		args   []string
		status int
		end    string
	}{
		"other PSID": {"", []string{"-i", vpi, "b"},
			1, "\n-E- PSID mismatch. The PSID on flash (MT_9200111023) differs from the PSID in the given image (MT_9090111019).\n"},
		"question, EOF": {"", []string{"-allow_psid_change", "-i", vpi, "b"}, 1,
			" Do you want to continue ? (y/n) [n] : -E- Aborted by user\n"},
		"question, yes": {"Y\n", []string{"-allow_psid_change", "-i", vpi, "b"},
			0, "Restoring signature                     - OK\n"},
		"question, --no": {"", []string{"--no", "-allow_psid_change", "-i", vpi, "b"}, 1,
			" Do you want to continue ? (y/n) [n] : n\n"},
		"older, declined": {"n\n", []string{"-allow_psid_change", "-i", "/img/fw-ConnectX3Pro-vpi-2_36_5000.bin", "b"},
			7, "-E- Aborted by user\n"},
		"wrong chip": {"", []string{"-y", "-allow_psid_change", "-i", "/img/fw-ConnectX3-vpi.bin", "b"},
			1, "cannot be programmed to device ConnectX-3Pro, it is intended for: ConnectX-3 A0, ConnectX-3 A1 only\n\n"},
		"corrupt": {"", []string{"-y", "-allow_psid_change", "-i", "/img/fw-ConnectX3Pro-vpi-corrupt.bin", "b"},
			1, "-corrupt.bin. Bad CRC.\n"},
		"not failsafe": {"", []string{"-y", "-allow_psid_change", "-i", "/img/fw-ConnectX3Pro-vpi-nofs.bin", "b"}, 1,
			"use the \"-nofs\" switch.\n"},
		"silent":         {"", []string{"-y", "-s", "-allow_psid_change", "-i", vpi, "b"}, 0, "y\n"},
		"GUIDs, aborted": {"", []string{"-guid", "0xe41d2d0300e44ed0", "sg"}, 1, "-E- Aborted by user\n"},
		"GUIDs": {"", []string{"-y", "-guid", "0xe41d2d0300e44ed0", "-mac", "0xe41d2de44ed0", "sg"}, 0,
			"Restoring signature                     - OK\n"},
		"multicast MAC": {"", []string{"-y", "-mac", "0x0102030405aa", "sg"}, 1,
			"Bad mac (0102030405aa) given: Multicast bit (bit 40) is set. Please re-burn with a valid -mac flag value.\n"},
		"UID": {"", []string{"-uid", "1", "sg"}, 1, "-E- -uid flag is applicable only for FS3/FS4 FW Only.\n"},
		"no such device": {"", []string{"-d", "0000:09:00.0", "q"}, 1,
			"-E- Cannot open Device: 0000:09:00.0. No such file or directory. MFE_CR_ERROR\n"},
		"renamed RDMA dev": {"", []string{"-d", "ibp1s0", "q"}, 1, "Invalid argument. MFE_CR_ERROR\n"},
	} {
		m := deviceMachine(t, "4.21.0", card.EN())
		out, status := answer(t, m, tc.stdin, append([]string{"mstflint", "-d", bdf}, tc.args...)...)
		if status != tc.status || !strings.HasSuffix(out, tc.end) {
			t.Errorf("%s: status %d, output %q", name, status, out)
		}
		if tc.status != 0 && m.Cards()[0].Flash.Operations() != 0 {
			t.Errorf("%s: flash was written", name)
		}
	}
}

func TestMstflint_setGUIDsShowsBothIdentities(t *testing.T) {
	m := deviceMachine(t, "4.21.0", card.EN())
	out, _ := answer(t, m, "", "mstflint", "-d", bdf, "-guid", "0002c90300112230", "sg")
	want := `-W- GUIDs are already set, re-burning image with the new GUIDs ...
    You are about to change the Guids/Macs/Uids on the device:

                        New Values              Current Values
        Node  GUID:     0002c90300112230        ffffffffffffffff
        Port1 GUID:     0002c90300112231        ffffffffffffffff
        Port2 GUID:     0002c90300112232        ffffffffffffffff
        Sys.Image GUID: 0002c90300112233        ffffffffffffffff
        Port1 MAC:          e41d2d1f28c0            e41d2d1f28c0
        Port2 MAC:          e41d2d1f28c1            e41d2d1f28c1

 Do you want to continue ? (y/n) [n] : -E- Aborted by user
`
	if out != want {
		t.Errorf("got %q", out)
	}
}

func TestMstflint_backupIsWhatWasBurned(t *testing.T) {
	m := deviceMachine(t, "4.21.0", card.EN())
	if out, status := answer(t, m, "", "mstflint", "-d", bdf, "ri", "/root/backup.bin"); status != 0 || out != "" {
		t.Fatalf("ri: %d %q", status, out)
	}
	backup, err := m.FS.ReadFile("/root/backup.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, status := answer(t, m, "", "mstflint", "-y", "-allow_psid_change", "-d", bdf, "-i", vpi, "b"); status != 0 {
		t.Fatal("burn failed")
	}
	if _, status := answer(t, m, "", "mstflint", "-y", "-allow_psid_change", "-use_image_guids", "-use_image_ps", "-d",
		bdf, "-i", "/root/backup.bin", "b"); status != 0 {
		t.Fatal("restore failed")
	}
	img, err := m.Cards()[0].Flash.Active()
	if err != nil || !bytes.Equal(img.Data, backup) {
		t.Errorf("the restored flash differs from the backup: %v", err)
	}
}

func TestMstflint_signalsAndTheSemaphore(t *testing.T) {
	m := deviceMachine(t, "4.21.0", card.EN())
	m.Faults.Set(labsim.FaultSpec{FlashSlow: 5 * time.Millisecond})
	for sig, stuck := range map[syscall.Signal]bool{syscall.SIGTERM: false, syscall.SIGKILL: true} {
		var out bytes.Buffer
		p := &labsim.Proc{Args: []string{"mstflint", "-y", "-allow_psid_change", "-d", bdf, "-i", vpi, "b"}, User: "root",
			Stdout: &out}
		done := m.Spawn(p)
		time.Sleep(50 * time.Millisecond)
		p.Signal(sig)
		if status := <-done; status != 128+int(sig) {
			t.Errorf("signal %d: status %d", sig, status)
		}
		text, status := answer(t, m, "", "mstflint", "-d", bdf, "q")
		if (status != 0) != stuck || stuck &&
			!strings.HasPrefix(text, "-E- Can not obtain Flash semaphore-E- Cannot open Device: "+
				bdf+". Can not obtain Flash semaphore.") {
			t.Errorf("after signal %d: %d %q", sig, status, text)
		}
		if text, status := answer(t, m, "", "mstflint", "-d", bdf, "q"); status != 0 {
			t.Errorf("the second query after signal %d: %d %q", sig, status, text)
		}
		if img, err := m.Cards()[0].Flash.Bootable(); err != nil || img.PSID != card.PSIDEN {
			t.Errorf("after signal %d the old image is gone: %v", sig, err)
		}
	}
}

func TestMstflint_clearsASemaphoreThatIsSet(t *testing.T) {
	m := deviceMachine(t, "4.21.0", card.EN())
	for _, want := range []string{"",
		"-E- Can not obtain Flash semaphoreWarning: Taking flash lock even though semaphore is set.\n-E- Can not obtain Flash semaphore"} {
		if text, status := answer(t, m, "", "mstflint", "-clear_semaphore", "-d", bdf); status != 0 || text != want {
			t.Errorf("%d %q, want %q", status, text, want)
		}
		m.Cards()[0].TakeSemaphore()
	}
}

// A query beside a burn makes the burn fail, and the old image boots.
func TestMstflint_aQueryDisturbsABurn(t *testing.T) {
	m := deviceMachine(t, "4.21.0", card.EN())
	m.Faults.Set(labsim.FaultSpec{FlashSlow: 5 * time.Millisecond})
	var out bytes.Buffer
	done := m.Spawn(&labsim.Proc{Args: []string{"mstflint", "-y", "-allow_psid_change", "-d", bdf, "-i", vpi, "b"},
		User: "root", Stdout: &out})
	for before := m.Cards()[0].Flash.Operations(); m.Cards()[0].Flash.Operations() < before+4; {
		time.Sleep(time.Millisecond)
	}
	if text, status := answer(t, m, "", "mstflint", "-d", bdf, "q"); status == 0 {
		t.Errorf("the query got through: %q", text)
	}
	if status := <-done; status != 1 || !strings.Contains(out.String(), "MFE_VERIFY_ERROR") {
		t.Errorf("the burn ended with %d: %q", status, out.String())
	}
	if img, err := m.Cards()[0].Flash.Bootable(); err != nil || img.PSID != card.PSIDEN {
		t.Errorf("the old image is gone: %v", err)
	}
}

func TestMstflint_versionsThatCannotDriveTheCard(t *testing.T) {
	m := deviceMachine(t, "4.31.0", card.EN())
	if out, status := answer(t, m, "", "mstflint", "-d", bdf, "q"); status != 139 || out != "" {
		t.Errorf("4.31: %d %q", status, out)
	}
	m.Tools["mstflint"] = "4.36.0"
	if out, status := answer(t, m, "", "mstflint", "-d", bdf, "q"); status != 0 ||
		!strings.Contains(out, "Geographical Address:") {
		t.Errorf("4.36: %d %q", status, out)
	}
	if out, _ := answer(t, m, "", "mstflint", "-d", bdf, "-i", vpi, "b"); !strings.Contains(out,
		"-E- PSID mismatch. Device PSID (") {
		t.Errorf("4.36: %q", out)
	}
}

func TestMstflint_needsRoot(t *testing.T) {
	m := deviceMachine(t, "4.21.0", card.EN())
	var out bytes.Buffer
	status := m.Exec(t.Context(), &labsim.Proc{Args: []string{"mstflint", "-d", "01:00.0", "q"}, User: "ops", UID: 1000,
		GID: 1000, Stdout: &out})
	if status != 1 || out.String() != "-E- Cannot open Device: 01:00.0. Permission denied. MFE_CR_ERROR\n" {
		t.Errorf("%d %q", status, out.String())
	}
}

func TestMstconfig_ofConnectX3(t *testing.T) {
	m := deviceMachine(t, "4.21.0", card.VPI())
	for name, tc := range map[string]struct {
		stdin  string
		args   []string
		status int
		out    string
	}{
		"query one": {"", []string{"-d", bdf, "q", "LINK_TYPE_P1"},
			0, "\nDevice #1:\n----------\n\nDevice type:    ConnectX3Pro    \nDevice:         0000:01:00.0    \n\nConfigurations:                              Next Boot\n         LINK_TYPE_P1                        ETH(2)          \n"},
		"not confirmed": {"", []string{"-d", bdf, "set", "LINK_TYPE_P1=1"}, 2, ""},
		"illegal": {"", []string{"-y", "-d", bdf, "set", "LINK_TYPE_P1=4"}, 3,
			"Applying... Failed!\n-E- Failed to set configuration: illegal VPI link type (should be 1|2|3).\n"},
		"unknown": {"", []string{"-y", "-d", bdf, "set", "FOO=4"}, 3, "-E- Unknown Parameter: FOO\n"},
		"twice": {"", []string{"-y", "-d", bdf, "set", "LINK_TYPE_P1=1", "LINK_TYPE_P1=2"}, 3,
			"-E- Duplicate parameter, LINK_TYPE_P1.\n"},
		"no device": {"", []string{"set", "LINK_TYPE_P1=1"}, 3, "-E- set command expects device to be specified.\n"},
	} {
		out, status := answer(t, m, tc.stdin, append([]string{"mstconfig"}, tc.args...)...)
		if status != tc.status || !strings.HasSuffix(out, tc.out) {
			t.Errorf("%s: %d %q", name, status, out)
		}
	}
	if nv := m.Cards()[0].NextNV(); nv != (card.NV{}) {
		t.Errorf("something was set: %+v", nv)
	}
	en := deviceMachine(t, "4.21.0", card.EN())
	if out, status := answer(t, en, "", "mstconfig", "-d", bdf, "q", "LINK_TYPE_P1"); status != 3 ||
		!strings.HasSuffix(out, "-E- Device doesn't support LINK_TYPE_P1 configuration\n") {
		t.Errorf("EN: %d %q", status, out)
	}
}
