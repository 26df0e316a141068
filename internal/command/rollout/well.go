package rollout

import (
	"maps"
	"slices"
	"strings"
)

// unwell says what does not work although nothing is to be changed: a host that does not answer, a card that does
// not run what is in its flash, a port without a subnet manager, an interface without a carrier, a check of the
// configuration that fails.
func unwell(p *plan) map[string]bool {
	all := map[string]bool{}
	for _, host := range p.unseen {
		all["Host "+host+" did not answer: nobody knows what is to be done there"] = true
	}
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Mode == "managed" && !c.pending() {
			for _, why := range c.unwell() {
				all[c.Address+": "+why] = true
			}
		}
	}
	for _, check := range p.Checks {
		for _, one := range check.Instances {
			if one.Status == "fail" {
				for _, problem := range one.Problems {
					all[one.Address.Text+": "+problem.Message] = true
				}
			}
		}
	}
	return all
}

// unwell is what does not work of one object.
func (c *change) unwell() (all []string) {
	now := c.Change.After
	if now["reboot_required"] == true {
		all = append(all, "the host has to restart before the card runs what is in its flash")
	}
	if state := now.text("port_state"); c.Type == subnetManager && state != "Active" {
		all = append(all, "the port is "+state+", not Active")
	}
	if now["carrier"] == false {
		all = append(all, "the interface has no carrier")
	}
	return all
}

// holds reports whether what is not well is in a module instance of the host.
func (h *host) holds(what string) bool {
	return slices.ContainsFunc(h.Targets, func(at string) bool { return strings.HasPrefix(what, at+".") })
}

// elsewhere is what is not well of that which is not changed. Hosts that are changed have to be well afterwards.
func (l *lab) elsewhere(unwell map[string]bool) map[string]bool {
	maps.DeleteFunc(unwell, func(what string, _ bool) bool {
		return slices.ContainsFunc(l.todo(), func(name string) bool { return l.Hosts[name].holds(what) })
	})
	return unwell
}

// worse says what does not work now and was not named before.
func (r *rollout) worse(now *plan) []string {
	bad := unwell(now)
	maps.DeleteFunc(bad, func(what string, _ bool) bool { return r.before[what] })
	return list(sorted(bad))
}

func sorted(all map[string]bool) []string { return slices.Sorted(maps.Keys(all)) }
