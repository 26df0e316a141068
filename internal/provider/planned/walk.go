package planned

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// Walk remembers what one walk of core will do, so that later resources are checked
// against the state that they will find. It lives as long as the process and never
// reaches from plan to apply; at apply the hosts themselves are asked. It is safe for
// concurrent use.
type Walk struct {
	mu     sync.Mutex
	cards  map[attribute.CardRef]Card
	images map[attribute.ImageRef]Image
	sms    map[attribute.PortRef]SM
	rivals map[SM][]attribute.PortRef // the same the other way round
	// smChanges is true once a subnet manager is to be created or changed.
	smChanges  bool
	ports      map[attribute.PortRef]plannedPort    // where a GUID will be
	lab        *clash.Lab                           // found and planned identities of all cards
	partitions map[attribute.PortRef]string         // of subnet managers
	keys       map[attribute.PortRef]any            // of the fabrics of subnet managers
	keysFailed *attribute.PortRef                   // the master whose keys could not be changed
	groups     map[attribute.PortRef]map[uint16]int // broadcast groups of each subnet manager
	needs      map[attribute.PortRef]int            // what each IPoIB interface needs of its group
	// addresses are those of the IPoIB interfaces by host, holders the first
	// interface that has each.
	addresses map[string]map[attribute.PortRef][]netip.Prefix
	holders   map[netip.Addr]attribute.PortRef
	// replaced holds the interface that is removed, by the one that replaces it.
	replaced map[attribute.PortRef]Gone
	places   map[string]*place // slots of cards
	awaited  map[attribute.CardRef][]string
	claims   claims // which resource manages what
	fates    map[claimKey]fate
	drained  sync.Map // hosts that this walk drains now
}

type plannedPort struct {
	card   attribute.CardRef
	number int
}

// SM is a subnet manager of the configuration.
type SM struct {
	Priority int
	// Master is true if it runs and is the master of its fabric. A fabric has one master,
	// so two masters are on two fabrics.
	Master bool
	// Fabric is the name that the configuration gives to its fabric; empty if it gives none.
	Fabric string
}

// apart reports whether two subnet managers are known to be on two fabrics.
func (s SM) apart(other SM) bool {
	return s.Master && other.Master || s.Fabric != "" && other.Fabric != "" && s.Fabric != other.Fabric
}

// Image is a verified image file of this plan.
type Image struct {
	Name   string // path on the operator's machine
	SHA256 string
	Size   int64
	Parsed *fwimage.Image
}

// Card is what a card will be after the resources planned so far.
type Card struct {
	ib.Firmware                     // no PSID if no burn is planned
	GUIDs       *ib.GUIDSet         // nil if no change is planned
	Restarts    bool                // it will use the GUIDs in its flash
	LinkTypes   map[int]ib.LinkType // by port; empty if no change is planned
	// AtRestart are the types that come with a restart that is not planned, stored or not yet.
	AtRestart map[int]ib.LinkType
	Functions int    // virtual functions that are asked for; 0 if no resource does
	Offers    *int64 // those that the settings offer after the next start; nil if no resource says so
	// Open says that only the apply will know what is written: a job of before decides it, or a value is not known yet.
	Open bool
}

// Restart notes that the host of the card is restarted after the resources planned so far. firmware
// and guids are what an earlier apply has left in flash; zero: nothing.
func (c *Card) Restart(firmware ib.Firmware, guids *ib.GUIDSet) {
	c.Restarts = true
	if c.PSID == "" {
		c.Firmware = firmware
	}
	if c.GUIDs == nil {
		c.GUIDs = guids
	}
	if len(c.AtRestart) > 0 {
		c.LinkTypes, c.AtRestart = c.AtRestart, nil
	}
}

// Changes reports whether anything about the card is going to change.
func (c Card) Changes() bool {
	return c.PSID != "" || c.GUIDs != nil || len(c.LinkTypes) > 0
}

// NewWalk returns a walk in which nothing is planned yet.
func NewWalk() *Walk {
	return &Walk{
		cards: map[attribute.CardRef]Card{}, images: map[attribute.ImageRef]Image{}, sms: map[attribute.PortRef]SM{},
		rivals: map[SM][]attribute.PortRef{},
		ports:  map[attribute.PortRef]plannedPort{}, lab: clash.NewLab(), partitions: map[attribute.PortRef]string{},
		keys:      map[attribute.PortRef]any{},
		claims:    newClaims(),
		addresses: map[string]map[attribute.PortRef][]netip.Prefix{}, holders: map[netip.Addr]attribute.PortRef{},
		replaced: map[attribute.PortRef]Gone{}, fates: map[claimKey]fate{},
		places: map[string]*place{}, awaited: map[attribute.CardRef][]string{},
		groups: map[attribute.PortRef]map[uint16]int{}, needs: map[attribute.PortRef]int{},
	}
}

// Image returns a parsed image by its id.
func (p *Walk) Image(ref attribute.ImageRef) (Image, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	img, ok := p.images[ref]
	return img, ok
}

// SetImage remembers a parsed image.
func (p *Walk) SetImage(ref attribute.ImageRef, img Image) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.images[ref] = img
}

// Lab gives the found and planned identities of all cards.
func (p *Walk) Lab() *clash.Lab { return p.lab }

// Card returns what is planned for a card.
func (p *Walk) Card(ref attribute.CardRef) Card {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cards[ref]
}

