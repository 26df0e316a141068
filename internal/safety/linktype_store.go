package safety

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// checkStore checks the place that keeps the types over a restart.
func checkStore(in LinkTypeInput) []finding.Finding {
	var found []finding.Finding
	if over := in.Overrides.Or(nil); len(over) > 0 {
		found = append(found, finding.LinkTypeOverridden.Find("%s", strings.Join(over, "; ")))
	}
	found = append(found, checkFile(in)...)
	switch {
	case fact.Yes(in.StaleInitramfs):
		found = append(found, finding.InitramfsOutdated.Find("Host %s, %s", in.Host.Host, cmp.Or(in.StoredIn, "its setting")))
	case !in.StaleInitramfs.Known():
		found = append(found, finding.InitramfsOutdated.Unread(
			"Whether the initial RAM disk has the setting of the link types", in.StaleInitramfs.Why()))
	}
	if !in.Overrides.Known() {
		found = append(found, finding.LinkTypeOverridden.Unread("Which other settings of the driver "+in.Host.Host+" has",
			in.Overrides.Why()))
	}
	if !in.Served.Known() {
		return found // only a postponed request gets here, and the apply asks again
	}
	if in.StoredIn == inCardConfig {
		return append(found, checkParameter(in)...)
	}
	for _, t := range in.Request.Ports {
		if t == ib.LinkTypeAuto {
			found = append(found, finding.AutoNotLasting.Find("%s",
				cmp.Or(in.WhyNotStored, "This host stores link types in "+cmp.Or(in.StoredIn,
					"none")+", which knows only ib and eth")))
			break
		}
	}
	if in.StoredIn == "" {
		return append(found, finding.LinkTypeNotLasting.Find("%s",
			cmp.Or(in.WhyNotStored, "This system has no place to store it")))
	}
	if in.StoredIn == perCard {
		return found
	}
	return append(found, sharedParameter(in)...)
}

// checkLostAtBoot finds ports that are as asked now and will not be after a restart.
func checkLostAtBoot(in LinkTypeInput) []finding.Finding {
	var ports []string
	for _, n := range slices.Sorted(maps.Keys(in.Request.Ports)) {
		want := in.Request.Ports[n]
		if next, said := in.Persisted[n]; said && next != want && linkIs(in.Current[n], want) {
			ports = append(ports, fmt.Sprintf("port %d is %s now and %s after a restart, by %s", n, in.Current[n], next,
				cmp.Or(in.Decides[n], "another setting")))
		}
	}
	if len(ports) == 0 {
		return nil
	}
	return []finding.Finding{finding.LinkTypeWouldBeLost.Find("Card %s: %s", in.Card.PCI, strings.Join(ports, ", "))}
}

// sharedParameter judges what a setting for all cards of the driver does to the others.
func sharedParameter(in LinkTypeInput) []finding.Finding {
	var found []finding.Finding
	var change []string
	for _, other := range neighbours(in) {
		if len(other.Ports) == 0 {
			// Its types are not known, so nobody can know what the consent is to.
			f := finding.OtherCardWouldChange.Unread("Which link types "+other.PCI.String()+" has",
				"the kernel shows no port of it")
			f.Severity = finding.Refuse
			found = append(found, f.WithWayOut("Load mlx4_core for that card, or take the card out, then plan again."))
			continue
		}
		evidence := changeOf(in, other)
		if evidence == "" {
			continue
		}
		change = append(change, other.PCI.String())
		f := finding.OtherCardWouldChange.Find("%s", evidence)
		if slices.Contains(in.Request.OtherCards, other.PCI.String()) {
			f = f.AsGranted("Another card of the host changes its type too")
		}
		found = append(found, f)
	}
	for i, f := range found {
		found[i] = f.WithConsent(f.Rule.ConsentLine(finding.Names(change...)))
	}
	return found
}

// changeOf says which type another card would get; empty if it keeps those that it has.
func changeOf(in LinkTypeInput, other *inventory.Card) string {
	for _, p := range other.Ports {
		if want, has := storedType(in, p.Number); has && !linkIs(p.TypeNow, want) {
			return fmt.Sprintf("%s has %s on port %d; %s %s %s", other.PCI, p.TypeNow, p.Number, in.Card.PCI,
				asksOrHas(in, p.Number), want)
		}
	}
	return ""
}

func asksOrHas(in LinkTypeInput, port int) string {
	if _, asked := in.Request.Ports[port]; asked {
		return "asks for"
	}
	return "does not name that port, which is stored as it is:"
}

// neighbours are the other cards of the host that the driver's parameter is for.
func neighbours(in LinkTypeInput) []*inventory.Card {
	var all []*inventory.Card
	for i := range in.Host.Cards {
		c := &in.Host.Cards[i]
		if c.PCI.Slot() != in.Card.PCI.Slot() && c.Chip.Driver == "mlx4_core" && !c.Virtual {
			all = append(all, c)
		}
	}
	return all
}

// checkFile is about what somebody else has written where the types are stored.
func checkFile(in LinkTypeInput) []finding.Finding {
	var found []finding.Finding
	if in.NotOurs != "" {
		found = append(found, finding.FileUnmanaged.Find("Host %s: %s", in.Host.Host, in.NotOurs).At("ports"))
	}
	if in.Edited != "" {
		found = append(found, finding.FileEdited.Find("%s", in.Edited).At("ports"))
	}
	return found
}

// checkParameter is about a parameter of the driver that overrides types stored in the card.
// The apply sets it to the same types, for all cards of the driver.
func checkParameter(in LinkTypeInput) []finding.Finding {
	if in.Parameter.Has == "" {
		return nil
	}
	found := []finding.Finding{finding.ParameterOverCard.Find("Host %s: %s. The apply stores the types of card %s in the "+
		"card and in %s.", in.Host.Host, in.Parameter.Has, in.Card.PCI, in.Parameter.Place)}
	if in.Parameter.Place == perCard {
		return found
	}
	return append(found, sharedParameter(in)...)
}
