//go:build testbed && linux

package testbed

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
)

// twice is two cards that were flashed from one image, back to back.
const twice = `speed=7
width=3
vendid=0x2c9
devid=0x1003
sysimgguid=0xe41d2d0300e44ed3
caguid=0xe41d2d0300e44ed0
Ca	2 "H-e41d2d0300e44ed0"		# "pve1 mlx4_0"
[1](e41d2d0300e44ed1)	"H-other"[1]		# "x" lid 0 4xQDR

vendid=0x2c9
devid=0x1003
sysimgguid=0x23
caguid=0x20
Ca	2 "H-other"		# "pve2 mlx4_0"
[1](21)	"H-e41d2d0300e44ed0"[1]		# "x" lid 0 4xQDR

do Guid "H-other" 0xe41d2d0300e44ed0
do Guid "H-other"[1] 0xe41d2d0300e44ed1
`

// What real opensm does where it cannot do its work leads to the cause.
func TestFabric_names_the_cause(t *testing.T) {
	b := start(t, member("pve1", node1))
	// Nothing of this is about flash.
	b.on(t, "pve1", "chmod a-x /usr/bin/mstflint /usr/bin/mstconfig")
	duplicate, switched := ibsimtest.Net(t, "duplicate-guid"), ibsimtest.Net(t, "two-hca-one-switch")
	for _, c := range []struct {
		name, net, console, command string
		cause                       opensm.CauseKind
	}{
		{"no cable", switched, `Unlink "H-e41d2d0300e44ed0"[1]`, "", opensm.CauseCable},
		{"switched off", switched, "", "ibportstate -C mlx4_0 -P 1 -D 0 1 disable", opensm.CauseDisabled},
		// Refused before anything is installed or started.
		{"a GUID twice", duplicate, "", "", ""},
		{"a GUID twice, back to back", twice, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := plugHosts(t, b, c.net, map[string]string{"pve1": "H-e41d2d0300e44ed0"})
			if c.console != "" {
				if err := f.Console(c.console); err != nil {
					t.Fatal(err)
				}
			}
			if c.command != "" {
				b.on(t, "pve1", c.command)
			}
			defer b.forget(t, "pve1")
			h := open(t, b, "pve1")
			_, err := opensm.Apply(t.Context(), h, opensm.Request{Host: "pve1", PortGUID: ib.GUID(node1 + 1), Priority: 3},
				opensm.Options{ProofTimeout: 8 * time.Second, Poll: 100 * time.Millisecond})
			if c.cause == "" {
				if err == nil || !strings.Contains(err.Error(), "SM019") ||
					!strings.Contains(err.Error(), "has twice: 0xe41d2d0300e44ed1") {
					t.Errorf("%v", err)
				}
				return
			}
			var not *opensm.NotServingError
			if !errors.As(err, &not) {
				t.Fatalf("%v", err)
			}
			if not.Cause.Kind != c.cause {
				t.Errorf("cause %s: %v\n%s", not.Cause.Kind, err, not.Log)
			}
		})
	}
}
