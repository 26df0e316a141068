package hostcheck

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Semaphore is the way out of a flash semaphore that is set. A tool that was killed
// leaves it set; the next query frees it when it gives up (mstflint 4.21 and 4.31). The
// provider never clears it, because it cannot see who else may hold it.
func Semaphore(pci ib.PCIAddress) string {
	return fmt.Sprintf("Another program reads or writes the card, or a tool was killed while it did.\n"+
		"1. Make sure on the host that no program uses the card: pgrep -a 'mst|flint|fwupd' names no process, and no "+
		"management controller is updating the card.\n"+
		"2. Plan again. A query that fails frees a semaphore that was left behind, so that the next one works.\n"+
		"3. If it still fails, clear the semaphore: mstflint -clear_semaphore -d %[1]s\n"+
		"4. Look at the card: mstflint -d %[1]s q, then mstflint -d %[1]s v. Do not restart the host before the flash "+
		"verifies.", pci)
}

// DeadSemaphore is the way out where a tool that was killed holds a card of the later chips, by one of
// two semaphores. Neither is freed blindly: nobody sees who else may hold it.
func DeadSemaphore(pci ib.PCIAddress) string {
	return fmt.Sprintf("A tool that was killed may have left a semaphore of the card set. If that was mstfwreset, the "+
		"PCI link of the card may be down: restart the host.\n"+
		"1. Make sure on the host that no program uses the card: pgrep -a 'mst|flint|fwupd' names no process, and no "+
		"management controller is updating the card.\n"+
		"2. Free the semaphore of the configuration space: mstmcra -c %[1]s. mstflint -clear_semaphore does not.\n"+
		"3. Plan again. If mstflint still takes more than a minute, the command interface of the card is held, which no "+
		"command frees. Look at the card, with patience: mstflint -d %[1]s v. If the flash verifies, restart the host, "+
		"which resets the card.", pci)
}
