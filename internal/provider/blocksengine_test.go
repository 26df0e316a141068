package provider_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// folders runs the engine with the built provider, which needs no init, on
// configurations of one file.
type folders struct {
	t            *testing.T
	program, dir string
	n            int
}

func newFolders(t *testing.T) *folders {
	t.Helper()
	f := &folders{t: t, program: engine(t), dir: t.TempDir()}
	built := filepath.Join(f.dir, "terraform-provider-infiniband")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", built, "../..").CombinedOutput(); err != nil {
		t.Fatalf("build the provider: %v\n%s", err, out)
	}
	f.write(f.dir, "cli.tfrc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n"+
		"    \"registry.terraform.io/ibfabric/infiniband\" = %[1]q\n"+
		"    \"registry.opentofu.org/ibfabric/infiniband\" = %[1]q\n  }\n  direct {}\n}\n", f.dir))
	return f
}

func (f *folders) write(dir, name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// run gives a configuration a folder of its own, and what the engine says of it there.
func (f *folders) run(text string, env []string, args ...string) (at, said string, err error) {
	f.t.Helper()
	f.n++
	at = filepath.Join(f.dir, fmt.Sprint("folder", f.n))
	if err = os.Mkdir(at, 0o700); err != nil {
		f.t.Fatal(err)
	}
	if !strings.Contains(text, "required_providers") {
		text += "\nterraform {\n  required_providers {\n    infiniband = { source = \"ibfabric/infiniband\" }\n  }\n}\n"
	}
	f.write(at, "main.tf", text)
	cmd := exec.CommandContext(f.t.Context(), f.program, append(args, "-no-color")...)
	cmd.Dir = at
	cmd.Env = append(append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(f.dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1"), env...)
	out, err := cmd.CombinedOutput()
	return at, string(out), err
}

// moduleOfLab is the address of the module in a release, which a test has no way to.
const moduleOfLab = "github.com/ibfabric/terraform-provider-infiniband//examples/modules/lab?ref=v0.1.0"

// validate runs the engine's validate with the module of this tree.
func (f *folders) validate(text string) (at, said string, err error) {
	f.t.Helper()
	module, err := filepath.Abs("../../examples/modules/lab")
	if err != nil {
		f.t.Fatal(err)
	}
	local := strings.ReplaceAll(text, moduleOfLab, module)
	if local == text {
		return f.run(text, nil, "validate")
	}
	at, said, err = f.run(local, nil, "get")
	if err != nil {
		return at, said, err
	}
	cmd := exec.CommandContext(f.t.Context(), f.program, "validate", "-no-color")
	cmd.Dir, cmd.Env = at, append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(f.dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1")
	out, err := cmd.CombinedOutput()
	return at, string(out), err
}

// A configuration of a page is valid for the engine, too. The files of the examples
// are planned and applied by other tests; make test-tofu runs this with OpenTofu.
func TestAccBlocks_validate_configurations(t *testing.T) {
	f := newFolders(t)
	for file, text := range repository(t, []string{"README.md", ".github", "examples", "templates"}, isPage) {
		for _, b := range blocksOf(file, text) {
			body, err := parseHCL(b.text)
			if b.lang != "hcl" && b.lang != "terraform" || err != nil || len(body.Blocks) == 0 ||
				strings.Contains(b.text, "# …") { // parts of a configuration are for the judge alone
				continue
			}
			if body.Blocks[0].Type == "list" { // Terraform 1.14 reads it, from files of another name
				continue
			}
			if _, said, failed := f.validate(b.text); failed != nil {
				t.Errorf("%s: %v\n%s", b, failed, said)
			}
		}
	}
	if f.n < 3 {
		t.Errorf("found %d configurations", f.n)
	}
}

// A saved plan has no password that comes the way the page of security shows. It has one
// of an ordinary variable, as the page warns.
func TestAccBlocks_security_keeps_a_password_out_of_a_plan(t *testing.T) {
	f := newFolders(t)
	const page, word = "templates/guides/security.md", "correct-horse-battery"
	blocks := blocksOf(page, repository(t, []string{page}, isPage)[page])
	shown := blocks[0].text
	ordinary := strings.Replace(shown, "  ephemeral = true\n", "", 1)
	if len(blocks) != 1 || ordinary == shown {
		t.Fatalf("the page shows %d blocks, the first\n%s", len(blocks), shown)
	}
	// A plan without any change is saved, too.
	const change = "\noutput \"x\" {\n  value = 1\n}\n"
	for text, want := range map[string]bool{shown: false, ordinary: true} {
		at, said, err := f.run(text+change, []string{"TF_VAR_sudo_password=" + word}, "plan", "-input=false", "-out=saved")
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		if got := zipHolds(t, filepath.Join(at, "saved"), word); got != want || strings.Contains(said, word) {
			t.Errorf("the saved plan has the password: %t, expected %t, with\n%s\n%s", got, want, text, said)
		}
	}
}

// zipHolds reports whether a file in an archive holds a word.
func zipHolds(t *testing.T, file, word string) (holds bool) {
	t.Helper()
	archive, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range archive.File {
		r, bad := entry.Open()
		if bad != nil {
			t.Fatal(bad)
		}
		text, bad := io.ReadAll(r)
		if bad = errors.Join(bad, r.Close()); bad != nil {
			t.Fatal(bad)
		}
		holds = holds || strings.Contains(string(text), word)
	}
	if err = archive.Close(); err != nil {
		t.Fatal(err)
	}
	return holds
}
