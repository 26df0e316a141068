package ib

import (
	"slices"
	"strings"
	"testing"
)

func TestParsePSID(t *testing.T) {
	for in, vendor := range map[string]string{
		"MT_9090111019": "Mellanox", "HP_9370110017": "HPE", "DEL9100001019": "Dell", "nvd0": "NVIDIA", "XY_1": "", "A": "",
		strings.Repeat("x", 16): "",
	} {
		p, err := ParsePSID(in)
		if err != nil || p.String() != in || p.Vendor() != vendor {
			t.Errorf("ParsePSID(%q) = %q, %v, vendor %q; want vendor %q", in, p, err, p.Vendor(), vendor)
		}
	}
	for _, in := range []string{"", strings.Repeat("x", 17), "MT_90 1", "MT_\x1b[31m", "MT_ü", "MT_1\x00"} {
		if p, err := ParsePSID(in); err == nil {
			t.Errorf("ParsePSID(%q) = %q, want an error", in, p)
		} else if strings.ContainsRune(err.Error(), '\x1b') {
			t.Errorf("the error repeats an escape sequence: %q", err)
		}
	}
}

func TestParsePCIAddress(t *testing.T) {
	for in, want := range map[string]string{
		"0000:01:00.0": "0000:01:00.0", "01:00.0": "0000:01:00.0", "0000:C1:1f.7": "0000:c1:1f.7",
		"10000:e1:00.0": "10000:e1:00.0",
	} {
		a, err := ParsePCIAddress(in)
		if err != nil || a.String() != want || !a.IsValid() {
			t.Errorf("ParsePCIAddress(%q) = %v, %v; want %s", in, a, err, want)
		}
	}
	for _, in := range []string{"", "01:00", "1:00.0", "01:0.0", "01:00.8", "01:20.0", "000:01:00.0", "0000:01:00.00",
		"0000:01:00.0 ", "0000:01:00:0", "x", "0000:0g:00.0", "0000:01:00.", "-000:01:00.0", "000000000:01:00.0"} {
		if a, err := ParsePCIAddress(in); err == nil {
			t.Errorf("ParsePCIAddress(%q) = %v, want an error", in, a)
		}
	}
	a := MustParsePCIAddress("0000:01:00.1")
	if a.Slot() != "0000:01:00" || a.Function() != 1 {
		t.Errorf("Slot %s Function %d", a.Slot(), a.Function())
	}
	if a.Compare(MustParsePCIAddress("0000:01:01.0")) >= 0 || a.Compare(MustParsePCIAddress("01:00.1")) != 0 ||
		a.Compare(MustParsePCIAddress("01:00.0")) <= 0 {
		t.Error("wrong order")
	}
	var zero PCIAddress
	if zero.IsValid() || zero == MustParsePCIAddress("0000:00:00.0") || zero.String() != "invalid PCI address" {
		t.Error("the zero value must not be an address")
	}
}

