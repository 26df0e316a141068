package platform

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		os   inventory.OS
		kind Kind
		name string
	}{
		{inventory.OS{ID: "ubuntu", VersionID: "24.04"}, KindUbuntu, "Ubuntu 24.04"},
		{inventory.OS{ID: "debian", VersionID: "12"}, KindDebian, "Debian 12"},
		{inventory.OS{ID: "debian", VersionID: "13", Kernel: "6.14.8-2-pve"}, KindDebian, "Proxmox VE on Debian 13"},
		{inventory.OS{ID: "rhel", VersionID: "9.4", PrettyName: "Red Hat Enterprise Linux 9.4 (Plow)"},
			KindRHEL, "Red Hat Enterprise Linux 9.4 (Plow)"},
		{inventory.OS{ID: "almalinux", VersionID: "10.0", PrettyName: "AlmaLinux 10.0"},
			KindRHEL, "AlmaLinux 10.0"},
		{inventory.OS{ID: "rocky", VersionID: "9.5", PrettyName: "Rocky Linux 9.5"}, KindRHEL,
			"Rocky Linux 9.5"},
		{inventory.OS{ID: "centos", VersionID: "9", PrettyName: "CentOS Stream 9"}, KindRHEL,
			"CentOS Stream 9"},
		{inventory.OS{ID: "fedora", VersionID: "43", PrettyName: "Fedora Linux 43 (Server Edition)"}, KindFedora,
			"Fedora Linux 43 (Server Edition)"},
		{inventory.OS{ID: "arch", PrettyName: "Arch Linux"}, KindArch, "Arch Linux"},
		{inventory.OS{ID: "truenas", VersionID: "25.10.3"}, KindTrueNAS, "TrueNAS SCALE 25.10.3"},
	} {
		p, err := Of(&inventory.Snapshot{OS: tt.os})
		if err != nil || p.About().Kind != tt.kind || p.Name() != tt.name {
			t.Errorf("%+v: %v, %v", tt.os, p, err)
		}
	}
}

// TestOf_not_supported has systems that are read only: relatives of a family that is known, and
// releases of one that nobody has looked at.
func TestOf_not_supported(t *testing.T) {
	for _, os := range []inventory.OS{
		{ID: "opensuse-leap", PrettyName: "openSUSE Leap 15.6"},
		{ID: "linuxmint", VersionID: "24.04", PrettyName: "Linux Mint 22"},
		{ID: "pop", VersionID: "24.04", PrettyName: "Pop!_OS 24.04 LTS"},
		{ID: "kali", VersionID: "13", PrettyName: "Kali GNU/Linux Rolling"},
		{ID: "ol", VersionID: "9.4", PrettyName: "Oracle Linux Server 9.4"},
		{ID: "manjaro", PrettyName: "Manjaro Linux"},
		{ID: "amzn", VersionID: "2023", PrettyName: "Amazon Linux 2023"},
		{ID: "ubuntu", VersionID: "18.04", PrettyName: "Ubuntu 18.04.6 LTS"},
		{ID: "ubuntu", VersionID: "26.04", PrettyName: "Ubuntu 26.04 LTS"},
		{ID: "debian", VersionID: "11", PrettyName: "Debian GNU/Linux 11 (bullseye)"},
		{ID: "debian", VersionID: "14", PrettyName: "Debian GNU/Linux 14 (forky)"},
		{ID: "debian", PrettyName: "Debian GNU/Linux forky/sid"},
		{ID: "fedora", VersionID: "42", PrettyName: "Fedora Linux 42"},
		{ID: "almalinux", VersionID: "8.10", PrettyName: "AlmaLinux 8.10"},
		{ID: "rhel", VersionID: "11.0", PrettyName: "Red Hat Enterprise Linux 11.0"},
		{ID: "truenas", VersionID: "25.04.2", PrettyName: "TrueNAS SCALE 25.04.2"},
		{PrettyName: "?"},
	} {
		_, err := Of(&inventory.Snapshot{Host: "h", OS: os})
		var unknown *UnknownError
		want := `h runs "` + os.PrettyName + `", which is not supported: its cards can be read, but nothing on it can be ` +
			`changed. Supported are ` + supportedSystems()
		if !errors.As(err, &unknown) || err.Error() != want {
			t.Errorf("%+v: %v, want %s", os, err, want)
		}
	}
}

