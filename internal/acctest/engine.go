package acctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tofuRegistry is where OpenTofu looks up a provider that Terraform looks up at
// registry.terraform.io.
const tofuRegistry = "registry.opentofu.org"

// UseEngine tells the testing library which engine to run, for the whole
// process: TF_ACC_TERRAFORM_PATH, else what is on PATH. Without it the library
// would download one.
func UseEngine() {
	file := os.Getenv("TF_ACC_TERRAFORM_PATH")
	for _, name := range []string{"terraform", "tofu"} {
		if found, err := exec.LookPath(name); file == "" && err == nil {
			file = found
		}
	}
	if file == "" {
		return
	}
	_ = os.Setenv("TF_ACC_TERRAFORM_PATH", file)
	if os.Getenv("TF_ACC_PROVIDER_HOST") == "" && strings.HasPrefix(filepath.Base(file), "tofu") {
		_ = os.Setenv("TF_ACC_PROVIDER_HOST", tofuRegistry)
	}
}

// Engine is the path of the engine that UseEngine found; without one the test is
// skipped.
func Engine(t testing.TB) string {
	t.Helper()
	file := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if file == "" {
		t.Skip("needs terraform or tofu on PATH or in TF_ACC_TERRAFORM_PATH; make test builds one")
	}
	return file
}
