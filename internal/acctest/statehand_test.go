package acctest

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// A state that somebody has edited into nonsense is said to be the cause, with the way out. The
// framework would call it an error of the provider, and a parser would name only a value.
func TestState_editedIntoNonsense(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	w := Start(t, Options{})
	w.Install(host, "infiniband-diags")
	ws := w.Workspace()
	cfg := append(w.CrossFlash(host), Resource{Type: "infiniband_port", Name: "it", After: []string{"infiniband_opensm." + host},
		Attrs: map[string]any{"card_id": host + "/" + w.PCI(host), "port": 1}})
	mustApply(t, ws, cfg)
	for address, attributes := range map[string][]string{
		"infiniband_card." + host:            {"id"},
		"infiniband_firmware." + host:        {"card_id"},
		"infiniband_guids." + host:           {"card_id"},
		"infiniband_link_type." + host:       {"card_id"},
		"infiniband_opensm." + host:          {"id", "port_guid"},
		"infiniband_ipoib_interface." + host: {"id", "port_guid"},
		"infiniband_port.it":                 {"card_id"},
	} {
		for _, attribute := range attributes {
			for _, value := range []any{"x", "///", "", nil} {
				now := ws.State[address]
				if now == nil {
					t.Fatalf("%s is not in the state", address)
				}
				broken := *now
				broken.Identity = nil
				var err error
				broken.Value, err = tftypes.Transform(now.Value, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
					if at.Equal(tftypes.NewAttributePath().WithAttributeName(attribute)) {
						return tftypes.NewValue(tftypes.String, value), nil
					}
					return v, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				ws.State[address] = &broken
				plan := mustPlan(t, ws, cfg)
				if len(plan.Diags.Errors().Find("The state is not as this provider writes it", "terraform state rm")) != 1 {
					t.Errorf("%s with %s = %v:\n%s", address, attribute, value, plan.Diags.Errors())
				}
				ws.State[address] = now
			}
		}
	}
	emptyPlan(t, ws, cfg)
}