// A description that lacks something is found here, and not on somebody's host.
func TestAll_are_complete(t *testing.T) {
	of := map[string]Kind{}
	for _, d := range All {
		if d.Kind == "" || d.Title == "" || d.Short == "" || len(d.IDs) == 0 || len(d.Stacks) == 0 || d.portTypes == nil {
			t.Errorf("%s: something is missing: %+v", d.Kind, d)
		}
		if (d.Installer == nil) != (len(d.Packages) == 0) {
			t.Errorf("%s: packages without an installer, or the reverse", d.Kind)
		}
		for _, id := range d.IDs {
			if of[id] != "" {
				t.Errorf("ID=%s is of %s and of %s", id, of[id], d.Kind)
			}
			of[id] = d.Kind
		}
		for _, g := range d.Gaps {
			if g.Why == "" || g.WayOut == "" || strings.HasSuffix(g.Why, ".") || !strings.HasSuffix(g.WayOut, ".") {
				t.Errorf("%s: a gap reads badly: %+v", d.Kind, g)
			}
		}
	}
}

func TestPortTypeArray(t *testing.T) {
	for _, tt := range []struct {
		types map[int]ib.LinkType
		want  string
	}{
		{map[int]ib.LinkType{1: "ib", 2: "ib"}, "1,1"}, {map[int]ib.LinkType{2: "eth", 1: "ib"}, "1,2"},
		{map[int]ib.LinkType{1: "auto"}, "0"}, {map[int]ib.LinkType{2: "ib"}, ""}, {nil, ""}, {map[int]ib.LinkType{1: "vpi"},
			""},
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
	if got := withoutTypes(slices.Clone(tokens)); !slices.Equal(got,
		[]string{"quiet", "modules_load=nvme_rdma", "a=b"}) {
		t.Errorf("%q", got)
	}
}

func family(d *Description) Platform {
	return distribution{system{d, d.Title}, d.portTypes}
}

func TestPackagesFor(t *testing.T) {
	const generic = "6.8.0-90-generic"
	for _, tt := range []struct {
		p       Platform
		feature Feature
		kernel  string
		want    []string
	}{
		{family(&ubuntu), FeatureModules, generic, []string{"linux-modules-extra-" + generic}},
		{family(&ubuntu), FeatureModules, "7.0.0-14-generic", nil},
		{family(&debian), FeatureModules, "6.1.0-28-amd64", nil},
		{family(&debian), FeatureOpenSM, "", []string{"opensm"}},
		{family(&rhel), FeatureFirmware, "", []string{"mstflint"}},
		{family(&rhel), FeatureDiagnostics, "", []string{"infiniband-diags"}},
		{family(&arch), FeatureDiagnostics, "", []string{"rdma-core"}},
		{family(&arch), FeatureOpenSM, "", nil},
		{family(&truenas), FeatureOpenSM, "6.12", nil},
	} {
		if got := tt.p.PackagesFor(tt.feature, tt.kernel); !slices.Equal(got, tt.want) {
			t.Errorf("%s, %s, %s: %q", tt.p.About().Kind, tt.feature, tt.kernel, got)
		}
	}
	s := &inventory.Snapshot{Packages: map[string]string{"opensm": "3.3.23-2"}}
	if got := MissingPackages(family(&debian), s, FeatureOpenSM); len(got) != 0 {
		t.Errorf("an installed package is missing: %q", got)
	}
	if got := MissingPackages(family(&debian), s, FeatureFirmware); !slices.Equal(got, []string{"mstflint"}) {
		t.Errorf("missing: %q", got)
	}
}

func TestSupportOf_mstflint(t *testing.T) {
	for _, c := range []struct{ id, release, format, want string }{
		{"debian", "12", "FS2", "Debian 12 has mstflint 4.21.0"},
		{"debian", "13", "FS2", "4.31.0, which crashes"},
		{"debian", "13", "FS2", "./libboost-filesystem1.74.0_1.74.0+ds1-21_amd64.deb ./libjsoncpp25_1.9.5-4_amd64.deb,"},
		{"debian", "13", "FS4", "Install the package: apt install mstflint."},
		{"ubuntu", "24.04", "FS2", "cannot configure it"},
		{"ubuntu", "26.04", "FS2", "Install the package: apt install mstflint."},
		{"linuxmint", "22", "FS2", "Install the package mstflint."},
		{"almalinux", "9.4", "FS2", "mstflint-4.25.0-1"},
		{"rhel", "10.0", "FS2", "no driver for ConnectX-3"},
		{"rocky", "10.0", "FS4", "dnf install mstflint."},
		{"truenas", "25.10.3", "FS2", "nothing may be installed"},
		{"fedora", "43", "FS2", "4.34.0, which crashes"},
		{"fedora", "43", "FS4", "Install the package: dnf install mstflint."},
		{"arch", "", "FS2", "build release 4.25.0"},
		{"gentoo", "", "FS2", "Install the package mstflint."},
		{"", "", "", "Install the package mstflint."},
	} {
		s := &inventory.Snapshot{OS: inventory.OS{ID: c.id, VersionID: c.release},
			Cards: []inventory.Card{{Chip: ib.Chip{Format: c.format}}}}
		if got := SupportOf(s, ib.PCIAddress{}); !strings.Contains(got.Mstflint, c.want) {
			t.Errorf("%s %s, %s: %q, want %q in it", c.id, c.release, c.format, got.Mstflint, c.want)
		}
	}
}

func TestSupportOf_driver(t *testing.T) {
	for _, c := range []struct {
		driver, id, release, kernel string
		there                       bool // the kernel has it all the same
		lacks                       bool
	}{
		{"mlx4_core", "rhel", "10.0", "", false, true},
		{"mlx4_core", "rocky", "10", "", false, true},
		{"mlx4_core", "rocky", "10", "", true, false},
		{"mlx4_core", "rocky", "9.4", "", false, false},
		{"mlx5_core", "rocky", "10.0", "", false, false},
		{"mlx4_core", "fedora", "43", "6.17.7-300.fc43.x86_64", false, false},
		{"ib_mthca", "fedora", "43", "6.17.7-300.fc43.x86_64", false, false},
		{"ib_qib", "fedora", "43", "6.17.7-300.fc43.x86_64", false, true},
		{"mlx4_core", "debian", "10", "", false, false},
		{"ib_qib", "debian", "13", "6.12.48+deb13-amd64", false, false},
		{"ib_qib", "arch", "", "6.16.9-arch1-1", false, false},
		{"ib_qib", "arch", "", "6.17.1-arch1-1", false, true},
		{"ib_qib", "ubuntu", "24.04", "7.0.0-14-generic", false, true},
	} {
		s := &inventory.Snapshot{OS: inventory.OS{ID: c.id, VersionID: c.release, Kernel: c.kernel},
			Cards: []inventory.Card{{Chip: ib.Chip{Driver: c.driver}}}}
		s.KernelModules = map[string]bool{c.driver: c.there}
		if why := SupportOf(s, ib.PCIAddress{}).NoDriver; (why != "") != c.lacks {
			t.Errorf("%s on %s %s: %q", c.driver, c.id, c.release, why)
		}
	}
}

// inWords names places in their order, each with the types that it sets.
func inWords(places Places) string {
	all := make([]string, len(places))
	for i, p := range places {
		if all[i] = p.Name; p.Ours {
			all[i] += " (ours)"
		}
		for _, port := range slices.Sorted(maps.Keys(p.Types)) {
			all[i] += " " + p.Types[port].String()
		}
	}
	return strings.Join(all, ", ")
}

func TestMLX4Conf(t *testing.T) {
	card := ib.MustParsePCIAddress("0000:0b:00.0")
	const stock = "# Config file for mlx4 hardware port settings\n# <pci_device_of_card> <port1_type> [port2_type]\n"
	c := parseMLX4Conf(stock, card)
	line, err := mlx4Line(card, map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeETH})
	if err != nil || line != "0000:0b:00.0 ib eth" {
		t.Fatalf("%q, %v", line, err)
	}
	text := c.with(line)
	if text != stock+mlx4ConfMark+"\n0000:0b:00.0 ib eth\n" {
		t.Errorf("%q", text)
	}
	s := &inventory.Snapshot{Files: map[string]inventory.File{MLX4ConfPath: {Content: text + "0000:0c:00.0 eth eth\n"}}}
	places := mlx4ConfStore{}.LinkTypePlaces(s, card)
	if got := inWords(places); got != "mlx4.conf (ours) ib eth" || places.Ours().NotOurs != "" {
		t.Errorf("%s", got)
	}
	if got := parseMLX4Conf(text, card).with(line); got != text {
		t.Errorf("written twice: %q", got)
	}
	other := mlx4ConfStore{}.LinkTypePlaces(s, ib.MustParsePCIAddress("0000:0c:00.0"))
	if got := inWords(other); got != "mlx4.conf (ours)" ||
		other.Ours().NotOurs != `the line "0000:0c:00.0 eth eth" of /etc/rdma/mlx4.conf` {
		t.Errorf("a line of somebody else: %s, %+v", got, other)
	}
	for _, types := range []map[int]ib.LinkType{{1: ib.LinkTypeETH, 2: ib.LinkTypeIB}, {2: ib.LinkTypeIB}} {
		if _, err := mlx4Line(card, types); err == nil {
			t.Errorf("%v was accepted", types)
		}
	}
}

