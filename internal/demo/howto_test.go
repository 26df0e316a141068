package main

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// What a lab prints is about its own hosts, and about what its cards have.
func TestHowTo(t *testing.T) {
	t.Parallel()
	for _, name := range labs.Names() {
		l, err := open(t.TempDir(), name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		text := howTo(l, name, "/root", "/rc")
		if l.Machine(labs.Managers[name]) == nil || !strings.Contains(text, " "+labs.Managers[name]+" opensm-stop ") {
			t.Errorf("%s: no subnet manager is stopped:\n%s", name, text)
		}
		for word, want := range map[string]bool{
			"flash_slow": name == "crossflash", " exchange ": name != "point-to-point" && name != "qlogic",
			"link-type": name == "crossflash" || name == "oem", "unset TF_CLI_CONFIG_FILE": true,
		} {
			if strings.Contains(text, word) != want {
				t.Errorf("%s says %q: %t\n%s", name, word, !want, text)
			}
		}
	}
}
