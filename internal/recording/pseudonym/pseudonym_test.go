package pseudonym

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ibnetdiscover"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// made is a table that knows these texts, and what it makes of each.
func made(names []string, texts ...string) (*Table, []string) {
	t := New()
	t.Names("host", names...)
	for _, text := range texts {
		t.Learn(text)
	}
	var out []string
	for _, text := range texts {
		out = append(out, t.Replace(text))
	}
	return t, out
}

func one(t *testing.T, text, form string) []string {
	t.Helper()
	m := regexp.MustCompile(`^` + form + `$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%q is not of the form %s", text, form)
	}
	return m[1:]
}

// All ways to write one GUID give one GUID, and the MAC address of its card fits it.
func TestReplace_keeps_what_fits_together(t *testing.T) {
	t.Parallel()
	_, got := made(nil, strings.Join([]string{
		"0xe41d2d0300e44ed1", "GUIDs: e41d2d0300e44ed0 e41d2d0300e44ed1 ", "e41d:2d03:00e4:4ed1",
		"MACs: e41d2de44ed0 E41D2DE44ED1",
		"e4:1d:2d:e4:4e:d0", "opensm@0xe41d2d0300e44ed1.service",
		"80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e4:4e:d1",
		"fe80:0000:0000:0000:e41d:2d03:00e4:4ed1", "fe80::e61d:2d03:e4:4ed1/64", "fe80::e61d:2dff:fee4:4ed0",
		"e4-1d-2d-03-00-e4-4e-d0", "enxe41d2de44ed0", `"S-e41d2d0300e44ed0"`,
		"0x2c902004a1b00 (2c902004a1b00)", "0x0002c902004a1b00", "Base MAC: 0000e41d2de44ed0",
		"Port GUID: 0xe61d2dfffee44ed1"}, "\n"))
	lines := strings.Split(got[0], "\n")
	n := one(t, lines[0], `0xe41d2d0300([0-9a-f]{4})d1`)[0]
	if n == "e44e" {
		t.Error("the GUID was not replaced")
	}
	for i, want := range []string{"0xe41d2d0300XXYYd1", "GUIDs: e41d2d0300XXYYd0 e41d2d0300XXYYd1 ", "e41d:2d03:00XX:YYd1",
		"MACs: e41d2dXXYYd0 E41D2DxxyyD1", "e4:1d:2d:XX:YY:d0", "opensm@0xe41d2d0300XXYYd1.service",
		"80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:XX:YY:d1", "fe80:0000:0000:0000:e41d:2d03:00XX:YYd1", "",
		"", "e4-1d-2d-03-00-XX-YY-d0", "enxe41d2dXXYYd0", `"S-e41d2d0300XXYYd0"`,
		"", "", "Base MAC: 0000e41d2dXXYYd0", "Port GUID: 0xe61d2dfffeXXYYd1"} {
		want = strings.NewReplacer("XX", n[:2], "YY", n[2:], "xx", strings.ToUpper(n[:2]), "yy",
			strings.ToUpper(n[2:])).Replace(want)
		if want != "" && lines[i] != want {
			t.Errorf("got %s, want %s", lines[i], want)
		}
	}
	short := one(t, lines[13], `0x(2c90200[0-9a-f]{4}00) \(2c90200[0-9a-f]{4}00\)`)[0]
	if short == "2c902004a1b00" || lines[14] != "0x000"+short || !strings.HasSuffix(lines[13], "("+short+")") {
		t.Errorf("without the zeros: %s, and with them %s", lines[13], lines[14])
	}
	for i, want := range map[int]string{8: "fe80::e61d:2d03:" + n[:2] + ":" + n[2:] + "d1", 9: "fe80::e61d:2dff:fe" +
		n[:2] + ":" + n[2:] + "d0"} {
		got, _, _ := strings.Cut(lines[i], "/")
		if a, err := netip.ParseAddr(got); err != nil || a != netip.MustParseAddr(want) {
			t.Errorf("got %s, want %s", lines[i], want)
		}
	}
}

// Cards of one maker keep their order, and what many cards have in common stays.
func TestReplace_keeps_order_and_placeholders(t *testing.T) {
	t.Parallel()
	for range 50 {
		var text strings.Builder
		for i := range 20 {
			fmt.Fprintf(&text, "%016x\n", 0xe41d2d0300000000+uint64(i)*0xc0de1)
		}
		_, got := made(nil, text.String())
		last := uint64(0)
		for i, line := range strings.Fields(got[0]) {
			v, err := strconv.ParseUint(line, 16, 64)
			if err != nil || v <= last || v>>24 != 0xe41d2d0300 || v&0xff != 0xc0de1*uint64(i)&0xff {
				t.Fatalf("%s behind %x: %v", line, last, err)
			}
			last = v
		}
	}
	const same = "ffff:ffff:ffff:ffff 0x0002c9000100d050 0002c9000100d050 0000000000000000 ff:ff:ff:ff:ff:ff " +
		"00:00:00:00:00:00 " +
		"00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff 0xfe80000000000000 fe80:: ::1 :: 127.0.0.1 " +
		"0.0.0.0/0 255.255.255.0 " +
		"169.254.1.1 224.0.0.1 0000:01:00.0 12:30:45 2026-01-02T03:04:05Z 1732828000123456 MT_1090111019 ConnectX-3 0x15b3 " +
		"FW Version: 12.28.20.06\nProduct Version: 16.35.40.30 2.42.5000 6.8.0-49-generic " +
		"20260101T000000Z-0000-01-00-0-0001 " +
		"images/637a31fd339ee5a7e08febf0e53c96c01e8cdc77ceeff39d5303cdc9535df9fc.bin " +
		"637a31fd339ee5a7e08febf0e53c96c01e8cdc77ceeff39d5303cdc9535df9fc  /x fe80::/64 ff02::1"
	if _, got := made(nil, same); got[0] != same {
		t.Errorf("got\n%s, want\n%s", got[0], same)
	}
}

func TestReplace_keeps_networks(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 20 {
		_, got := made(nil, `10.20.30.40/16 10.20.99.1 172.16.0.20/24 172.16.0.0/24 172.16.0.255 192.168.7.3/24 `+
			`192.168.7.0/24 198.51.100.7 `+
			`198.51.100.9 fd12:3456:789a:1::5/64 fd12:3456:789a:1::/64 2001:470:1:2::9 {"local":"10.1.2.3","prefixlen":12}`+
			"\n@via ib0 000010AC 00FFFFFF 010010AC\n@route6 eth0 fd123456789a00010000000000000005\n"+
			"  1: 140010AC:0801 090010AC:9C40 01 x")
		w := strings.Fields(got[0])
		in := func(address, network string) {
			t.Helper()
			a, n := netip.MustParseAddr(strings.Split(address, "/")[0]), netip.MustParsePrefix(network)
			if n != n.Masked() || !n.Contains(a) {
				t.Errorf("%s is not in %s", address, network)
			}
		}
		in(w[2], w[3])
		in(w[4], w[3])
		in(w[5], w[6])
		in(w[9], w[10])
		a := netip.MustParsePrefix(w[0])
		if !a.Masked().Contains(netip.MustParseAddr(w[1])) || !netip.MustParsePrefix("10.0.0.0/8").Contains(a.Addr()) {
			t.Errorf("%s and %s are not in one network", w[0], w[1])
		}
		if w[7] != "198.18.0.7" || w[8] != "198.18.0.9" || !strings.HasPrefix(w[11], "2001:db8:") {
			t.Errorf("public addresses: %v", w)
		}
		seen[w[2]], seen[w[5]] = true, true
		net := netip.MustParsePrefix(w[3]).Addr().As4()
		hexNet := fmt.Sprintf("%02X%02X%02X%02X", net[3], net[2], net[1], net[0])
		if !strings.Contains(got[0], "@via ib0 "+hexNet+" 00FFFFFF 01"+hexNet[2:]) ||
			!strings.Contains(got[0], " 14"+hexNet[2:]+":0801 09"+hexNet[2:]+":9C40 01") {
			t.Errorf("%s is not in the tables of\n%s", hexNet, got[0])
		}
	}
	if len(seen) < 10 {
		t.Errorf("the networks are always the same: %v", seen)
	}
}

// A network is no address of a card, however many letters it has.
func TestReplace_prefixes_of_IPv6(t *testing.T) {
	t.Parallel()
	_, got := made(nil, "| up ip route add 2001:4860:1234::/48 dev ib9\n|    - to: \"2a02:810d:1234::/48\"\n"+
		"aa:bb:cc:dd:ee::/64 a::b:c:0123456789a 12:3456:78:9012345678901 2a02:810d::/32")
	w := strings.Fields(got[0])
	for i, at := range []int{5, 11, 12} {
		n, err := netip.ParsePrefix(strings.Trim(w[at], `"`))
		if err != nil || !strings.HasPrefix(n.String(), "2001:db8:") || n.Bits() != []int{48, 48, 64}[i] {
			t.Errorf("%s is no other network: %v", w[at], err)
		}
	}
	if rest := strings.Join(w[13:], " "); rest != "a::b:c:0123456789a 12:3456:78:9012345678901 2a02:810d::/32" {
		t.Errorf("what is no address, or the network of many, became %s", rest)
	}
}

