package adoption

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// drifted is said of what this provider has set up before.
const drifted = "This provider set it up, and somebody has changed it since. An apply makes it, now and at boot, " +
	"what is written here."

// candidates are the objects that may be on a host. The import finds out whether they
// are there.
func candidates(host string, s *inventory.Snapshot) []*Object {
	var out []*Object
	cards := map[string]*Object{}
	for i := range s.Cards {
		out = append(out, ofCard(host, s, &s.Cards[i], cards)...)
	}
	return slices.Concat(out, managers(host, s, cards), interfaces(host, s, cards), asleep(host, s, cards))
}

// managers are the subnet managers that may be on the ports of a host.
func managers(host string, s *inventory.Snapshot, cards map[string]*Object) (out []*Object) {
	for i := range s.Cards {
		for _, p := range s.Cards[i].Ports {
			guid := s.Cards[i].GUIDOf(p)
			managed := !guid.IsZero() && opensm.Observe(s, guid).Managed
			if guid.IsZero() || p.LinkLayer != "InfiniBand" && !managed {
				continue
			}
			o := ofPort(smType, cards[s.Cards[i].PCI.String()], attribute.PortRef{Host: host, GUID: guid}, p.Number)
			o.left = opensm.LeftAlone(s, guid)
			if managed {
				o.otherwise = drifted
			}
			out = append(out, o)
		}
	}
	return out
}

// asleep are the interfaces that this provider has set up on ports that are Ethernet now. The
// kernel does not have them, so that only their definitions show them.
func asleep(host string, s *inventory.Snapshot, cards map[string]*Object) (out []*Object) {
	for i := range s.Cards {
		c := &s.Cards[i]
		for _, p := range c.Ports {
			guid := c.GUIDOf(p)
			if p.LinkLayer != "Ethernet" || guid.IsZero() || !ipoib.Observe(s, guid, 0).Persisted.Found {
				continue
			}
			out = append(out, ofPort(ipoibType, cards[c.PCI.String()], attribute.PortRef{Host: host, GUID: guid}, p.Number))
		}
	}
	return out
}

// interfaces are the IPoIB interfaces of a host.
func interfaces(host string, s *inventory.Snapshot, cards map[string]*Object) (out []*Object) {
	for i := range s.Netdevs {
		n := &s.Netdevs[i]
		if !n.IB || n.PortGUID.IsZero() {
			continue
		}
		ref := attribute.PortRef{Host: host, GUID: n.PortGUID}
		if n.Parent != "" {
			ref.PKey = n.PKey
		}
		of, number := (*Object)(nil), 0
		if c, p, ok := s.CardByPortGUID(n.PortGUID); ok {
			of, number = cards[c.PCI.String()], p.Number
		}
		o, now := ofPort(ipoibType, of, ref, number), observe(s, n)
		o.dormant = len(now.Live.Addresses) == 0 && len(now.Unmanaged) > 0
		if now.Persisted.Found {
			o.otherwise = drifted
		}
		out = append(out, o)
	}
	return out
}

// observe reads what is there for an interface.
func observe(s *inventory.Snapshot, n *inventory.Netdev) ipoib.Observation {
	key := uint64(0)
	if n.Parent != "" {
		var err error
		if key, err = strconv.ParseUint(strings.TrimPrefix(n.PKey, "0x"), 16, 16); err != nil {
			return ipoib.Observation{}
		}
	}
	return ipoib.Observe(s, n.PortGUID, uint16(key))
}

// ofCard are a card and what it has.
func ofCard(host string, s *inventory.Snapshot, c *inventory.Card, cards map[string]*Object) []*Object {
	ref := attribute.CardRef{Host: host, PCI: c.PCI}
	name := identifier(host)
	if len(s.Cards) > 1 {
		name += "_" + strings.NewReplacer(":", "_", ".", "_").Replace(strings.TrimPrefix(c.PCI.String(), "0000:"))
	}
	card := &Object{Type: cardType, Name: name, Host: host,
		ID: attribute.CardName{CardRef: ref, Token: s.Identity(c).Token()}.String()}
	cards[c.PCI.String()] = card
	out := []*Object{card}
	for _, kind := range []string{firmwareType, guidsType, linkType} {
		out = append(out, &Object{Type: kind, Name: name, Host: host, ID: ref.String(), card: card})
	}
	out[len(out)-1].beside = rulesOfTypes(s)
	for _, p := range c.Ports {
		if p.LinkLayer == "InfiniBand" {
			out = append(out, &Object{Type: portType, Name: name, Host: host, suffix: portSuffix(p.Number),
				ID: ref.String() + "/" + strconv.Itoa(p.Number), card: card})
		}
	}
	return out
}

// rulesOfTypes names the udev rules of the host that write the types of ports.
func rulesOfTypes(s *inventory.Snapshot) string {
	var rules []string
	for _, at := range s.FilesUnder("/etc/udev/rules.d/") {
		if strings.Contains(s.Files[at].Content, "mlx4_port") {
			rules = append(rules, at)
		}
	}
	if len(rules) == 0 {
		return ""
	}
	return "\n\n" + strings.Join(rules, " and ") + " of " + s.Host + " writes types of ports when the driver finds the " +
		"card. Take those lines out once this resource stores the types, so that one place decides."
}