// UpdateCard changes what is planned for a card.
func (p *Walk) UpdateCard(ref attribute.CardRef, change func(*Card)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.cards[ref]
	p.forgetPorts(ref, c)
	change(&c)
	p.cards[ref] = c
	p.lab.Plan(ref.Host, ref.PCI, c.GUIDs, c.Restarts)
	if c.GUIDs != nil {
		p.ports[attribute.PortRef{Host: ref.Host, GUID: c.GUIDs.Port2}] = plannedPort{ref, 2}
		p.ports[attribute.PortRef{Host: ref.Host, GUID: c.GUIDs.Port1}] = plannedPort{ref, 1}
	}
}

// LeaveOpen notes that a card is open; one that is not known yet has no name.
func (p *Walk) LeaveOpen(ref attribute.CardRef, open bool) {
	p.UpdateCard(ref, func(c *Card) { c.Open = c.Open || open })
}

// IsOpen reports whether a card is open, or one that is not known yet.
func (p *Walk) IsOpen(ref attribute.CardRef) bool {
	return p.Card(ref).Open || p.Card(attribute.CardRef{}).Open
}

// Await notes that this walk writes something to a card that a restart is to load, and leaves the
// restart to others. It stays when the card is done: the restart comes after that.
func (p *Walk) Await(ref attribute.CardRef, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.awaited[ref], what) {
		p.awaited[ref] = append(p.awaited[ref], what)
	}
}

// Awaited gives what was noted of a card.
func (p *Walk) Awaited(ref attribute.CardRef) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.awaited[ref])
}

// DoneCard forgets what was planned for a card once it was applied: from then
// on the host itself is asked.
func (p *Walk) DoneCard(ref attribute.CardRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetPorts(ref, p.cards[ref])
	p.lab.Plan(ref.Host, ref.PCI, nil, false)
	delete(p.cards, ref)
}

func (p *Walk) forgetPorts(ref attribute.CardRef, c Card) {
	if c.GUIDs == nil {
		return
	}
	for _, guid := range []ib.GUID{c.GUIDs.Port1, c.GUIDs.Port2} {
		at := attribute.PortRef{Host: ref.Host, GUID: guid}
		if p.ports[at].card == ref {
			delete(p.ports, at)
		}
	}
}

// PortOf finds the card on a host that will carry a port GUID after the changes
// planned so far.
func (p *Walk) PortOf(host string, guid ib.GUID) (attribute.CardRef, int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.ports[attribute.PortRef{Host: host, GUID: guid}]
	return at.card, at.number, ok
}

// SetSM remembers a subnet manager of the configuration.
func (p *Walk) SetSM(port attribute.PortRef, sm SM) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, ok := p.sms[port]; ok {
		p.rivals[old] = slices.DeleteFunc(p.rivals[old], func(r attribute.PortRef) bool { return r == port })
	}
	p.sms[port] = sm
	p.rivals[sm] = append(p.rivals[sm], port)
}

// SMs gives the ports of the subnet managers that were planned so far; none if
// they are more than atMost.
func (p *Walk) SMs(atMost int) []attribute.PortRef {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.sms) > atMost {
		return nil
	}
	return slices.SortedFunc(maps.Keys(p.sms), comparePorts)
}

func comparePorts(a, b attribute.PortRef) int { return strings.Compare(a.String(), b.String()) }

// SM reports whether a subnet manager was planned so far on a port.
func (p *Walk) SM(port attribute.PortRef) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.sms[port]
	return ok
}

// ChangeSM remembers that this plan creates or changes a subnet manager.
func (p *Walk) ChangeSM() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.smChanges = true
}

// ChangesSM reports whether this plan creates or changes a subnet manager, as far as it is planned.
func (p *Walk) ChangesSM() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.smChanges
}

// HasSM reports whether a subnet manager was planned so far.
func (p *Walk) HasSM() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sms) > 0
}

// OtherPartitions remembers the partitions of a subnet manager, as its file has them, and gives those of all that were
// planned before it, by their ports.
func (p *Walk) OtherPartitions(port attribute.PortRef, own string) map[attribute.PortRef]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	others := maps.Clone(p.partitions)
	delete(others, port)
	p.partitions[port] = own
	return others
}

// OtherKeys remembers the keys of a subnet manager, which are comparable, and gives those that were planned before it
// and have others.
func (p *Walk) OtherKeys(port attribute.PortRef, own any) (others []attribute.PortRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, keys := range p.keys {
		if other != port && keys != own {
			others = append(others, other)
		}
	}
	p.keys[port] = own
	slices.SortFunc(others, comparePorts)
	return others
}

// FailKeys remembers a master whose keys could not be changed.
func (p *Walk) FailKeys(port attribute.PortRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keysFailed = &port
}

// KeysFailed is that master, if there is one.
func (p *Walk) KeysFailed() (port attribute.PortRef, some bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keysFailed == nil {
		return port, false
	}
	return *p.keysFailed, true
}

// SMsApart reports whether two planned subnet managers are on two fabrics, as far as this walk knows.
func (p *Walk) SMsApart(a, b attribute.PortRef) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sms[a].apart(p.sms[b])
}

// RivalSMs gives the subnet managers planned so far with the priority of the one on
// port that may be on its fabric: the first few, and their number. A configuration may
// hold a thousand, each on its own fabric, so neither answer nor search may grow with
// their number.
func (p *Walk) RivalSMs(port attribute.PortRef, atMost int) (some []attribute.PortRef, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	own, ok := p.sms[port]
	if !ok {
		return nil, 0
	}
	for group, ports := range p.rivals {
		if group.Priority != own.Priority || group != own && group.apart(own) || group == own && own.Master {
			continue
		}
		total += len(ports)
		if group == own {
			total--
		}
		for _, r := range ports[:min(len(ports), atMost+1)] {
			if r != port {
				some = append(some, r)
			}
		}
	}
	slices.SortFunc(some, comparePorts)
	return some[:min(len(some), atMost)], total
}
