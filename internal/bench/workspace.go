package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// workspace is one configuration with the providers it uses.
type workspace struct {
	dir, engine string
	overrides   map[string]string // program by provider name
}

func (w *workspace) write(text string) error {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return err
	}
	// Development overrides need no init and no lock file.
	var rc strings.Builder
	rc.WriteString("provider_installation {\n  dev_overrides {\n")
	for name, program := range w.overrides {
		at := filepath.Join(w.dir, name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := os.Symlink(program, filepath.Join(at, "terraform-provider-"+name)); err != nil {
			return err
		}
		for _, registry := range []string{"registry.terraform.io", "registry.opentofu.org"} {
			fmt.Fprintf(&rc, "    %q = %q\n", registry+"/ibfabric/"+name, at)
		}
	}
	rc.WriteString("  }\n  direct {}\n}\n")
	if err := os.WriteFile(filepath.Join(w.dir, "rc"), []byte(rc.String()), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte(text), 0o600)
}
