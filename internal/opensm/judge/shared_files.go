package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
)

// checkSharedPartitions is about the partition file that opensm reads by default.
func checkSharedPartitions(l *found.Look) []finding.Finding {
	var all []finding.Finding
	if l.Shared.StandardUnread {
		all = append(all, finding.PartitionFileUnmanaged.Find("%s of %s could not be read, so that its partitions are "+
			"not known.", l.Shared.StandardPath, l.Host))
	}
	if l.Shared.StandardThere && !l.Shared.StandardPlain {
		f := finding.PartitionFileUnmanaged.Find("%s of %s.", l.Shared.StandardPath, l.Host)
		if err := l.Shared.StandardError; err != nil {
			f.Evidence += fmt.Sprintf(" It has an error (%v), so opensm ignores the whole file: every port is a full member "+
				"of one partition.", err)
		}
		all = append(all, f)
	}
	return all
}

// checkSharedOptions is about the options file that an instance of the distribution reads and
// ours does not.
func checkSharedOptions(l *found.Look, d opensm.Request) []finding.Finding {
	var all []finding.Finding
	for _, path := range l.Shared.Unread {
		f := finding.FabricKeysDropped.Find("%s of %s could not be read, so that it is not known whether it sets keys.",
			path, l.Host)
		all = append(all, f.WithWayOut("Fix what keeps "+path+" from being read, then plan again. "+f.WayOut))
	}
	secret := map[string]bool{}
	for _, key := range l.Shared.KeysOfAll {
		if fact.No(key.Set) {
			continue
		}
		secret[key.Name] = true
		if isKept(l, key.Key, d) {
			continue
		}
		all = append(all, finding.FabricKeysDropped.Find("%s of %s sets %s%s. This resource would start the subnet "+
			"manager with a file of options of its own, without it.", key.Path, l.Host, key.Name, describeUnclear(key.Key)))
	}
	chosen := slices.DeleteFunc(findUncarried(l, d), func(name string) bool { return secret[name] })
	if len(chosen) > 0 {
		all = append(all, finding.OpensmConfIgnored.Find("%s of %s sets %s, and this resource does not say the "+
			"same.", l.Shared.ConfPath, l.Host, strings.Join(chosen, ", ")))
	}
	return all
}

// findUncarried are the settings of a shared opensm.conf that d does not have as well.
func findUncarried(l *found.Look, d opensm.Request) []string {
	same := d.Conf()
	// Our partitions have a file of their own, so that another path alone is no difference.
	same.PartitionFile = ""
	if all := l.Shared.Partitions; len(all) > 0 && opensm.PartitionText(all) == opensm.PartitionText(d.Partitions) {
		same.PartitionFile = l.Shared.Conf.PartitionFile
	}
	return l.Shared.Conf.Uncarried(d.PortGUID, same)
}
