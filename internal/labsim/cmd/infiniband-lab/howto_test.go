package main

import (
	"io"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// What a lab prints is about its own hosts, and about what its cards have.
func TestHowTo(t *testing.T) {
	t.Parallel()
	for _, name := range labs.Names() {
		l, err := source{name: name}.open(t.Context(), t.TempDir(), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		text := howTo(l, source{name: name}, hints{program: "infiniband-lab", examples: "/examples", rc: "/rc"})
		if l.Machine(labs.Managers[name]) == nil || !strings.Contains(text, "\n  infiniband-lab drift -dir "+l.Dir+" "+labs.Managers[name]+" opensm-stop ") {
			t.Errorf("%s: no subnet manager is stopped:\n%s", name, text)
		}
		for word, want := range map[string]bool{
			"flash_slow": name == "crossflash", "exchange-card -dir ": name != "point-to-point" && name != "qlogic",
			"link-type": name == "crossflash" || name == "oem", "unset TF_CLI_CONFIG_FILE": true,
			"cp -r /examples labs && cd labs/lab-" + name + " ": true,
		} {
			if strings.Contains(text, word) != want {
				t.Errorf("%s says %q: %t\n%s", name, word, !want, text)
			}
		}
		// Without a built provider and examples, the engine takes those that the user has.
		text = howTo(l, source{name: name}, hints{program: "infiniband-lab"})
		for _, word := range []string{"TF_CLI", "labs/lab-", "  terraform init"} {
			if strings.Contains(text, word) {
				t.Errorf("%s says %q:\n%s", name, word, text)
			}
		}
	}
}
