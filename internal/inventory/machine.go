package inventory

import (
	"regexp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

const machineIDPath = "/etc/machine-id"

var machineIDForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// machineID reads /etc/machine-id. A system that has not finished its first boot
// has an empty file, or one that says "uninitialized".
func machineID(a *collect.Answer) fact.Of[string] {
	v, ok := a.Values[machineIDPath]
	switch {
	case a.Denied[machineIDPath]:
		return fact.Unknown[string](machineIDPath + " cannot be read")
	case !ok:
		return fact.Unknown[string]("there is no " + machineIDPath)
	case !machineIDForm.MatchString(v.Text):
		return fact.Unknown[string](machineIDPath + " holds no id")
	}
	return fact.Known(v.Text)
}

// SameMachine reports whether two snapshots, taken through two names, are of
// one machine. One fact does not do: cloned disks share the machine id, and
// containers share the boot id of their kernel. Where the machine id of one is
// unknown, the boot id and the cards decide. It is unknown if the machine id is
// the same and the boot id is not: a clone, or a restart between the two looks.
func SameMachine(a, b *Snapshot) fact.Bool {
	idA, knownA := a.MachineID.Get()
	idB, knownB := b.MachineID.Get()
	bothKnown := knownA && knownB
	switch {
	case bothKnown && idA != idB, otherCards(a, b):
		return fact.Known(false)
	case a.BootID == b.BootID && (bothKnown || sameSerial(a, b)):
		return fact.Known(true)
	case a.BootID == b.BootID:
		why := a.MachineID.Why()
		if why == "" {
			why = b.MachineID.Why()
		}
		return fact.Unknown[bool](why)
	case bothKnown:
		return fact.Unknown[bool]("they have one machine id and different boot ids: a cloned disk, or a restart between the two looks")
	}
	return fact.Known(false)
}

// otherCards reports whether one slot holds different cards in the two.
func otherCards(a, b *Snapshot) bool {
	for i := range a.Cards {
		mine := &a.Cards[i]
		other, ok := b.Card(mine.PCI)
		if ok && mine.SerialNumber != "" && other.SerialNumber != "" && mine.SerialNumber != other.SerialNumber {
			return true
		}
	}
	return false
}

func sameSerial(a, b *Snapshot) bool {
	for i := range a.Cards {
		mine := &a.Cards[i]
		other, ok := b.Card(mine.PCI)
		if ok && mine.SerialNumber != "" && mine.SerialNumber == other.SerialNumber {
			return true
		}
	}
	return false
}