func TestFindSleepingPort(t *testing.T) {
	flash := &inventory.Flash{GUIDs: ib.GUIDSet{Port1: 0x11, Port2: 0x12}}
	s := &inventory.Snapshot{Cards: []inventory.Card{{Driver: "mlx4_core", Flash: flash,
		Ports: []inventory.Port{{Number: 1, TypeNow: "auto (eth)"}, {Number: 2, TypeNow: "ib"}}}}}
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

// What modprobe takes from elsewhere and later than from our file wins over it.
func TestModprobeStore_namesWhatIsStronger(t *testing.T) {
	s := &inventory.Snapshot{Cmdline: "quiet mlx4-core.port_type_array=1,1", Files: map[string]inventory.File{
		ModprobePath: {Content: OwnedHeader("infiniband_link_type") +
			"options mlx4_core port_type_array=2,2\n"},
		"/etc/modprobe.d/mlx4.conf":    {Content: "options mlx4_core port_type_array=1,2\n"},
		"/etc/modprobe.d/zz-mlx4.conf": {Content: "options mlx4_core port_type_array=0,2\n"},
		MLX4ConfPath:                   {Content: "0000:0b:00.0 ib ib\n"}, // nothing reads it where there is no mlx4-setup.sh
	}}
	places := modprobeStore{}.LinkTypePlaces(s, ib.MustParsePCIAddress("0000:0b:00.0"))
	if got := inWords(places); got != CommandLine+" ib ib, /etc/modprobe.d/zz-mlx4.conf auto eth, "+
		"modprobe.d (ours) eth eth, /etc/modprobe.d/mlx4.conf ib eth" {
		t.Errorf("%s", got)
	}
	if got := inWords(places.Stronger()); got != CommandLine+" ib ib, /etc/modprobe.d/zz-mlx4.conf auto eth" {
		t.Errorf("stronger: %s", got)
	}
	if got := inWords(places.FromOurs()); got != "modprobe.d (ours) eth eth, /etc/modprobe.d/mlx4.conf ib eth" {
		t.Errorf("from ours on: %s", got)
	}
	if got := places.Array(); !maps.Equal(got, map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeIB}) ||
		places.Deciding(2) != CommandLine {
		t.Errorf("the parameter is %v by %s", got, places.Deciding(2))
	}
}

