package found

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
)

// refOf gives the interface that this provider gives a path for: by its name alone, whatever
// the file says.
func refOf(at string) (ipoib.Ref, bool) {
	_, id, ok := strings.Cut(path.Base(at), "infiniband-")
	if !ok || len(id) < 16 {
		return ipoib.Ref{}, false
	}
	guid, err := ib.ParseGUID("0x" + id[:16])
	if err != nil {
		return ipoib.Ref{}, false
	}
	t := ipoib.Ref{PortGUID: guid}
	if key, isKey := strings.CutPrefix(id[16:], "-"); isKey {
		n, _ := strconv.ParseUint(key[:min(4, len(key))], 16, 16)
		t.PKey = uint16(n)
	}
	return t, isOwnPath(Target{Ref: t}, at)
}

// isOwnPath reports whether a path is one of our files for an interface.
func isOwnPath(t Target, at string) bool {
	return isHook(t, at) || slices.ContainsFunc(readers, func(r reader) bool {
		return slices.ContainsFunc(r.files(t, ipoib.Config{}), func(f File) bool { return f.Path == at })
	})
}

// isOwnFile reports whether a file is one that a resource of some port keeps right: it says
// that it is ours, and it is where we put one. A copy of it under another name says so too,
// and nothing of ours ever writes or removes it.
func (h *hostFacts) isOwnFile(at string) bool {
	_, ok := refOf(at)
	return ok && h.saysOurs(at)
}

// isCopy reports whether a file is a copy of one of ours under another name.
func (h *hostFacts) isCopy(at string) bool {
	return h.saysOurs(at) && !h.isOwnFile(at)
}

// lostPort gives the port GUID of a file of ours for a port that the host does not have
// any more: its GUID or its card has changed, and no resource of here has removed the file.
// What it says of an interface by its name is still in force. Of a port that the host has,
// a resource keeps the file right.
func lostPort(h *hostFacts, t Target, at string) ib.GUID {
	of, _ := refOf(at)
	if !h.isOwnFile(at) || at == bareParentPath(Target{Ref: of}) || of.PortGUID == t.PortGUID || h.hasPort(of.PortGUID) {
		return 0
	}
	return of.PortGUID
}

// silentCards are the cards of which no port is known, neither by a driver nor by the flash.
func silentCards(h *hostFacts) (all []string) {
	for i := range h.snap.Cards {
		c := &h.snap.Cards[i]
		if c.ReadFlash() == nil && !c.Virtual && !slices.ContainsFunc(c.Ports,
			func(p inventory.Port) bool { return !p.PortGUID.IsZero() }) {
			all = append(all, c.PCI.String())
		}
	}
	return all
}

// ofThisPort reports whether a file is one that resources of this host's ports keep right.
func ofThisPort(h *hostFacts, t Target, at string) bool {
	return h.isOwnFile(at) && lostPort(h, t, at).IsZero()
}

// noteLostPort says of a definition that it is of a port that the host had. Its settings are
// those of ours, so that none ends with it.
func (f *Unmanaged) noteLostPort(h *hostFacts, t Target, at string) {
	if h.isCopy(at) {
		f.Line += "; the file says that this provider wrote it, but no file of this provider has this name: it is a copy"
	}
	if f.LostPort.PortGUID = lostPort(h, t, at); f.LostPort.PortGUID.IsZero() {
		return
	}
	of, _ := refOf(at)
	f.LostPort.PKey = of.PKey
	gone := "does not have any more, and it can be removed"
	if silent := silentCards(h); len(silent) > 0 {
		gone = "does not show. Neither the ports nor the flash of " + strings.Join(silent, " and ") +
			" could be read, so that the port may be there"
	}
	f.Line += "; this provider wrote it for port " + of.PortGUID.String() + ", which the host " + gone
	f.Unkept = nil
}

// IsOwnPath reports whether a path is one of our files for the interface.
func (l *Look) IsOwnPath(at string) bool { return isOwnPath(l.Target, at) }

// SavedSuffix is how the names of files end that a change has kept.
func (l *Look) SavedSuffix() string { return savedSuffix(l.Target) }
