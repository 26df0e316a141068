package found

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ifupdown"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// ifupdownFiles is a stanza of ifupdown or ifupdown2 in a file of its own.
type ifupdownFiles struct{}

// stanzaPath has no ending: of a source-directory ifup reads only names of letters, digits, "-" and
// "_" (interfaces(5)).
func stanzaPath(t Target) string { return ifupdown.Dir + "/infiniband-" + t.ID() }

func (ifupdownFiles) files(t Target, want ipoib.Config) []File {
	return []File{{stanzaPath(t), 0o644, ifupdown.Render(platform.OwnedHeader(ResourceName), t.configured(want)),
		ifupdown.Added, ifupdown.Settings}}
}

// own counts a file with anything but one stanza for one interface as there, and of no use: the
// next apply writes it anew.
func (ifupdownFiles) own(h *hostFacts, t Target) (p StoredConfig) {
	at := stanzaPath(t)
	if !h.marked(at) {
		return p
	}
	p.Found, p.Sources = true, []string{at}
	f, err := h.stanza(at)
	names := f.Names()
	if err != nil || len(names) != 1 {
		return p
	}
	if i, err := f.Interface(names[0]); err == nil {
		p.Interface, p.Config = names[0], i.Sorted()
	}
	return p
}

// stanzaFiles are the files that ifup reads.
func stanzaFiles(h *hostFacts) []string {
	return append([]string{ifupdown.MainFile}, h.snap.FilesUnder(ifupdown.Dir)...)
}

// StanzaFile is a file that ifup reads.
type StanzaFile struct {
	Path  string
	Ours  bool // its first line says so
	Main  bool
	Err   error // what of it is not understood
	Reads bool  // it has a line that reads our file of the interface
}

// StanzaFiles are the files that ifup reads. It stops at the first line of any of them that it
// does not understand, and then takes no interface up.
func (l *Look) StanzaFiles(want ipoib.Config) (all []StanzaFile) {
	own := l.MainPath(want)
	for _, at := range stanzaFiles(l.host) {
		f, err := l.host.stanza(at)
		all = append(all, StanzaFile{at, l.host.marked(at), at == ifupdown.MainFile, err, f.Reads(own)})
	}
	return all
}

// unmanagedStanzas are the stanzas for an interface in unmanaged files.
func unmanagedStanzas(h *hostFacts, t Target) (all []Unmanaged) {
	for _, at := range stanzaFiles(h) {
		if ofThisPort(h, t, at) || t.Name == "" {
			continue
		}
		f, bad := h.stanza(at)
		names, otherwise := f.Names(), f.ByOtherName(t.Name, t.ownAddress())
		switch {
		case slices.Contains(names, t.Name):
			i, err := f.Interface(t.Name)
			what := i.InBrackets()
			if err != nil {
				what = " (" + strings.TrimSpace(err.Error()) + ")"
			}
			found := definition(t, at, fmt.Sprintf("%s has a stanza for it%s%s", at, what, misread(bad)), i)
			found.Obstacle = stanzaObstacle(at, t, f, i, errors.Join(bad, err))
			found.Unkept, found.UnkeptLines = f.Unkept(t.Name)
			found.noteLostPort(h, t, at)
			if !h.stack.IsIfupdown() {
				found = found.ofOtherStack()
			}
			all = append(all, found)
		case !otherwise.Known():
			all = append(all, Unmanaged{Line: fmt.Sprintf("%s may configure it from a stanza of another name (%s)", at,
				otherwise.Why())})
		case otherwise.Or("") != "":
			all = append(all, Unmanaged{Line: fmt.Sprintf("%s configures it from a stanza of another name (%s)", at,
				otherwise.Or(""))})
		case bad != nil && slices.Contains(names, ""):
			all = append(all, Unmanaged{Line: at + " may have a stanza for it" + misread(bad)})
		}
	}
	return all
}

// stanzaObstacle says why a file with stanzas of an interface cannot be taken over.
func stanzaObstacle(at string, t Target, f ifupdown.File, i ipconf.Interface, bad error) string {
	apart := ifupdown.Dir + "/" + strings.ReplaceAll(t.Name, ".", "-")
	isOther := func(name string) bool { return name != t.Name }
	others := slices.DeleteFunc(slices.Concat(f.Names(), f.Auto), func(name string) bool { return !isOther(name) })
	switch {
	case bad != nil:
		return notUnderstood
	case at == ifupdown.MainFile:
		return fmt.Sprintf("%s is the main file. Move the lines of this interface (auto, allow-hotplug, iface and its "+
			"options) to a file of their own, such as %s, then plan again.", at, apart)
	case len(others) > 0:
		return sharedWith(at, "lines of "+strings.Join(slices.Compact(slices.Sorted(slices.Values(others))), ", "), apart)
	case len(f.Sources) > 0 || f.Mappings:
		return sharedWith(at, "lines that are of no interface (source, mapping, template)", apart)
	case i.DHCP:
		return byDHCP
	}
	for _, z := range f.Stanzas {
		if z.Inherits || z.Method != "static" && z.Method != "manual" {
			return fmt.Sprintf("Its stanza is not one of method static or manual that stands alone (iface %s %s %s). Write "+
				"it out as one, then plan again.", z.Name, z.Family, z.Method)
		}
	}
	return ""
}