// The initial RAM disk may have older copies of all files, and has none of the command line. So
// nothing that comes after the command line is known.
func TestPlaces_staleInitramfs(t *testing.T) {
	ours := OwnedHeader("infiniband_link_type") + "options mlx4_core port_type_array=2,2\n"
	s := &inventory.Snapshot{Cmdline: "mlx4_core.port_type_array=1",
		StaleInInitramfs: []string{ModprobePath, MLX4ConfPath},
		Files: map[string]inventory.File{ModprobePath: {Content: ours},
			"/etc/modprobe.d/aa.conf": {Content: "options mlx4_core port_type_array=2,2\n"},
			"/etc/modprobe.d/zz.conf": {Content: "options mlx4_core port_type_array=2,2\n"},
			MLX4ConfPath:              {Content: mlx4ConfMark + "\n0000:0b:00.0 ib eth\n"}}}
	pci := ib.MustParsePCIAddress("0000:0b:00.0")
	places := modprobeStore{}.LinkTypePlaces(s, pci)
	if got := inWords(places.Fresh()); got != CommandLine+" ib" || !fact.Yes(places.Ours().Stale) ||
		inWords(places.FromOurs()) != "/etc/modprobe.d/aa.conf eth eth" {
		t.Errorf("%s of %s", got, inWords(places))
	}
	// The older copy of mlx4.conf would win over the command line too.
	if got := inWords(mlx4ConfStore{}.LinkTypePlaces(s, pci).Fresh()); got != "" {
		t.Errorf("mlx4.conf: %s", got)
	}
	s.StaleInInitramfs, s.Unread = nil, map[string]bool{"/etc/modprobe.d/b.conf": true}
	places = modprobeStore{}.LinkTypePlaces(s, pci)
	if got := places.Unclear(); got != "/etc/modprobe.d/b.conf could not be read" || len(places.Fresh()) != len(places) {
		t.Errorf("%q of %s", got, inWords(places))
	}
}