func TestReplace_names_serials_and_keys(t *testing.T) {
	t.Parallel()
	table, got := made([]string{"zeus.example.org", "apollo", "ubuntu"}, strings.Join([]string{
		"apollo APOLLO apollo-ib0 apollos zeus.example.org", "[SN] Serial number: MT1234X00001",
		"card serial:MT1234X00001 MT1234X000011",
		`H-e41d2d0300e44ed0 # "kronos HCA-1"`, "kronos", "MF0;hera:SX6036/U1", "operator=alice@desk7 pid 7", "/home/alice/x",
		"|search: [lab.example.net]", "host.lab.example.net", "[YA] Asset tag: N/A", "ID=ubuntu",
		"=/sys/class/infiniband/mlx4_0/ports/1/pkeys/1\t0x8001", "ibp1s0.8001 ibp1s0.0001", "p-key=32769",
		"PartitionKey=0x0001",
		"=/sys/bus/pci/x/device\t0x8001", "part=0x0001, ipoib: ALL;", "   0: 0xffff 0x8001 0x7fff",
		"[VU] Vendor specific: MT1234X00001MLNXS0D0F0", "|vault.example.net:/tank /mnt nfs4 rw", "|//filer/x /mnt cifs rw",
		"@run 0\tups eaton@power", "	    ata-WDC_WD40EFRX-68N32N0_WD-WCC7K1234567  ONLINE",
		"00:ff:ff:ff:ff:12:40:1b:80:01:00:00:00:00:00:00:ff:ff:ff:ff", "ff12:401b:8001::1", "pkey....................0x8001",
		"\tfrom=apollo, ibp1s0\tto=minerva, 10.0.0.2\ttext=1 Gb/s", "\tfrom=none\tto=priority 14, standard options\t.",
	}, "\n"))
	lines := strings.Split(got[0], "\n")
	serial := one(t, lines[1], `\[SN\] Serial number: (MT\d{4}[A-Z]\d{5})`)[0]
	key := one(t, lines[12], `=/sys/class/infiniband/mlx4_0/ports/1/pkeys/1\t0x([89a-f][0-9a-f]{3})`)[0]
	full, _ := strconv.ParseUint(key, 16, 16)
	bare := fmt.Sprintf("%04x", full&0x7fff)
	want := []string{"host1 host1 host1-ib0 apollos host3", lines[1], "card serial:" + serial + " MT1234X000011",
		`H-` + lines[3][2:18] + ` # "node1 HCA-1"`, "node1", "MF0;node2:SX6036/U1", "operator=user1@desk1 pid 7",
		"/home/user1/x",
		"|search: [domain1]", "host.domain1", "[YA] Asset tag: N/A", "ID=ubuntu", lines[12],
		"ibp1s0." + key + " ibp1s0." + bare, fmt.Sprintf("p-key=%d", full), "PartitionKey=0x" + bare,
		"=/sys/bus/pci/x/device\t0x8001", "part=0x" + bare + ", ipoib: ALL;", "   0: 0xffff 0x" + key + " 0x7fff",
		"[VU] Vendor specific: " + serial + "MLNXS0D0F0", "|server1.domain2:/tank /mnt nfs4 rw", "|//server2/x /mnt cifs rw",
		"@run 0\tups eaton@server3", lines[23],
		"00:ff:ff:ff:ff:12:40:1b:" + key[:2] + ":" + key[2:] + ":00:00:00:00:00:00:ff:ff:ff:ff", "ff12:401b:" + key + "::1",
		"pkey....................0x" + key, lines[27], "\tfrom=none\tto=priority 14, standard options\t."}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("got %s, want %s", lines[i], want[i])
		}
	}
	one(t, lines[27], `\tfrom=host1, ibp1s0\tto=machine\d, [\d.]+\ttext=1 Gb/s`)
	one(t, lines[23], `	    ata-[0-9a-f]{16}  ONLINE`)
	if serial == "MT1234X00001" || key == "8001" {
		t.Error("a serial number or a P_Key was not replaced")
	}
	if err := table.Check("x", got[0]); err != nil {
		t.Error(err)
	}
	err := table.Check("file", "nothing\nof Kronos\n")
	if err == nil || err.Error() != "file still holds the node that node1 stands for, in line 2" {
		t.Errorf("got %v", err)
	}
	pairs := map[string]string{}
	for _, p := range table.Pairs() {
		pairs[strings.ToLower(p.Stood)] = p.Is
	}
	if pairs["kronos"] != "node1" || pairs["mt1234x00001"] != serial || pairs["8001"] != key {
		t.Errorf("the table is %v", pairs)
	}
}

