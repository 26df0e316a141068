package midclt

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"
)

func TestParseBool(t *testing.T) {
	for text, want := range map[string]bool{"True\n": true, "False\n": false, "true": true} {
		if got, err := ParseBool([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %t, %v", text, got, err)
		}
	}
	if _, err := ParseBool([]byte("null\n")); err == nil {
		t.Error("null is no boolean")
	}
}

func TestParseWaiting(t *testing.T) {
	for text, want := range map[string]int{"null\n": 0, "118\n": 118, "0.4\n": 1} {
		if got, err := ParseWaiting([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	if _, err := ParseWaiting([]byte("soon")); err == nil {
		t.Error("a word is no number of seconds")
	}
}

func TestMessages(t *testing.T) {
	got := Messages("[EINVAL] interface_update.mtu: too large\n[EINVAL] x: y\nTraceback (most recent call last):\n  File \"a\"\n")
	if got != "[EINVAL] interface_update.mtu: too large; [EINVAL] x: y" {
		t.Errorf("%q", got)
	}
	if got := Messages("Traceback (most recent call last):\n"); !strings.Contains(got, "no message") {
		t.Errorf("%q", got)
	}
}

func TestTransaction(t *testing.T) {
	mark, aliases, mtu := "mine", Aliases([]netip.Prefix{netip.MustParsePrefix("172.16.0.10/24")}), 9216
	guard, err := NewGuard("undo", Drop("ibs4"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := Transaction(90*time.Second, guard,
		Store("ibs4", Update{Description: &mark, Aliases: &aliases, MTU: &mtu}), StoreRowMTU(2, 65520), Drop("ibs5"))
	want := []string{"store-and-commit", `{"checkin_timeout":90,"rollback":true}`,
		`{"command":"[ \"$(date +%s)\" -lt @until@ ] \u0026\u0026 midclt call interface.delete '\"ibs4\"' \u0026\u0026 midclt -t 180 call interface.commit '{\"rollback\":false}'",` +
			`"comment":"undo","enabled":true,"timeout":180,"type":"COMMAND","when":"POSTINIT"}`,
		"interface.update", `"ibs4"`, `{"description":"mine","ipv4_dhcp":false,"ipv6_auto":false,"aliases":[{"type":"INET","address":"172.16.0.10","netmask":24}],"mtu":9216}`,
		"datastore.update", `"network.interfaces"`, "2", `{"int_mtu":65520}`,
		"interface.delete", `"ibs5"`}
	if diff := cmp.Diff(want, cmd.Argv()); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(transactionScript, fmt.Sprintf("$(date +%%s) + %d))", int(GuardTime.Seconds()))) {
		t.Error("the guard has another time")
	}
	if _, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(transactionScript),
		"transaction"); err != nil {
		t.Error(err)
	}
}

func TestNewGuard_tooLong(t *testing.T) {
	text := strings.Repeat("x", 1000)
	if _, err := NewGuard("undo", Store("ibs4", Update{Description: &text})); err == nil ||
		!strings.Contains(err.Error(), "more than the 1024") {
		t.Errorf("%v", err)
	}
}

func TestParseGuard(t *testing.T) {
	if id, err := ParseGuard([]byte("7\n")); err != nil || id != 7 {
		t.Errorf("%d %v", id, err)
	}
	for _, out := range []string{"", "0\n", "null\n", "7\n8\n"} {
		if _, err := ParseGuard([]byte(out)); err == nil {
			t.Errorf("%q was understood", out)
		}
	}
}

func TestCommands_timeoutIsGlobal(t *testing.T) {
	argv := SetKernelOptions("a=b").Argv()
	if i, j := slices.Index(argv, "-t"), slices.Index(argv, "call"); i < 0 || j < i {
		t.Errorf("-t must precede call: %q", argv)
	}
	if got := Reboot("Terraform", 5*time.Second).Argv(); !slices.Equal(got,
		[]string{"midclt", "call", "system.reboot", `"Terraform"`, `{"delay":5}`}) {
		t.Errorf("%q", got)
	}
}

func TestNothingStored(t *testing.T) {
	auto := Interface{Name: "eno1", DHCP: true, IPv6Auto: true}
	stored := Interface{Name: "eno1"}
	for _, tt := range []struct {
		all  []Interface
		want bool
	}{
		{[]Interface{auto, auto}, true}, {[]Interface{auto, stored}, false}, {nil, false},
		{[]Interface{auto, {Name: "ib9", Fake: true, DHCP: true, IPv6Auto: true}}, false},
	} {
		if got := NothingStored(tt.all); got != tt.want {
			t.Errorf("%+v: %t", tt.all, got)
		}
	}
}

func TestState_Addresses(t *testing.T) {
	// 25.10.0 and 25.10.1 list the hardware address among the live ones.
	s := State{Flags: []string{"UP"}, Aliases: []Alias{
		{Type: "INET", Address: "10.10.10.2", Netmask: 24}, {Type: "LINK", Address: "80:00:02:08:fe:80"}, {Type: "INET6",
			Address: "fe80::1", Netmask: 64},
	}}
	if got := s.Addresses(); len(got) != 1 || got[0] != netip.MustParsePrefix("10.10.10.2/24") || !slices.Contains(s.Flags, "UP") {
		t.Errorf("%v", got)
	}
}
