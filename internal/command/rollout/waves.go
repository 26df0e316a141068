package rollout

import "slices"

// rules say which hosts never change at the same time.
type rules struct {
	managers map[string]bool            // runs a subnet manager
	partners map[string]map[string]bool // the other ends of its cables and measurements
	domains  map[string]string          // the failure domain, where one is given
}

// waves are the hosts in the order in which they change: canary alone, then at most size at a time.
func (r rules) waves(hosts []string, canary string, size int) [][]string {
	var all [][]string
	left := slices.Clone(hosts)
	if i := slices.Index(left, canary); i >= 0 {
		all, left = append(all, []string{canary}), slices.Delete(left, i, i+1)
	}
	for len(left) > 0 {
		var wave, later []string
		for _, host := range left {
			if len(wave) < size && r.mayJoin(wave, host) {
				wave = append(wave, host)
			} else {
				later = append(later, host)
			}
		}
		all, left = append(all, wave), later
	}
	return all
}

// mayJoin reports whether a host may change together with those of a wave. A wave without hosts takes any.
func (r rules) mayJoin(wave []string, host string) bool {
	for _, other := range wave {
		// The fabric of a subnet manager is not in a plan: one at a time leaves every fabric another one.
		if r.partners[host][other] || r.managers[host] && r.managers[other] {
			return false
		}
	}
	return len(wave) == 0 || !r.whole(append(slices.Clone(wave), host), r.domains[host])
}

// withoutDomain are the hosts of the waves that have no failure domain, if there are any domains. A host may have none,
// and so may one whose name is misspelt there.
func (r rules) withoutDomain(waves [][]string) []string {
	hosts := slices.Concat(waves...)
	slices.Sort(hosts)
	return slices.DeleteFunc(hosts, func(host string) bool { return len(r.domains) == 0 || r.domains[host] != "" })
}

// whole reports whether a wave has all hosts of a failure domain.
func (r rules) whole(wave []string, domain string) bool {
	for host, of := range r.domains {
		if of == domain && !slices.Contains(wave, host) {
			return false
		}
	}
	return domain != ""
}
