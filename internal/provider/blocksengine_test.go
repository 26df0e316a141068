package provider_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A configuration of a page is valid for the engine, too. The files of the examples
// are planned and applied by other tests; make test-tofu runs this with OpenTofu.
func TestBlocks_engine_validates_configurations(t *testing.T) {
	engine(t)
	program := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if program == "" {
		program = "terraform"
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "terraform-provider-infiniband"), "../..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the provider: %v\n%s", err, out)
	}
	rc := filepath.Join(dir, "cli.tfrc")
	overrides := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"registry.terraform.io/ibfabric/infiniband\" = %[1]q\n"+
		"    \"registry.opentofu.org/ibfabric/infiniband\" = %[1]q\n  }\n  direct {}\n}\n", dir)
	if err := os.WriteFile(rc, []byte(overrides), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for file, text := range repository(t, []string{"README.md", ".github", "examples", "templates"}, isPage) {
		for _, b := range blocksOf(file, text) {
			body, err := parseHCL(b.text)
			if b.lang != "hcl" && b.lang != "terraform" || err != nil || len(body.Blocks) == 0 ||
				strings.Contains(b.text, "# …") { // parts of a configuration are for the judge alone
				continue
			}
			seen++
			at := filepath.Join(dir, fmt.Sprint("block", seen))
			if !strings.Contains(b.text, "required_providers") {
				b.text += "\nterraform {\n  required_providers {\n    infiniband = { source = \"ibfabric/infiniband\" }\n  }\n}\n"
			}
			if err = errors.Join(os.Mkdir(at, 0o700), os.WriteFile(filepath.Join(at, "main.tf"), []byte(b.text), 0o600)); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), program, "validate", "-no-color")
			cmd.Dir, cmd.Env = at, append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1")
			if out, failed := cmd.CombinedOutput(); failed != nil {
				t.Errorf("%s: %v\n%s", b, failed, out)
			}
		}
	}
	if seen < 3 {
		t.Errorf("found %d configurations", seen)
	}
}
