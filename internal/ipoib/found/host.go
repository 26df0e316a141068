package found

import (
	"slices"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/memo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ifupdown"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netplan"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/networkd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
)

// hostFacts is what all interfaces of one snapshot share: the network stack, and each file of a
// network stack in the form that its tool reads. A file is parsed once, when somebody asks first.
type hostFacts struct {
	snap    *inventory.Snapshot
	stack   ipoib.Stack
	running fact.Of[[]ipoib.Stack]

	looks     memo.Map[ipoib.Ref, *Look]
	plans     memo.Map[string, []netplan.Device]
	renderers memo.Map[string, string]
	networks  memo.Map[string, networkd.File]
	keyfiles  memo.Map[string, nmcli.Profile]
	ifcfgs    memo.Map[string, nmcli.Profile]
	stanzas   memo.Map[string, ifupdown.File]

	middleware func() *Middleware
}

// hostKey is the key of these facts in what is derived from its snapshot.
type hostKey struct{}

// hostOf makes the facts of a snapshot, or gives those that were made. The running services come
// first, because the network stack follows from them.
func hostOf(s *inventory.Snapshot) *hostFacts {
	return inventory.Derive(s, hostKey{}, func() *hostFacts {
		h := &hostFacts{snap: s}
		h.running = runningStacks(s)
		h.stack = h.detectStack()
		h.middleware = sync.OnceValue(func() *Middleware { return readMiddleware(s.TrueNAS) })
		return h
	})
}

// at gives the look at one interface, which is made once.
func (h *hostFacts) at(ref ipoib.Ref) *Look {
	if ref.PKey == ipoib.DefaultPKey {
		ref.PKey = 0
	}
	l, _ := h.looks.Get(ref, "", func() (*Look, error) { return newLook(h, ref), nil })
	return l
}

func (h *hostFacts) content(at string) string { return h.snap.Files[at].Content }

// plan, and those below, give a file as its tool reads it. The error is a part of the answer: some
// tools go on with the rest of a file that they do not understand, and others stop.
func (h *hostFacts) plan(at string) ([]netplan.Device, error) {
	return h.plans.Get(at, "", func() ([]netplan.Device, error) { return netplan.Parse(h.content(at)) })
}

// renderer is read apart from what a file defines: it counts also where a definition of the file is
// not understood.
func (h *hostFacts) renderer(at string) string {
	text, _ := h.renderers.Get(at, "", func() (string, error) { return netplan.Renderer(h.content(at)), nil })
	return text
}

func (h *hostFacts) network(at string) (networkd.File, error) {
	return h.networks.Get(at, "", func() (networkd.File, error) { return networkd.Parse(h.content(at)) })
}

func (h *hostFacts) keyfile(at string) (nmcli.Profile, error) {
	return h.keyfiles.Get(at, "", func() (nmcli.Profile, error) { return nmcli.Parse(h.content(at)) })
}

func (h *hostFacts) ifcfg(at string) (nmcli.Profile, error) {
	return h.ifcfgs.Get(at, "", func() (nmcli.Profile, error) { return nmcli.ParseIfcfg(h.content(at)) })
}

func (h *hostFacts) stanza(at string) (ifupdown.File, error) {
	return h.stanzas.Get(at, "", func() (ifupdown.File, error) { return ifupdown.Parse(h.content(at)) })
}

// marked reports whether a file is there and its first line says that it is ours.
func (h *hostFacts) marked(at string) bool { return platform.IsOurs(h.content(at)) }

// saysOurs reports whether a file says that it is ours: by its first line, or, after
// NetworkManager has rewritten it, by the user data of the profile.
func (h *hostFacts) saysOurs(at string) bool {
	if h.marked(at) {
		return true
	}
	p, err := h.keyfile(at)
	return err == nil && p.Ours
}

// hasPort reports whether a GUID is that of a port that some card of the host has, by its
// driver or by its flash.
func (h *hostFacts) hasPort(guid ib.GUID) bool {
	if _, _, here := h.snap.CardByPortGUID(guid); here {
		return true
	}
	if _, here := h.snap.NetdevByPortGUID(guid); here {
		return true
	}
	return slices.ContainsFunc(h.snap.Cards, func(c inventory.Card) bool {
		return c.Flash != nil && (c.Flash.GUIDs.Port1 == guid || c.Flash.GUIDs.Port2 == guid)
	})
}
