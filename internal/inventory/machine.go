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
// one machine. One fact does not do: cloned disks share the machine id,
// containers share the boot id of their kernel, and a machine may have been
// restarted between the two looks.
func SameMachine(a, b *Snapshot) fact.Bool {
	idA, knownA := a.MachineID.Get()
	idB, knownB := b.MachineID.Get()
	sameID, sameBoot, sameCard := knownA && knownB && idA == idB, a.BootID == b.BootID, sameSerial(a, b)
	switch {
	case knownA && knownB && !sameID, !sameID && !sameBoot && !sameCard, otherCards(a, b):
		return fact.Known(false)
	case sameID && (sameBoot || sameCard), sameBoot && sameCard:
		return fact.Known(true)
	case sameID:
		return fact.Unknown[bool]("they have one machine id, but different boot ids and no card whose serial number can be read")
	case !knownA:
		return fact.Unknown[bool](a.MachineID.Why())
	}
	return fact.Unknown[bool](b.MachineID.Why())
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
