//go:build testbed && linux

package testbed

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// shimSource is a library for every program of a host with IPoIB interfaces. What
// it does is said in it.
//
//go:embed shim/ipoib.c
var shimSource string

// shim compiles the library, once for all hosts. It needs nothing of the C
// library that Debian 12 does not have.
var shim = sync.OnceValues(func() ([]byte, error) {
	source, library := filepath.Join(runDir, "ipoib.c"), filepath.Join(runDir, "ipoib.so")
	if err := writeFile(source, shimSource, 0o600); err != nil {
		return nil, err
	}
	if err := command("cc", "-shared", "-fPIC", "-O1", "-o", library, source); err != nil {
		return nil, fmt.Errorf("testbed: compile what makes interfaces look like IPoIB: %w", err)
	}
	return os.ReadFile(library)
})

// disguise has all programs of the host see its interfaces through the library.
func (h *Host) disguise() error {
	const at = "usr/lib/testbed/ipoib.so"
	library, err := shim()
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(h.path("root"), at), string(library), 0o755); err != nil {
		return err
	}
	return writeFile(filepath.Join(h.path("root"), "etc/ld.so.preload"), "/"+at+"\n", 0o644)
}
