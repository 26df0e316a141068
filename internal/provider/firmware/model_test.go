package firmware

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
)

// The backup of a burn is recorded by the apply that finds its job open, and by the one
// that creates the resource. That of an older burn is not.
func TestEarlierBackup_is_the_backup_of_an_open_burn(t *testing.T) {
	t.Parallel()
	done := hca.FirmwareState{JobBackup: "/backups/1"}
	for want, pending := range map[string][]journal.Report{
		"/backups/1": {{Kind: journal.GUIDs}, {Kind: journal.Burn}},
		"":           {{Kind: journal.GUIDs}},
	} {
		if got := earlierBackup(false, pending, done); got != want {
			t.Errorf("%v: %q, want %q", pending, got, want)
		}
	}
	if got := earlierBackup(false, nil, done); got != "" {
		t.Errorf("nothing is open: %q", got)
	}
	if got := earlierBackup(true, nil, done); got != "/backups/1" {
		t.Errorf("the first apply ended after the burn: %q", got)
	}
}