// Names stand in settings of services, too, and below the domains that are searched.
func TestReplace_names_of_services(t *testing.T) {
	t.Parallel()
	table, got := made([]string{"zeus"}, strings.Join([]string{
		"time.corp.example zeus.corp.example deep.lab.corp.example time 12.5", "|    dns-search corp.example other.example",
		"|dhcp-hostname=bobs-desk", "|      hostname: kims.lab2", "|          endpoint: \"vpn.secret.example:51820\"",
		"|Endpoint=gate.example:51820", "=/proc/cmdline\troot=/dev/nfs nfsroot=filer.example:/root ro",
		"|identity=alice@corp.example",
		"|//x.y/z /mnt cifs rw,username=bob.k,uid=0", "|hostname=true",
		"|user=(removed)", "|opts user=root rack7.other.example",
		"gate.example bobs-desk",
	}, "\n"))
	want := strings.Join([]string{"machine5.domain1 host1.domain1 machine3.domain1 time 12.5",
		"|    dns-search domain1 domain2", "|dhcp-hostname=machine1", "|      hostname: machine2",
		"|          endpoint: \"server1:51820\"", "|Endpoint=server2:51820",
		"=/proc/cmdline\troot=/dev/nfs nfsroot=server3:/root ro", "|identity=user1",
		"|//x.y/z /mnt cifs rw,username=user2,uid=0",
		"|hostname=true", "|user=(removed)", "|opts user=root machine4.domain2", "server2 machine1"}, "\n")
	if got[0] != want {
		t.Errorf("got\n%s, want\n%s", got[0], want)
	}
	if err := table.Check("x", got[0]); err != nil {
		t.Error(err)
	}
}