func TestParseLinkType(t *testing.T) {
	for in, want := range map[string]LinkType{"ib": LinkTypeIB, "ETH": LinkTypeETH, "Auto": LinkTypeAuto} {
		if got, err := ParseLinkType(in); err != nil || got != want {
			t.Errorf("ParseLinkType(%q) = %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "vpi", "infiniband", "ib "} {
		if got, err := ParseLinkType(in); err == nil {
			t.Errorf("ParseLinkType(%q) = %v, want an error", in, got)
		}
	}
}

func TestMaxMTU(t *testing.T) {
	for _, c := range []struct {
		mode  IPoIBMode
		ibMTU int
		want  int
	}{
		{ModeDatagram, 256, 252}, {ModeDatagram, 512, 508}, {ModeDatagram, 1024, 1020}, {ModeDatagram, 2048,
			2044}, {ModeDatagram, 4096, 4092},
		{ModeDatagram, 0, 0}, {ModeDatagram, 65520, 0}, {ModeDatagram, -4, 0},
		{ModeConnected, 2048, 65520}, {ModeConnected, 0, 65520}, {"", 2048, 0}, {"other", 4096, 0},
	} {
		if got := MaxMTU(c.mode, c.ibMTU); got != c.want {
			t.Errorf("MaxMTU(%q, %d) = %d, want %d", c.mode, c.ibMTU, got, c.want)
		}
	}
	if m, err := ParseIPoIBMode("Connected"); err != nil || m != ModeConnected {
		t.Errorf("got %v, %v", m, err)
	}
	if _, err := ParseIPoIBMode("rc"); err == nil {
		t.Error("unknown mode accepted")
	}
}

func TestParseFWVersion(t *testing.T) {
	for in, want := range map[string]string{
		"2.42.5000": "2.42.5000", "02.42.5000": "2.42.5000", "2.9.55": "2.9.0055", "2.142.5": "2.0142.0005",
		"16.35.4030": "16.35.4030", "0.0.0": "0.0.0000",
	} {
		v, err := ParseFWVersion(in)
		if err != nil || v.String() != want {
			t.Errorf("ParseFWVersion(%q) = %v, %v; want %s", in, v, err, want)
		}
		if back, err := ParseFWVersion(v.String()); err != nil || back != v {
			t.Errorf("%q does not survive its own form", in)
		}
	}
	for _, in := range []string{"", "2.42", "2.42.5000.1", "2.42.65536", "2.-1.0", "+2.42.1", "a.b.c", "2. 42.1"} {
		if v, err := ParseFWVersion(in); err == nil {
			t.Errorf("ParseFWVersion(%q) = %v, want an error", in, v)
		}
	}
}

func TestFWVersion_Compare(t *testing.T) {
	order := []string{"0.0.0", "2.100.1", "2.9.9999", "2.42.1", "2.42.5000", "2.43.0", "10.10.1000", "10.1000.5",
		"10.1601.5", "10.11.1", "10.16.1038",
		"12.1100.6630", "12.1102.1", "12.1.1", "12.12.780", "12.28.2006"}
	var vs []FWVersion
	for _, s := range order {
		vs = append(vs, MustParseFWVersion(s))
	}
	if !slices.IsSortedFunc(vs, FWVersion.Compare) {
		t.Errorf("not in order: %v", vs)
	}
	if vs[4].Compare(vs[3]) != 1 || vs[4].Compare(MustParseFWVersion("2.42.5000")) != 0 || !vs[0].IsZero() ||
		vs[1].IsZero() {
		t.Error("Compare or IsZero is wrong")
	}
}

func TestFWVersion_Branch(t *testing.T) {
	for in, want := range map[string]int{"12.1102.6630": 2, "12.1100.6630": 0, "2.142.5": 42, "12.28.4512": -1,
		"2.42.5700": -1, "10.10.1": -1} {
		got, stated := MustParseFWVersion(in).Branch()
		if stated != (want >= 0) || stated && got != want {
			t.Errorf("%s: branch %d, stated %t", in, got, stated)
		}
	}
}

func TestChips(t *testing.T) {
	cx3pro, ok := ChipByPCI(0x1007)
	if !ok || cx3pro.Name != "ConnectX-3 Pro" || !cx3pro.IsFS2() || cx3pro.Driver != "mlx4_core" || !cx3pro.IB {
		t.Errorf("got %+v", cx3pro)
	}
	if c, ok := ChipByPCI(0x1019); !ok || c.Name != "ConnectX-5" {
		t.Errorf("ConnectX-5 Ex: %+v", c)
	}
	if c, ok := ChipByRecoveryPCI(0x01f8); !ok || c.Name != cx3pro.Name {
		t.Errorf("recovery: %+v", c)
	}
	if c, ok := ChipByPCI(0x1004); ok {
		t.Errorf("a virtual function was taken for %+v", c)
	}
	if c, ok := ChipByPCI(0); ok {
		t.Errorf("device 0 was taken for %+v", c)
	}
	seen := map[uint16]bool{}
	for _, c := range chips {
		if seen[c.PCIDevice] || seen[c.RecoveryPCI] {
			t.Errorf("%s: PCI id used twice", c.Name)
		}
		seen[c.PCIDevice], seen[c.RecoveryPCI] = true, true
		if got, ok := ChipByHWID(HWID{ID: c.HWID}); !ok || got.Name != c.Name {
			t.Errorf("ChipByHWID(0x%x) = %+v", c.HWID, got)
		}
	}
	for h, want := range map[HWID]string{
		{0x1f5, 1}: "ConnectX-3 A1 (0x1f5 rev 1)", {0x1f5, 7}: "ConnectX-3 (0x1f5 rev 7)", {0x1f7,
			0}: "ConnectX-3 Pro (0x1f7 rev 0)", {0xabc, 0}: "unknown chip (0xabc rev 0)",
	} {
		if got := h.Describe(); got != want {
			t.Errorf("Describe = %q, want %q", got, want)
		}
	}
}

func TestMust_panics(t *testing.T) {
	for name, f := range map[string]func(){
		"GUID":       func() { MustParseGUID("x") },
		"MAC":        func() { MustParseMAC("x") },
		"PCIAddress": func() { MustParsePCIAddress("x") },
		"FWVersion":  func() { MustParseFWVersion("x") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Must of %s does not panic", name)
				}
			}()
			f()
		}()
	}
}
