package infiniband

import "github.com/ibfabric/terraform-provider-infiniband/internal/labsim"

// ReadPartitions reads a partition file of a machine.
func ReadPartitions(m *labsim.Machine, file string) PartitionFile {
	return PartitionFile{stateOf(m).readPartitions(file, func(string) {})}
}

// PartitionFile is a partition file for the tests.
type PartitionFile struct{ file partitionFile }

// Give has a subnet manager work with the file.
func (f PartitionFile) Give(sm *labsim.SM) { f.file.give(sm) }

// Reread is what SIGHUP changes.
func (f PartitionFile) Reread(sm *labsim.SM) { f.file.keepGroups(sm.Groups()).give(sm) }