func FuzzReplace(f *testing.F) {
	f.Add("0xe41d2d0300e44ed1 10.0.0.1/8 fe80::1", "intel9")
	f.Add("up ip route add 2001:4860:1234::/48 dev ib9", "ib9")
	f.Add("@via a 000010AC 00FFFFFF 010010AC\npkeys/0\t0x8001", "x")
	f.Fuzz(func(t *testing.T, text, name string) {
		table, got := made([]string{name}, text)
		if strings.Count(got[0], "\n") != strings.Count(text, "\n") {
			t.Errorf("%q became %q", text, got[0])
		}
		if again := table.Replace(text); again != got[0] {
			t.Errorf("%q became %q, and then %q", text, got[0], again)
		}
	})
}

// Nodes have the names that people gave them, in several ways; what their makers have written stays.
func TestReplace_descriptions_of_nodes(t *testing.T) {
	t.Parallel()
	_, got := made(nil, strings.Join([]string{
		`Switch	36 "S-0002c902004a1b00"		# "leaf 4, rack of Bob" base port 0 lid 2 lmc 0`,
		`[24]    "H-0002c902005b5910"[1]         # "atlas35" lid 1252`,
		`Switch	36 "S-0002c902004a1b01"		# "SwitchX -  Mellanox Technologies" base port 0 lid 2 lmc 0`,
		`0x248a070300a24428 "                  thing4 HCA-1"    612    1[  ] ==( 4X Active/  LinkUp)==>  0x1 496   20[  ] "leaf 4, rack of Bob" ( )`,
		"atlas35 thing4",
	}, "\n"))
	for _, private := range []string{"Bob", "rack", "atlas35", "thing4"} {
		if strings.Contains(got[0], private) {
			t.Errorf("%s is in\n%s", private, got[0])
		}
	}
	if !strings.Contains(got[0], `"SwitchX -  Mellanox Technologies"`) || len(regexp.MustCompile(`"node \d"`).FindAllString(got[0], -1)) != 2 {
		t.Errorf("got\n%s", got[0])
	}
}

