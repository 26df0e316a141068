package opensm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// checkSharedPartitions is about the partition file that opensm reads by default.
func checkSharedPartitions(s *inventory.Snapshot) []finding.Finding {
	var found []finding.Finding
	path := layoutOf(s).files.Partitions
	if s.Denied[path] {
		found = append(found, finding.PartitionFileUnmanaged.Find("%s of %s could not be read, so that its partitions are "+
			"not known.", path, s.Host))
	}
	if _, there := s.Files[path]; there {
		f := finding.PartitionFileUnmanaged.Find("%s of %s.", path, s.Host)
		if _, err := opensm.ParsePartitions(s.Files[path].Content); err != nil {
			f.Evidence += fmt.Sprintf(" It has an error (%v), so opensm ignores the whole file: every port is a full member "+
				"of one partition.", err)
		}
		found = append(found, f)
	}
	return found
}

// checkShared is about the options file that an instance of the distribution reads and
// ours does not.
func checkShared(s *inventory.Snapshot, d Request) []finding.Finding {
	var found []finding.Finding
	for _, path := range opensm.SharedConf {
		if s.Denied[path] {
			f := finding.FabricKeysDropped.Find("%s of %s could not be read, so that it is not known whether it sets keys.",
				path, s.Host)
			found = append(found, f.WithWayOut("Fix what keeps "+path+" from being read, then plan again. "+f.WayOut))
		}
	}
	// Which file an opensm that was built by hand reads is not known: keys count in each.
	secret := map[string]bool{}
	for _, path := range opensm.SharedConf {
		for _, key := range opensm.Keys(s.Files[path].Content) {
			if fact.No(key.Set) {
				continue
			}
			secret[key.Name] = true
			found = append(found, finding.FabricKeysDropped.Find("%s of %s sets %s%s. This resource would start the subnet "+
				"manager with a file of options of its own, without it.", path, s.Host, key.Name, unclear(key)))
		}
	}
	path, text := sharedConf(s)
	chosen := slices.DeleteFunc(uncarried(s, d, text), func(name string) bool { return secret[name] })
	if len(chosen) > 0 {
		found = append(found, finding.OpensmConfIgnored.Find("%s of %s sets %s, and this resource does not say the "+
			"same.", path, s.Host, strings.Join(chosen, ", ")))
	}
	return found
}
