package acctest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// A host may print anything, and terraform output -raw writes a value to the terminal
// as it is. What a host says is shown and not done, and is no drift either.
func TestValues_of_a_hostile_host(t *testing.T) {
	t.Parallel()
	const title, erase = "\x1b]0;pwned\x07", "\x1b[2J"
	w := Start(t, Options{Hosts: vpi(func(h *labs.Host) {
		h.Cards[0].SerialNumber = "MT" + title + "0001"
	})})
	w.Put(labs.Intel9, "/etc/os-release", "ID=ubuntu\nVERSION_ID=\"24.04\"\nPRETTY_NAME=\"Ubuntu "+title+erase+"24.04\"\n")
	w.Put(labs.Intel9, "/etc/modprobe.d/other"+erase+".conf", "options mlx4_core port_type_array=1,1\n")
	w.Put(labs.Intel9, stateDir+"/changes", "failed\tid=x\twhat=opensm\tobject=port "+title+"\t.\n")
	ws := w.Workspace()
	cfg := append(Config{w.CrossFlash(labs.Intel9)[0]}, w.types(labs.Intel9, "ib", "ib")...)
	said := mustApply(t, ws, cfg[:1])
	said = append(said, mustPlan(t, ws, cfg).Diags...)
	emptyPlan(t, ws, cfg[:1])
	values := []string{said.String()}
	for _, r := range ws.State {
		values = append(values, fmt.Sprint(Decode(r.Value)))
	}
	for source, attrs := range map[string]map[string]any{"infiniband_host": {"host": labs.Intel9},
		"infiniband_cards": {"hosts": []any{labs.Intel9}}, "infiniband_history": {"host": labs.Intel9}} {
		value, diags, err := ws.Data(t.Context(), source, attrs)
		if err != nil || diags.HasError() {
			t.Fatalf("%s: %v\n%s", source, err, diags)
		}
		values = append(values, fmt.Sprint(value))
	}
	all := strings.Join(values, "\n")
	if strings.ContainsAny(all, "\x1b\x07") {
		t.Errorf("a sequence for a terminal is in a value or a message:\n%q", all)
	}
	if !strings.Contains(all, `Ubuntu \x1b]0;pwned\x07\x1b[2J24.04`) {
		t.Errorf("the name of the system is not shown:\n%q", all)
	}
	if !strings.Contains(all, `port \x1b]0;pwned\x07`) {
		t.Errorf("the record is not shown:\n%q", all)
	}
}
