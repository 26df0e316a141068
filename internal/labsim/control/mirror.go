package control

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// The version under which the built provider is offered to the engine.
const providerVersion = "0.1.0"

// WriteMirror lays the built provider out as a filesystem mirror in dir and writes
// the CLI configuration that makes either engine use it. Terraform and
// OpenTofu look the same source address up under different host names.
func WriteMirror(dir, provider string) (rc string, err error) {
	for _, registry := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		at := filepath.Join(dir, "mirror", registry, "ibfabric", "infiniband", providerVersion,
			runtime.GOOS+"_"+runtime.GOARCH)
		if err = os.MkdirAll(at, 0o755); err != nil {
			return "", err
		}
		data, bad := os.ReadFile(provider)
		if bad != nil {
			return "", bad
		}
		if err = os.WriteFile(filepath.Join(at, "terraform-provider-infiniband_v"+providerVersion), data, 0o755); err != nil {
			return "", err
		}
	}
	rc = filepath.Join(dir, "terraformrc")
	text := fmt.Sprintf(`disable_checkpoint = true
provider_installation {
  filesystem_mirror {
    path    = %q
    include = ["registry.terraform.io/ibfabric/*", "registry.opentofu.org/ibfabric/*"]
  }
  direct {
    exclude = ["registry.terraform.io/ibfabric/*", "registry.opentofu.org/ibfabric/*"]
  }
}
`, filepath.Join(dir, "mirror"))
	return rc, os.WriteFile(rc, []byte(text), 0o600)
}
