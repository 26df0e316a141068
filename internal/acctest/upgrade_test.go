package acctest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keepStates names the version whose states are kept: run once for each release.
var keepStates = flag.String("keep-states", "", "write the states of this version below testdata/states")

// ownValues are the values of a state that each run of the lab has of its own, by the
// names that stand for them in a kept state.
func ownValues(t *testing.T, w *Lab, state []byte) map[string]string {
	t.Helper()
	var kept struct {
		Version   string `json:"terraform_version"`
		Resources []struct {
			Type      string
			Instances []struct{ Attributes map[string]any }
		}
	}
	if err := json.Unmarshal(state, &kept); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"@image@": w.Image(ImageVPI), "@engine@": kept.Version, "@picture@": w.pictureFile()}
	for _, r := range kept.Resources {
		if r.Type == "infiniband_firmware_backup" {
			values["@backup@"] = fmt.Sprint(r.Instances[0].Attributes["image_path"])
			values["@taken@"] = fmt.Sprint(r.Instances[0].Attributes["taken"])
		}
	}
	if len(values) != 5 {
		t.Fatalf("the state holds no backup:\n%s", state)
	}
	return values
}

// of leaves the kinds that a state has: later versions have more. What follows one that is left out follows what that
// one does.
func (c Config) of(state string) (stored Config) {
	gone := map[string][]string{}
	for _, r := range c {
		if len(r.After) == 1 && gone[r.After[0]] != nil {
			r.After = gone[r.After[0]]
		}
		if strings.Contains(state, fmt.Sprintf(`"type": %q`, r.Type)) {
			stored = append(stored, r)
		} else {
			gone[r.Address()] = r.After
		}
	}
	return stored
}

// A state that a released version has stored is read by this one, and its plan is
// empty: on every system, with one resource of each kind.
func TestUpgrade_states_of_released_versions(t *testing.T) {
	t.Parallel()
	built := buildProvider(t)
	for _, system := range everySystem {
		t.Run(string(system), func(t *testing.T) {
			t.Parallel()
			w, cfg := startWithEveryKind(t, system)
			o := newOperator(t, w, cfg, built)
			o.says(0, "apply", "-auto-approve")
			own, err := os.ReadFile(filepath.Join(o.dir, "terraform.tfstate"))
			if err != nil {
				t.Fatal(err)
			}
			var name, value []string // as a replacer wants them
			for n, v := range ownValues(t, w, own) {
				name, value = append(name, n, v), append(value, v, n)
			}
			if *keepStates != "" {
				dir := filepath.Join("testdata/states", *keepStates)
				if err = errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, string(system)+".json"),
					[]byte(strings.NewReplacer(value...).Replace(string(own))), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			kept, err := filepath.Glob("testdata/states/*/" + string(system) + ".json")
			if err != nil || len(kept) == 0 {
				t.Fatalf("no state of a released version is kept: %v", err)
			}
			for _, file := range kept {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				o.write("main.tf", Required+HCL(w.Provider(), cfg.of(string(text))))
				o.write("terraform.tfstate", strings.NewReplacer(name...).Replace(string(text)))
				if said := o.says(0, "plan", "-detailed-exitcode"); !strings.Contains(said, "No changes.") {
					t.Errorf("%s:\n%s", file, said)
				}
			}
		})
	}
}
