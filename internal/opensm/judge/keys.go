package judge

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
)

// Closed is the lowest protection level of an M_Key at which ports answer nobody without it.
const Closed = 2

// ChangesKeys reports whether d has other keys than the instance on the port, as their versions tell.
func ChangesKeys(l *found.Look, d opensm.Request) bool { return l.FabricKeys.Version != d.Keys.Version }

// checkKeys is about the keys that d sets. No text has one of them.
func checkKeys(l *found.Look, d opensm.Request, p PlanFacts, diff []string) []finding.Finding {
	var all []finding.Finding
	if other := p.OtherKeys; other != nil {
		all = append(all, finding.FabricKeysDiffer.Find("The keys of %s on %s differ from those of %s on %s.", d.PortGUID,
			d.Host, other.PortGUID, other.Host))
	}
	same := l.FabricKeys
	// These two are no secrets, and are compared as settings.
	same.Protection, same.Lease = d.Keys.Protection, d.Keys.Lease
	switch {
	case d.Keys.Known && !ChangesKeys(l, d) && d.Keys != same:
		all = append(all, finding.FabricKeysSameVersion.Find("%s of %s has keys of version %d, with other values than the "+
			"configuration.", l.ConfPath, l.Host, d.Keys.Version))
	// A lower version is an older configuration, with keys that the fabric does not have any more.
	case d.Keys.Version > 0 && d.Keys.Version < l.FabricKeys.Version:
		all = append(all, finding.FabricKeysSameVersion.Find("%s of %s has keys of version %d, and keys_version is %d. "+
			"Versions only rise.", l.ConfPath, l.Host, l.FabricKeys.Version, d.Keys.Version))
	}
	if len(diff) > 0 && d.Keys.Protection > 0 && d.Keys.Lease == 0 {
		all = append(all, finding.FabricWithoutLease.Find("Fabric of port %s of %s: m_key_protection_level is %d, without "+
			"m_key_lease_period.", d.PortGUID, d.Host, d.Keys.Protection))
	}
	if len(diff) > 0 && d.Keys.Protection >= Closed {
		all = append(all, finding.FabricClosed.Find("Fabric of port %s of %s: m_key_protection_level is %d.", d.PortGUID,
			d.Host, d.Keys.Protection))
	}
	return all
}

// isKept reports whether an instance of d has a key that the file has now, or is not to have it.
func isKept(l *found.Look, key opensm.Key, d opensm.Request) bool {
	if !d.Keys.IsOne(key) {
		return false
	}
	return d.DropsKeys || l.FabricKeys.Version > 0 && d.Keys.Version > 0 || d.Keys.Keeps(key)
}