// Every form that kmod and the kernel take counts, in the order of the names of the files over
// all directories. What is not understood is named.
func TestModprobeStore_forms(t *testing.T) {
	ours := inventory.File{Content: OwnedHeader("infiniband_link_type") + "options mlx4_core port_type_array=1,1\n"}
	for _, tt := range []struct {
		file, text       string
		weaker, stronger string
		unclear          string
	}{
		{file: "/usr/lib/modprobe.d/zz.conf", text: "options mlx4_core port_type_array=0,0", stronger: "auto auto"},
		{file: "/run/modprobe.d/zz.conf", text: "options mlx4-core port-type-array=+2,0X1", stronger: "eth ib"},
		{file: "/usr/local/lib/modprobe.d/aa.conf", text: "options mlx4_core port_type_array=02,1", weaker: "eth ib"},
		{file: "/etc/modprobe.d/zz.conf", text: "options mlx4_core port_type_array=2,2 port_type_array=1", stronger: "ib eth"},
		{file: "/etc/modprobe.d/zz.conf", text: "options mlx4_core port_type_array=3,1", unclear: "port_type_array=3,1"},
		{file: "/etc/modprobe.d/zz.conf", text: "options mlx4_core port_type_array=0b1,1", unclear: "port_type_array=0b1,1"},
		{file: "/etc/modprobe.d/zz.conf", text: "options mlx4_core port_type_array=1,", unclear: "port_type_array=1,"},
		{file: "/etc/modprobe.d/zz.conf", text: "options mlx4_core port_type_array=", unclear: "port_type_array="},
		{file: "/etc/modprobe.d/zz.conf", text: "options mlx4_core port_type_array=-1", unclear: "port_type_array=-1"},
		{file: "/etc/modprobe.d/aa.conf", text: "install mlx4_core /bin/mlx4", unclear: "install mlx4_core /bin/mlx4"},
		{file: "/etc/modprobe.d/aa.conf", text: "install mlx4_core modprobe -i mlx4_core && modprobe mlx4_en"},
		{file: "/etc/modprobe.d/zz.conf", text: libMLX4Line, unclear: "install mlx4_core"}, // the script is not of Debian
	} {
		s := &inventory.Snapshot{Files: map[string]inventory.File{ModprobePath: ours, tt.file: {Content: tt.text + "\n"}}}
		places := modprobeStore{}.LinkTypePlaces(s, ib.MustParsePCIAddress("0000:0b:00.0"))
		want := "modprobe.d (ours) ib ib"
		unclear := tt.unclear != ""
		switch {
		case tt.stronger != "":
			want = tt.file + " " + tt.stronger + ", " + want
		case tt.weaker != "":
			want += ", " + tt.file + " " + tt.weaker
		case unclear && tt.file > ModprobePath:
			want = tt.file + ", " + want
		case unclear:
			want += ", " + tt.file
		}
		says := places.Unclear()
		if got := inWords(places); got != want || unclear != (says != "") || unclear && (strings.Count(says, " has `") != 1 ||
			!strings.HasPrefix(says, tt.file+" has `"+tt.unclear)) {
			t.Errorf("%s: %s, unclear %q; want %s", tt.text, got, says, want)
		}
	}
}

