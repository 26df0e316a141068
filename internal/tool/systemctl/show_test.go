package systemctl

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

func TestParseShow(t *testing.T) {
	// The order of properties is systemd's own, whatever was asked for.
	const output = `Id=opensm.service
LoadState=loaded
ActiveState=active
SubState=exited
UnitFileState=enabled
ActiveEnterTimestamp=Sat 2026-11-21 08:52:11 UTC
ActiveEnterTimestampMonotonic=1500000

LoadState=not-found
Id=NetworkManager.service
ActiveState=inactive
SubState=dead
UnitFileState=
ActiveEnterTimestamp=
`
	got, err := ParseShow(output)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]inventory.Unit{
		"opensm.service": {LoadState: "loaded", ActiveState: "active", UnitFileState: "enabled",
			Started: inventory.Start{At: time.Date(2026, 11, 21, 8, 52, 11, 0, time.UTC), After: 1500 * time.Millisecond}},
		"NetworkManager.service": {LoadState: "not-found", ActiveState: "inactive"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if none, err := ParseShow(""); err != nil || len(none) != 0 {
		t.Errorf("no unit: %v, %v", none, err)
	}
	for name, bad := range map[string]string{
		"a message":           "Failed to connect to bus: Host is down\n",
		"a block without id":  "LoadState=loaded\n\n" + output,
		"a last without id":   output + "\nLoadState=loaded\n",
		"a line without sign": output + "\nId\n",
	} {
		if _, err := ParseShow(bad); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}
