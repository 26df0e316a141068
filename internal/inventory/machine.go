package inventory

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
)

// SameMachine reports whether two snapshots, taken through two names, are of
// one machine. One fact does not do: cloned disks share the machine id,
// containers share the boot id of their kernel, and a machine may have been
// restarted between the two looks.
func SameMachine(a, b *Snapshot) fact.Bool {
	sameBoot, sameCard := a.BootID == b.BootID, sameSerial(a, b)
	idA, knownA := a.MachineID.Get()
	idB, knownB := b.MachineID.Get()
	switch {
	// A difference decides before any likeness: the same serial number in one slot is proof, another one is too.
	case otherCards(a, b), knownA && knownB && idA != idB:
		return fact.Known(false)
	case !knownA:
		return byCards(sameBoot, sameCard, a.MachineID.Why())
	case !knownB:
		return byCards(sameBoot, sameCard, b.MachineID.Why())
	case sameBoot || sameCard:
		return fact.Known(true)
	}
	return fact.Unknown[bool]("they have one machine id, but different boot ids and no card whose serial number can be " +
		"read")
}

// byCards answers where the machine id of one is not known.
func byCards(sameBoot, sameCard bool, why string) fact.Bool {
	switch {
	case sameBoot && sameCard:
		return fact.Known(true)
	case sameBoot || sameCard:
		return fact.Unknown[bool](why)
	}
	return fact.Known(false)
}

// otherCards reports whether one slot holds different cards in the two.
func otherCards(a, b *Snapshot) bool {
	for i := range a.Cards {
		mine := &a.Cards[i]
		other, ok := b.Card(mine.PCI)
		if ok && mine.Serial.Known() && other.Serial.Known() && mine.Serial != other.Serial {
			return true
		}
	}
	return false
}

func sameSerial(a, b *Snapshot) bool {
	for i := range a.Cards {
		mine := &a.Cards[i]
		other, ok := b.Card(mine.PCI)
		if ok && mine.Serial.Known() && mine.Serial == other.Serial {
			return true
		}
	}
	return false
}
