package acctest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// Resources that name the place of a card, as an import without its serial number does,
// follow its exchange as those that name the card: all are replaced, and nothing is left
// of the old one.
func TestIdentity_exchangedAtItsPlace(t *testing.T) {
	t.Parallel()
	Engine(t)
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	byPlace, _ := writers(w, host, host+"/"+w.PCI(host))
	byRef, _ := writers(w, host, To("infiniband_card.it", "id"))
	byPlace, byRef = oneByOne(byPlace), oneByOne(byRef)
	first := Config{{Type: "infiniband_card", Name: "it",
		Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}}}
	accepting := first.With("infiniband_card.it", map[string]any{"expect": map[string]any{"serial_number": twinSerial}})
	RunSteps(t, []Step{
		{Config: HCL(w.Provider(), append(first, byPlace...))},
		{Before: func() { exchange(t, w, host) },
			Config: HCL(w.Provider(), append(accepting, byRef...)),
			Actions: map[string]string{"infiniband_guids.it": "delete, create", "infiniband_link_type.it": "delete, create",
				"infiniband_firmware.it": "delete, create", "infiniband_firmware_backup.it": "delete, create"},
			Check: func(s EngineState) error {
				for _, a := range writing {
					if who := s.Text(a, "card_identity"); !strings.Contains(who, twinSerial) {
						return fmt.Errorf("%s is of %s", a, who)
					}
				}
				return nil
			}},
		{Config: HCL(w.Provider(), append(accepting, byRef...)), Empty: true},
	}, nil)
}
