//go:build testbed && linux

package testbed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// Stacks are what can configure the network of a host of Bookworm or Trixie.
var Stacks = []labsim.Stack{
	labsim.StackNetplan, labsim.StackNetplanNM, labsim.StackNetworkManager, labsim.StackIfupdown, labsim.StackNetworkd,
}

// uplink is the interface by which every host is reached. Where a stack is on
// trial that stack configures it, as on a real host.
const uplink = "eno1"

// choice is how a stack is taken into use on a system that has all of them.
type choice struct {
	files  map[string]string // %[1]s is the host's address, %[2]s its gateway
	masked []string
	wants  map[string]string // unit by the target that starts it
}

const (
	nmUnit         = "NetworkManager.service"
	networkdUnit   = "systemd-networkd.service"
	networkdSocket = "systemd-networkd.socket"
	ifupdownUnit   = "networking.service"
)

// Debian starts NetworkManager and ifupdown where they are installed, networkd
// not, and netplan has the service started that it writes for.
var choices = map[labsim.Stack]choice{
	labsim.StackNetplan: {
		files:  map[string]string{"etc/netplan/01-host.yaml": planHost("networkd")},
		masked: []string{nmUnit, ifupdownUnit},
	},
	labsim.StackNetplanNM: {
		files:  map[string]string{"etc/netplan/01-host.yaml": planHost("NetworkManager")},
		masked: []string{networkdUnit, networkdSocket, ifupdownUnit},
	},
	labsim.StackNetworkManager: {
		files: map[string]string{"etc/NetworkManager/system-connections/eno1.nmconnection": "[connection]\nid=eno1\ntype=ethernet\ninterface-name=eno1\n\n" +
			"[ipv4]\nmethod=manual\naddress1=%[1]s/24,%[2]s\n\n[ipv6]\nmethod=disabled\n"},
		masked: []string{networkdUnit, networkdSocket},
	},
	labsim.StackIfupdown: {
		files: map[string]string{"etc/network/interfaces": "source /etc/network/interfaces.d/*\n\nauto lo\niface lo inet " +
			"loopback\n\nauto eno1\niface eno1 inet static\n    address %[1]s/24\n    gateway %[2]s\n"},
		masked: []string{nmUnit, networkdUnit, networkdSocket},
	},
	labsim.StackNetworkd: {
		files:  map[string]string{"etc/systemd/network/10-eno1.network": "[Match]\nName=eno1\n\n[Network]\nAddress=%[1]s/24\nGateway=%[2]s\n"},
		masked: []string{nmUnit, ifupdownUnit},
		wants:  map[string]string{networkdUnit: "multi-user.target", networkdSocket: "sockets.target"},
	},
}

func planHost(renderer string) string {
	return "network:\n  version: 2\n  renderer: " + renderer + "\n  ethernets:\n    eno1:\n" +
		"      addresses: [%[1]s/24]\n      routes: [{to: default, via: %[2]s}]\n"
}

// chooseStack has the host's own stack configure its network at boot.
func (h *Host) chooseStack() error {
	if h.stack == "" {
		return nil
	}
	c, ok := choices[h.stack]
	if !ok {
		return fmt.Errorf("no such network stack: %s", h.stack)
	}
	for name, text := range c.files {
		// netplan complains of what others may read and NetworkManager ignores it,
		// whereas networkd is one of those others.
		mode := os.FileMode(0o600)
		if strings.HasPrefix(name, "etc/systemd/") {
			mode = 0o644
		}
		if err := writeFile(filepath.Join(h.path("root"), name), fmt.Sprintf(text, h.Addr, h.gateway()), mode); err != nil {
			return err
		}
	}
	units := filepath.Join(h.path("root"), "etc/systemd/system")
	links := map[string]string{}
	for _, unit := range c.masked {
		links[unit] = "/dev/null"
	}
	for unit, target := range c.wants {
		links[target+".wants/"+unit] = "/lib/systemd/system/" + unit
	}
	for name, target := range links {
		at := filepath.Join(units, name)
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
