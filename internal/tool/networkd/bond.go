package networkd

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// RenderBond writes the .netdev file of an active-backup bond. Linux takes IPoIB in no other mode, and
// forces the policy of the hardware address (bond_enslave, 5.10 to 6.12).
func RenderBond(header, name string) string {
	return header + fmt.Sprintf("[NetDev]\nName=%s\nKind=bond\n\n[Bond]\nMode=active-backup\nMIIMonitorSec=100ms\n"+
		"FailOverMACPolicy=active\nPrimaryReselectPolicy=always\n", name)
}

// RenderBondPort writes the .network file of a port of a bond. primary is the one that carries
// whenever it can. The MTU is that of the bond, which the kernel gives to its ports.
func RenderBondPort(header, name, bond string, primary bool) string {
	text := header + fmt.Sprintf("[Match]\nName=%s\n\n[Link]\nRequiredForOnline=no\n\n[Network]\nBond=%s\n"+
		"LinkLocalAddressing=no\n", name, bond)
	if primary {
		text += "PrimarySlave=yes\n"
	}
	return text
}

// AddedBeside are the settings of a file of a bond that our text of it does not have. Names are left to
// the comparison of what it lacks.
func AddedBeside(ours, text string) []tool.Setting {
	return addedTo(ours, []string{"Match.Name", "NetDev.Name", "Network.Bond"}, text)
}