// What real tools have printed can be read as before, and nothing that is known is left.
func TestReplace_what_real_tools_print(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../tool/*/testdata/*.txt")
	more, globErr := filepath.Glob("../../tool/*/testdata/*/*.txt")
	if files = append(files, more...); err != nil || globErr != nil || len(files) < 15 {
		t.Fatalf("%d captures: %v", len(files), err)
	}
	fabrics, flashes := 0, 0
	for _, file := range files {
		data, readErr := os.ReadFile(file)
		if readErr != nil {
			t.Fatal(readErr)
		}
		text := string(data)
		table, got := made([]string{"zeus"}, text)
		if err = table.Check(file, got[0]); err != nil {
			t.Error(err)
		}
		if strings.Count(got[0], "\n") != strings.Count(text, "\n") {
			t.Errorf("%s has another number of lines", file)
		}
		if before, bad := ibnetdiscover.Parse(text); bad == nil && len(before.Nodes) > 0 {
			fabrics++
			after, worse := ibnetdiscover.Parse(got[0])
			if worse != nil || len(after.Nodes) != len(before.Nodes) {
				t.Errorf("%s: %d nodes, and before %d: %v", file, len(after.Nodes), len(before.Nodes), worse)
			}
		}
		if before, bad := mstflint.ParseQuery(text); bad == nil {
			flashes++
			after, worse := mstflint.ParseQuery(got[0])
			if worse != nil || after.PSID != before.PSID || after.FW != before.FW ||
				after.GUIDs.Node.IsUnset() != before.GUIDs.Node.IsUnset() {
				t.Errorf("%s: %+v, and before %+v: %v", file, after, before, worse)
			}
		}
	}
	if fabrics < 1 || flashes < 3 {
		t.Errorf("%d fabrics and %d flashes were read", fabrics, flashes)
	}
}
