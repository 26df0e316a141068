package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ifupdown"
)

// Each pair is a line and what is recorded of it; without a second part it stays.
func lines(t *testing.T, file string, change func(string) string, pairs ...[2]string) {
	t.Helper()
	var in, want strings.Builder
	for _, p := range pairs {
		in.WriteString("|" + p[0] + "\n")
		if p[1] == "" {
			p[1] = p[0]
		}
		want.WriteString("|" + p[1] + "\n")
	}
	head, end := "=x\ty # z\n@file "+file+"\n", "@.\n@run 0\tx\n|# of a command # stays\n@.\n"
	if got := change(head + in.String() + end); got != head+want.String()+end {
		t.Errorf("got\n%s, want\n%s", got, head+want.String()+end)
	}
}

func TestWithoutComments(t *testing.T) {
	t.Parallel()
	lines(t, "/etc/netplan/x.yaml", withoutComments, [][2]string{
		{"# bob", "#"}, {"  ; bob", "#"}, {"#!/bin/sh", ""},
		{"Default=0x7fff, ipoib: ALL=full; # call bob",
			"Default=0x7fff, ipoib: ALL=full; #"},
		{"part=0x8001;# bob's", "part=0x8001;#"},
		{`    search: ["a#b", 'c # d'] # bob's "x`, `    search: ["a#b", 'c # d'] #`},
		{"PORTS=ALL\t# rack of bob", "PORTS=ALL\t#"},
		{"options mlx4_core port_type_array=1,1 # bob", "options mlx4_core port_type_array=1,1 #"},
		{"mlx4_ib #bob", "mlx4_ib #"}, {"it's bob # and bob's", "it's bob #"}, {"url=http://x/#y", ""}, {"", ""},
	}...)
	ours := "@file /etc/opensm/partitions.conf\n|" + platform.Owner + "\n|a # b\n@.\n"
	if got := withoutComments(ours); got != ours {
		t.Errorf("a file of ours became\n%s", got)
	}
}

func TestWithoutCommands(t *testing.T) {
	t.Parallel()
	const nothing = `true "(removed)"`
	lines(t, "/etc/network/interfaces.d/ib0", withoutCommands, [][2]string{
		{"auto ib0", ""}, {"iface ib0 inet static", ""}, {"  address 10.0.0.1/24", ""}, {"\tmtu 65520", ""}, {"#", ""},
		{"  pre-up echo connected > /sys/class/net/$IFACE/mode", ""}, {"  pre-up modprobe ib_ipoib || true", ""},
		{"  pre-up [ ! -e /proc/sys/net/ipv6/conf/$IFACE/accept_ra ] || " +
			"echo 0 > /proc/sys/net/ipv6/conf/$IFACE/accept_ra", ""},
		{"  up ip route replace 10.1.0.0/16 via 10.0.0.2 dev $IFACE", ""},
		{"  up ip link set $IFACE mtu 4092; ip -6 addr flush dev ib0", ""},
		{"  down ip route del 10.1.0.0/16 via 10.0.0.2 dev $IFACE || true", ""},
		{"  up mysql -pX", "  up " + nothing}, {"  post-up ip link set ib0 up && curl bob", "  post-up " + nothing},
		{"  up ip xfrm state add enc aes 0x1234", "  up " + nothing}, {"  up echo $(secret) > /sys/x", "  up " + nothing},
		{"  wpa-ssid Home of Bob", "  wpa-ssid (removed)"}, {"  hostname bob", "  hostname (removed)"},
		{"  up curl \\", "  up " + nothing}, {"    -u bob:x \\", "#"}, {"    y", "#"}, {"  gateway 10.0.0.1", ""},
	}...)
	lines(t, "/etc/modprobe.d/x.conf", withoutCommands, [][2]string{
		{"options mlx4_core port_type_array=1,1", ""}, {"install usb-storage /bin/false", ""},
		{"install mlx4_core /sbin/modprobe --ignore-install mlx4_core $CMDLINE_OPTS && modprobe mlx4_ib", ""},
		{"install mlx4_core modprobe -i mlx4_core; curl -u bob:x y", "install mlx4_core (removed)"},
		{"install snd curl -d port-type-array x", "install snd (removed) port_type_array"},
	}...)
	lines(t, "/etc/systemd/network/x.network", withoutCommands, [][2]string{{"[Network]", ""},
		{"Description=rack of bob", "Description=(removed)"}, {"DHCP=yes", ""}}...)
}

// What is taken out of a hook is one of those that the provider reads nothing of.
func TestWithoutCommands_leaves_what_the_provider_reads(t *testing.T) {
	t.Parallel()
	const text = "auto ib0\niface ib0 inet static\n    address 10.0.0.1/24\n    mtu 65520\n" +
		"    pre-up echo connected > /sys/class/net/$IFACE/mode\n    up curl -u bob:x y\n    wpa-ssid Bob\n" +
		"    up ip route add 10.2.0.0/16 via 10.0.0.9 dev ib0\n"
	const head = "@file /etc/network/interfaces"
	body := strings.ReplaceAll("\n"+strings.TrimSuffix(text, "\n"), "\n", "\n|")
	recorded := withoutCommands(head + body + "\n@.\n")
	recorded = strings.TrimSuffix(strings.TrimPrefix(recorded, head+"\n"), "@.\n")
	recorded = strings.ReplaceAll("\n"+recorded, "\n|", "\n")
	read := func(text string) string {
		f, err := ifupdown.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		i, err := f.Interface("ib0")
		all, at := f.Unkept("ib0")
		if err != nil || len(i.Routes) != 1 || i.Mode != "connected" || len(all) != 2 {
			t.Fatalf("%+v %v %v", i, all, err)
		}
		return fmt.Sprint(all, at, i)
	}
	if was, is := read("\n"+text), read(recorded); was != is || strings.Contains(recorded, "ob") {
		t.Errorf("the provider reads %s instead of %s of\n%s", is, was, recorded)
	}
}
