package adoption

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	smfound "github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/port"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/sriov"
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
		if s.Cards[i].Virtual {
			continue // infiniband_virtual_functions has them
		}
		out = append(out, ofCard(host, s, &s.Cards[i], cards)...)
	}
	seen := map[[2]string]bool{} // two cards may have one GUID in flash
	return slices.DeleteFunc(slices.Concat(out, managers(host, s, cards), interfaces(host, s, cards),
		absent(host, s, cards)), func(o *Object) bool {
		id := [2]string{o.Type, o.ID}
		twice := seen[id]
		seen[id] = true
		return twice
	})
}

// portNumbers are those of the ports of a card. Without its driver the host shows none.
var portNumbers = []int{1, 2}

// guidOf is the GUID of a port. Where the driver does not show it, it is that of the flash: then
// something of ours on the host has to have this GUID, too, and no other port may use it. Zero
// if there is none.
func guidOf(s *inventory.Snapshot, c *inventory.Card, number int) ib.GUID {
	if p, ok := c.Port(number); ok && !p.PortGUID.IsZero() {
		return p.PortGUID
	}
	if c.Flash == nil {
		return 0
	}
	guid := map[int]ib.GUID{1: c.Flash.GUIDs.Port1, 2: c.Flash.GUIDs.Port2}[number]
	if _, _, used := s.CardByPortGUID(guid); used || guid.IsUnset() {
		return 0
	}
	return guid
}

// managers are the subnet managers that may be on the ports of a host.
func managers(host string, s *inventory.Snapshot, cards map[string]*Object) (out []*Object) {
	for i := range s.Cards {
		c := &s.Cards[i]
		for _, number := range portNumbers {
			guid := guidOf(s, c, number)
			look := smfound.Of(s, guid)
			managed := !guid.IsZero() && look.Managed
			if p, there := c.Port(number); !managed && (!there || p.LinkLayer != "InfiniBand" || guid.IsZero()) {
				continue
			}
			o := ofPort(smType, cards[c.PCI.String()], attribute.PortRef{Host: host, GUID: guid}, number)
			o.left = judge.DescribeLeftAlone(look)
			if managed {
				o.otherwise = drifted
			}
			out = append(out, o)
		}
	}
	return out
}

// absent are the interfaces that this provider has set up and that the kernel does not have now:
// the port is Ethernet, or a module is not loaded. Only their definitions show them.
func absent(host string, s *inventory.Snapshot, cards map[string]*Object) (out []*Object) {
	for i := range s.Cards {
		c := &s.Cards[i]
		for _, number := range portNumbers {
			guid := guidOf(s, c, number)
			for _, key := range found.Defined(s, guid) {
				o := found.At(s, ipoib.Ref{PortGUID: guid, PKey: key})
				if guid.IsZero() || !o.Persisted.Found || o.Present {
					continue
				}
				ref := attribute.PortRef{Host: host, GUID: guid}
				if key != 0 {
					ref.PKey = fmt.Sprintf("0x%04x", key)
				}
				missing := ofPort(ipoibType, cards[c.PCI.String()], ref, number)
				missing.otherwise = drifted
				out = append(out, missing)
			}
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
func observe(s *inventory.Snapshot, n *inventory.Netdev) *found.Look {
	key := uint64(0)
	if n.Parent != "" {
		var err error
		if key, err = strconv.ParseUint(strings.TrimPrefix(n.PKey, "0x"), 16, 16); err != nil {
			return &found.Look{}
		}
	}
	return found.At(s, ipoib.Ref{PortGUID: n.PortGUID, PKey: uint16(key)})
}

// ofCard are a card and what it has.
func ofCard(host string, s *inventory.Snapshot, c *inventory.Card, cards map[string]*Object) []*Object {
	ref := attribute.CardRef{Host: host, PCI: c.PCI}
	name := identifier(host)
	if slices.ContainsFunc(s.Cards, func(o inventory.Card) bool { return !o.Virtual && o.PCI != c.PCI }) {
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
	if sriov.Find(s, &sriov.Request{Card: c.PCI}).Stored {
		out = append(out, &Object{Type: vfsType, Name: name, Host: host, ID: ref.String(), card: card, otherwise: drifted})
	}
	for _, number := range portNumbers {
		stored := port.Observe(s, c.PCI, number).Stored
		if p, there := c.Port(number); stored || there && p.LinkLayer == "InfiniBand" {
			o := &Object{Type: portType, Name: name, Host: host, suffix: portSuffix(number),
				ID: ref.String() + "/" + strconv.Itoa(number), card: card, stored: stored}
			if stored {
				o.otherwise = drifted
			}
			out = append(out, o)
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