// libMLX4Line is what rdma-core has on the RHEL family.
const libMLX4Line = "install mlx4_core /sbin/modprobe --ignore-install mlx4_core $CMDLINE_OPTS && (if [ -f " +
	"/usr/libexec/mlx4-setup.sh -a -f /etc/rdma/mlx4.conf ]; then /usr/libexec/mlx4-setup.sh < /etc/rdma/mlx4.conf; fi; " +
	"/sbin/modprobe mlx4_en; if /sbin/modinfo mlx4_ib > /dev/null 2>&1; then /sbin/modprobe mlx4_ib; fi)"

// On the RHEL family the line of rdma-core is understood, and another one for the driver is not.
func TestMLX4Conf_installLine(t *testing.T) {
	for text, unclear := range map[string]int{libMLX4Line: 0, "install mlx4_core /sbin/modprobe -i mlx4_core": 0,
		"install mlx4_core /sbin/modprobe -i mlx4_core && echo eth >/sys/bus/pci/devices/0000:0b:00.0/mlx4_port1": 1} {
		s := &inventory.Snapshot{Cmdline: "mlx4_core.port_type_array=2,2", Files: map[string]inventory.File{
			"/usr/lib/modprobe.d/libmlx4.conf": {Content: text + "\n"},
			"/etc/modprobe.d/a.conf":           {Content: "options mlx4_core port_type_array=0,0\n"}}}
		places := mlx4ConfStore{}.LinkTypePlaces(s, ib.MustParsePCIAddress("0000:0b:00.0"))
		got := strings.Replace(inWords(places), "/usr/lib/modprobe.d/libmlx4.conf, ", "", unclear)
		if got != "mlx4.conf (ours), "+CommandLine+" eth eth, /etc/modprobe.d/a.conf auto auto" ||
			strings.Count(places.Unclear(), "/usr/lib/modprobe.d/libmlx4.conf has `install") != unclear ||
			len(places) != 3+unclear {
			t.Errorf("%s: %s, unclear %q", text, got, places.Unclear())
		}
	}
}

// The token of TrueNAS is found in each form, and only one is left after a change.
func TestTrueNAS_formsOfTheToken(t *testing.T) {
	for token, want := range map[string]ib.LinkType{
		"mlx4-core.port-type-array=0x2,2": ib.LinkTypeETH, `"mlx4_core.port_type_array=2,2"`: ib.LinkTypeETH,
		"mlx4_core.port_type_array=1,1,1": "", `mlx4_core.port_type_array="1"`: ib.LinkTypeIB,
	} {
		options, err := json.Marshal(map[string]any{"kernel_extra_options": "quiet " + token})
		if err != nil {
			t.Fatal(err)
		}
		s := &inventory.Snapshot{TrueNAS: &inventory.TrueNAS{AdvancedConfig: options},
			Files: map[string]inventory.File{"/etc/modprobe.d/a.conf": {Content: "install mlx4_core /bin/mlx4\n"}}}
		places := trueNAS{}.LinkTypePlaces(s, ib.MustParsePCIAddress("0000:0b:00.0"))
		if ours := places[0]; !ours.Ours || ours.Name != "kernel_extra_options" || ours.Types[1] != want ||
			places.Unclear() != "/etc/modprobe.d/a.conf has `install mlx4_core /bin/mlx4`: "+
				"the provider does not understand that" {
			t.Errorf("%s: %+v", token, places)
		}
		if left := withoutTypes(kernelOptions(s)); len(left) != 1 {
			t.Errorf("%s stays: %q", token, left)
		}
	}
}
