package netundo

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

var guard = Guard{Port: 0xe41d2d0300e44ed1}

func TestScripts_arePOSIX(t *testing.T) {
	for name, text := range map[string]string{"save": saveScript, "undo": undoScript, "undo now": undoNowScript} {
		if _, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), name); err != nil {
			t.Error(err)
		}
	}
}

func TestGuard_Arm(t *testing.T) {
	dir := "/var/lib/terraform-provider-infiniband/undo/e41d2d0300e44ed1"
	want := []string{"systemd-run", "--quiet", "--collect", "--unit=infiniband-undo-e41d2d0300e44ed1", "--on-active=90s",
		"--timer-property=AccuracySec=100ms", "--", "/bin/sh", dir + "/undo.sh", dir}
	cmd := guard.Arm(90 * time.Second)
	if diff := cmp.Diff(want, cmd.Argv()); diff != "" {
		t.Error(diff)
	}
	if !cmd.Root() || !cmd.Changing() {
		t.Error("arming is not marked as a change by root")
	}
}

func TestGuard_Save(t *testing.T) {
	cmd := guard.Save(Before{
		Interface: "ibp1s0", Mode: ib.ModeDatagram, MTU: 2044, Up: true,
		Added:   []netip.Prefix{netip.MustParsePrefix("172.16.0.20/24"), netip.MustParsePrefix("fd00::1/64")},
		Removed: nil,
	}, "/etc/a", "/etc/b c")
	args := cmd.Argv()
	want := []string{"save-interface", guard.Dir(), "ibp1s0", "datagram", "2044", "up", "172.16.0.20/24 fd00::1/64", "", undoScript, "/etc/a", "/etc/b c"}
	if diff := cmp.Diff(want, args); diff != "" {
		t.Error(diff)
	}
}
