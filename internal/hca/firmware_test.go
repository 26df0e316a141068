package hca

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

func TestJobBackup_is_that_of_the_burn_the_flash_comes_from(t *testing.T) {
	job := func(id, exit, psid, backup, purpose string) *inventory.Job {
		return &inventory.Job{ID: id, Kind: KindBurn, Exit: exit, Request: map[string]string{
			"to_psid": psid, "to_fw": vpiVersion.String(), "backup_path": backup, "purpose": purpose,
		}}
	}
	guids := &inventory.Job{ID: "g", Kind: KindGUIDs, Exit: "0", Request: map[string]string{}}
	for name, c := range map[string]struct {
		jobs []*inventory.Job
		want string
	}{
		"none":                   {nil, ""},
		"burned":                 {[]*inventory.Job{job("1", "0", card.PSIDVPI, "a", ""), guids}, "a"},
		"other firmware failed":  {[]*inventory.Job{job("1", "0", card.PSIDVPI, "a", ""), job("2", "1", card.PSIDOther, "b", "")}, "a"},
		"failed, then succeeded": {[]*inventory.Job{job("1", "1", card.PSIDVPI, "a", ""), job("2", "0", card.PSIDVPI, "b", "")}, "b"},
		"again, and failed":      {[]*inventory.Job{job("1", "0", card.PSIDVPI, "a", ""), job("2", "1", card.PSIDVPI, "b", "")}, "a"},
		"interrupted at the end": {[]*inventory.Job{job("1", "", card.PSIDVPI, "a", "")}, "a"},
		"restored":               {[]*inventory.Job{job("1", "0", card.PSIDVPI, "a", ""), job("2", "0", card.PSIDVPI, "b", purposeRestore)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := jobBackup(c.jobs, safety.Flash{PSID: card.PSIDVPI, FW: vpiVersion}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
