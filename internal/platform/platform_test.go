package platform

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		os   inventory.OS
		want string
	}{
		{inventory.OS{ID: "ubuntu", VersionID: "24.04"}, "Ubuntu 24.04"},
		{inventory.OS{ID: "truenas", VersionID: "25.10.3"}, "TrueNAS SCALE 25.10.3"},
	} {
		p, err := Of(&inventory.Snapshot{OS: tt.os})
		if err != nil || p.Name() != tt.want {
			t.Errorf("%+v: %v, %v", tt.os, p, err)
		}
	}
	_, err := Of(&inventory.Snapshot{Host: "h", OS: inventory.OS{ID: "debian", PrettyName: "Debian GNU/Linux 13 (trixie)"}})
	var unknown *UnknownError
	if !errors.As(err, &unknown) || !strings.Contains(err.Error(), `h runs "Debian GNU/Linux 13 (trixie)", which is not supported`) {
		t.Errorf("Debian: %v", err)
	}
}

func TestPortTypeArray(t *testing.T) {
	for _, tt := range []struct {
		types map[int]ib.LinkType
		want  string
	}{
		{map[int]ib.LinkType{1: "ib", 2: "ib"}, "1,1"}, {map[int]ib.LinkType{2: "eth", 1: "ib"}, "1,2"},
		{map[int]ib.LinkType{1: "auto"}, "0"}, {map[int]ib.LinkType{2: "ib"}, ""}, {nil, ""}, {map[int]ib.LinkType{1: "vpi"}, ""},
	} {
		got, err := portTypeArray(tt.types)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%v: %q, %v", tt.types, got, err)
		}
		if err == nil && len(parsePortTypeArray(got)) != len(tt.types) {
			t.Errorf("%q reads back as %v", got, parsePortTypeArray(got))
		}
	}
	// The driver takes other numbers without complaint and misreads them.
	for _, text := range []string{"5,5", "ib", "1,,1", ""} {
		if got := parsePortTypeArray(text); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestOnlyMLX4Card(t *testing.T) {
	first, second := ib.MustParsePCIAddress("0000:01:00.0"), ib.MustParsePCIAddress("0000:02:00.0")
	s := &inventory.Snapshot{Host: "h", Cards: []inventory.Card{
		{PCI: first, Chip: ib.Chip{Driver: "mlx4_core"}},
		{PCI: second, Chip: ib.Chip{Driver: "mlx4_core"}, Ports: []inventory.Port{{Number: 1, TypeNow: "eth"}}},
	}}
	err := onlyMLX4Card(s, first, map[int]ib.LinkType{1: "ib"})
	if err == nil || !strings.Contains(err.Error(), `port 1 of 0000:02:00.0 is "eth" now; it would become "ib"`) {
		t.Errorf("another card would change its type: %v", err)
	}
	if err := onlyMLX4Card(s, first, map[int]ib.LinkType{1: "eth"}); err != nil {
		t.Errorf("the same type: %v", err)
	}
}

func TestKernelOptionTokens(t *testing.T) {
	tokens := []string{"quiet", "modules_load=nvme_rdma", "mlx4_core.port_type_array=2,2", "a=b"}
	got := addModules(tokens, []string{"ib_ipoib", "mlx4_ib"})
	want := []string{"quiet", "modules_load=nvme_rdma,ib_ipoib,mlx4_ib", "mlx4_core.port_type_array=2,2", "a=b"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if tokens[1] != "modules_load=nvme_rdma" {
		t.Error("the caller's tokens were changed")
	}
	if got := addModules(nil, []string{"ib_umad"}); !slices.Equal(got, []string{"modules_load=ib_umad"}) {
		t.Errorf("%q", got)
	}
	if got := withoutKey(slices.Clone(tokens), portTypeToken); !slices.Equal(got, []string{"quiet", "modules_load=nvme_rdma", "a=b"}) {
		t.Errorf("%q", got)
	}
}

func TestUbuntu_PackagesFor(t *testing.T) {
	u := ubuntu{}
	if got := u.PackagesFor(FeatureModules, "6.8.0-90-generic"); !slices.Equal(got, []string{"linux-modules-extra-6.8.0-90-generic"}) {
		t.Errorf("GA kernel: %q", got)
	}
	if got := u.PackagesFor(FeatureModules, "7.0.0-14-generic"); len(got) != 0 {
		t.Errorf("HWE kernel: %q", got)
	}
	if got := (trueNAS{}).PackagesFor(FeatureOpenSM, "6.12"); len(got) != 0 {
		t.Errorf("TrueNAS: %q", got)
	}
}

func TestFindSleepingPort(t *testing.T) {
	flash := &inventory.Flash{GUIDs: ib.GUIDSet{Port1: 0x11, Port2: 0x12}}
	s := &inventory.Snapshot{Cards: []inventory.Card{{Driver: "mlx4_core", Flash: flash, Ports: []inventory.Port{{Number: 1, TypeNow: "auto (eth)"}, {Number: 2, TypeNow: "ib"}}}}}
	for guid, want := range map[ib.GUID]string{0x11: "Ethernet", 0x12: "InfiniBand"} {
		if p, ok := FindSleepingPort(s, guid); !ok || p.LinkLayer != want {
			t.Errorf("%s: %+v, %t", guid, p, ok)
		}
	}
	if _, ok := FindSleepingPort(s, 0); ok {
		t.Error("GUID zero was found")
	}
	s.Cards[0].RDMADevice = "mlx4_0"
	if _, ok := FindSleepingPort(s, 0x12); ok {
		t.Error("a port whose GUID is visible sleeps")
	}
	if p, ok := FindSleepingPort(s, 0x11); !ok || p.LinkLayer != "Ethernet" {
		t.Errorf("a port in Ethernet mode, of which the kernel shows no GUID: %+v, %t", p, ok)
	}
}
