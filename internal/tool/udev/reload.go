// Package udev builds the commands of udevadm, and writes and reads the rule that sets modes of IPoIB.
//
// It must not run anything.
package udev

import "github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"

// Reload has udev read its rules again; devices that are there are not touched.
func Reload() shellcmd.Command {
	return shellcmd.New("udevadm", "control", "--reload").AsRoot().Changes()
}
