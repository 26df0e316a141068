//go:build testbed && linux

package testbed

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/netstack"
)

// uplink is the interface by which every host is reached. Where a stack is on
// trial that stack configures it, as on a real host.
const uplink = "eno1"

// chooseStack has the host's own stack configure its network at boot.
func (h *Host) chooseStack() error {
	if h.stack == "" {
		return nil
	}
	c, err := netstack.Choose(h.stack, netstack.Uplink{Name: uplink, Address: h.Addr + "/24", Gateway: h.gateway()})
	if err != nil {
		return err
	}
	for name, f := range c.Files {
		if err := writeFile(h.path("root"+name), f.Text, os.FileMode(f.Mode)); err != nil {
			return err
		}
	}
	for name, target := range c.Links {
		at := h.path("root" + name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // a system's own directories
			return err
		}
		_ = os.Remove(at)
		if err := os.Symlink(target, at); err != nil {
			return err
		}
	}
	// The first process sees no devices in a container, and what udev starts for an
	// interface (ifup@.service) would wait for one for a minute and a half of each boot.
	if err := writeFile(filepath.Join(h.path("root"), "etc/systemd/system.conf.d/testbed.conf"),
		"[Manager]\nDefaultDeviceTimeoutSec=1s\n", 0o644); err != nil {
		return err
	}
	return h.disguise()
}

// gateway is the operator's end of the host's cable.
func (h *Host) gateway() string { return strings.TrimSuffix(h.Addr, ".2") + ".1" }
