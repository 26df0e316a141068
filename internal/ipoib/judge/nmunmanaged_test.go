package judge

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/ipoibtest"
)

// An interface that NetworkManager's configuration takes from it is refused while planning, with
// the file to edit. What the daemon says itself counts more.
func TestCheck_unmanagedByNetworkManager(t *testing.T) {
	const globally, lab = "/usr/lib/NetworkManager/conf.d/10-globally-managed-devices.conf", "/etc/NetworkManager/conf.d/lab.conf"
	const ubuntu = "[keyfile]\nunmanaged-devices=*,except:type:wifi,except:type:gsm,except:type:cdma\n"
	manages := func(s *inventory.Snapshot) { s.Netdevs[1].NMKnown, s.Netdevs[1].NMManaged = true, true }
	for name, c := range map[string]struct {
		files  map[string]string
		change func(*inventory.Snapshot)
		says   string // empty: no finding
	}{
		"nothing":   {},
		"by name":   {files: map[string]string{lab: "[keyfile]\nunmanaged-devices=interface-name:ib*\n"}, says: "unmanaged-devices of " + lab + " is interface-name:ib*."},
		"by others": {files: map[string]string{lab: "[keyfile]\nunmanaged-devices=interface-name:docker*;driver:veth\n"}},
		"Ubuntu": {files: map[string]string{globally: ubuntu},
			says: "in " + globally + ", or add ;except:interface-name:ibp1s0 to the list. Then run systemctl reload NetworkManager"},
		"Ubuntu, with an empty file of its name": {files: map[string]string{globally: ubuntu,
			"/etc/NetworkManager/conf.d/10-globally-managed-devices.conf": ""}},
		"excepted later": {files: map[string]string{globally: ubuntu, lab: "[keyfile]\nunmanaged-devices+=except:type:infiniband\n"}},
		"all but others": {files: map[string]string{lab: "[keyfile]\nunmanaged-devices=except:type:ethernet\n"},
			says: "unmanaged-devices of " + lab + " is except:type:ethernet."},
		"by a section": {files: map[string]string{lab: "[device-lab]\nmatch-device=type:infiniband\nmanaged=0\n"},
			says: "[device-lab] of " + lab + " says managed=0"},
		"by a section that a later file overrides": {files: map[string]string{
			"/usr/lib/NetworkManager/conf.d/zz.conf": "[device-z]\nmanaged=0\n", lab: "[device]\nmanaged=1\n"}},
		"by a section for a driver that may be it": {files: map[string]string{
			lab: "[device]\nmatch-device=driver:mlx4_core\nmanaged=0\n"}, says: "It is not known whether driver:mlx4_core is"},
		"a driver that may be it": {files: map[string]string{lab: "[keyfile]\nunmanaged-devices=driver:mlx*\n"},
			says: "It is not known whether driver:mlx* is its driver."},
		"a file that cannot be read": {change: func(s *inventory.Snapshot) { s.Denied = map[string]bool{lab: true} },
			says: lab + " of intel9 could not be read"},
		"the daemon manages it": {files: map[string]string{lab: "[keyfile]\nunmanaged-devices=*\n"},
			change: manages, says: "NetworkManager of intel9 manages ibp1s0 until a restart at most: unmanaged-devices of " + lab},
		"the daemon manages what may be listed": {files: map[string]string{lab: "[keyfile]\nunmanaged-devices=driver:mlx*\n"},
			change: manages},
	} {
		t.Run(name, func(t *testing.T) {
			s := ipoibtest.Host(func(s *inventory.Snapshot) {
				s.Commands, s.Files = map[string]bool{"nmcli": true}, map[string]inventory.File{}
				s.Units = map[string]inventory.Unit{ipoib.NMUnit: {ActiveState: "active"}}
				for at, text := range c.files {
					s.Files[at] = inventory.File{Content: text}
				}
				if c.change != nil {
					c.change(s)
				}
			})
			var got []string
			for _, f := range checkOn(s, ipoib.Request{Host: "intel9", PortGUID: ipoibtest.Port,
				Config: ipoib.Config{Mode: "datagram", MTU: 2044, Addresses: ipoibtest.Prefixes("172.16.0.20/24")}}, PlanFacts{}) {
				if f.Rule == finding.NetworkFileNotRead {
					got = append(got, f.Detail())
				}
			}
			if c.says == "" && len(got) > 0 || c.says != "" && (len(got) != 1 || !strings.Contains(got[0], c.says)) {
				t.Errorf("%q, want %q", got, c.says)
			}
		})
	}
}
