package acctest

import "fmt"

// OfferVirtualFunctions has the first card of a host offer virtual functions, as after a restart with these settings.
func (w *Lab) OfferVirtualFunctions(host string, number int) {
	w.t.Helper()
	w.Run(host, fmt.Sprintf("mstconfig -y -d %s set SRIOV_EN=1 NUM_OF_VFS=%d", w.PCI(host), number))
	w.Restart(host)
}
