package labsim

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

func modelMachine(t *testing.T, os OS, cards ...CardConfig) *Machine {
	t.Helper()
	l := New(Options{Setup: []func(*Machine){func(m *Machine) {
		m.FS.Put("/usr/lib/udev/rules.d/90-rdma-hw-modules.rules", "# rdma-core\n", 0o644)
		m.AddModuleFiles(m.OS.modulesOf(m.Kernel)...)
	}}})
	m, err := l.AddMachine(Config{Name: "h", OS: os, Cards: cards})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Destroy)
	return m
}

func sysfsText(t *testing.T, m *Machine, file string) string {
	t.Helper()
	data, err := m.FS.ReadFile(file)
	if err != nil {
		t.Errorf("%s: %v", file, err)
	}
	return strings.TrimSuffix(string(data), "\n")
}

// TestModels compares what the kernel shows of each card with the table of sysfs
// values per driver.
func TestModels(t *testing.T) {
	qib := WithoutFlash("0000:01:00.0", QIB(), [3]uint16{}, "",
		[4]uint64{0x0011750000791fec, 0x0011750000791fec, 0, 0x0011750000791fec})
	mthca := WithoutFlash("0000:01:00.0", MTHCA(), [3]uint16{5, 3, 0}, "MT_9190000001",
		[4]uint64{0x0005ad0000042a10, 0x0005ad0000042a11, 0x0005ad0000042a12, 0x0005ad0000042a13})
	mlx5 := WithoutFlash("0000:81:00.0", MLX5(), [3]uint16{12, 28, 2006}, "MT_9180110032",
		[4]uint64{0x506b4b03003cf842, 0x506b4b03003cf842, 0, 0x506b4b03003cf842})
	for _, tt := range []struct {
		os     OS
		card   CardConfig
		device string
		files  map[string]string
		first  byte // of the interface's address
		netdev string
	}{
		{Arch, qib, "qib0", map[string]string{
			"node_guid": "0011:7500:0079:1fec", "sys_image_guid": "0011:7500:0079:1fec", "fw_ver": "", "hw_rev": "2",
			"hca_type": "InfiniPath_QLE7340",
			"board_id": "InfiniPath_QLE7340", "ports/1/lid": "0xffff", "ports/1/sm_lid": "0xffff",
			"ports/1/gids/0": "fe80:0000:0000:0000:0011:7500:0079:1fec",
			"device/vendor":  "0x1077", "device/device": "0x7322", "device/class": "0x0c0600",
		}, 0x80, "ibp1s0"},
		{Debian12, mthca, "mthca0", map[string]string{
			"node_guid": "0005:ad00:0004:2a10", "sys_image_guid": "0005:ad00:0004:2a13", "fw_ver": "5.3.0", "hw_rev": "20",
			"hca_type":    "MT25208",
			"ports/1/lid": "0x0", "ports/2/gids/0": "fe80:0000:0000:0000:0005:ad00:0004:2a12", "device/device": "0x6282",
		}, 0x80, "ibp1s0"},
		{RHEL10, mlx5, "mlx5_0", map[string]string{
			"node_guid": "506b:4b03:003c:f842", "fw_ver": "12.28.2006", "hw_rev": "0", "hca_type": "MT4115",
			"ports/1/lid": "0x0", "device/device": "0x1013",
		}, 0x00, "ibp129s0"},
	} {
		m := modelMachine(t, tt.os, tt.card)
		for file, want := range tt.files {
			if got := sysfsText(t, m, "/sys/class/infiniband/"+tt.device+"/"+file); got != want {
				t.Errorf("%s %s: %q, want %q", tt.device, file, got, want)
			}
		}
		d, ok := m.Netdev(tt.netdev)
		if !ok || d.Address[0] != tt.first {
			t.Errorf("%s: %s: %+v", tt.device, tt.netdev, d)
			continue
		}
		if err := m.SetMode(d.Name, "connected\n"); (err == nil) != (tt.first != 0) {
			t.Errorf("%s: connected mode: %v", tt.device, err)
		}
		if m.FS.Exists("/sys/bus/pci/devices/" + tt.card.BDF + "/mlx4_port1") {
			t.Errorf("%s has files of mlx4", tt.device)
		}
	}
}

// TestModels_without_driver: what a kernel lacks leaves the card without a driver.
func TestModels_without_driver(t *testing.T) {
	qib := WithoutFlash("0000:01:00.0", QIB(), [3]uint16{}, "", [4]uint64{1, 1, 0, 1})
	mthca := WithoutFlash("0000:01:00.0", MTHCA(), [3]uint16{5, 3, 0}, "", [4]uint64{1, 2, 3, 4})
	for _, tt := range []struct {
		c Config
	}{
		{Config{OS: Arch, Kernel: "7.0.3-arch1-1", Cards: []CardConfig{qib}}},
		{Config{OS: Ubuntu, Kernel: "7.0.0-14-generic", Cards: []CardConfig{qib}}},
		{Config{OS: RHEL9, Cards: []CardConfig{mthca}}},
		{Config{OS: Debian12, Kernel: "6.1.0-28-cloud-amd64", Cards: []CardConfig{mthca}}},
	} {
		tt.c.Name = "h"
		m, err := New(Options{}).AddMachine(tt.c)
		if err != nil {
			t.Fatal(err)
		}
		if m.Cards()[0].Bound() {
			t.Errorf("%s %s bound %s", tt.c.OS, m.Kernel, m.Cards()[0].Config.Model.Driver)
		}
		if _, err := m.FS.ReadDir(vfs.Root, "/sys/bus/pci/devices/0000:01:00.0/infiniband"); err == nil {
			t.Errorf("%s %s has an RDMA device", tt.c.OS, m.Kernel)
		}
		m.Destroy()
	}
}
