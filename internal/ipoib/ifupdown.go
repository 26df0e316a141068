package ipoib

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ifupdown"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
)

// ifupdownBackend is ifupdown or ifupdown2 with a stanza in a file of its own. It
// makes P_Key children by itself.
type ifupdownBackend struct{}

func (ifupdownBackend) way() netundo.Stack { return netundo.Ifupdown }

func stanzaPath(t target) string { return ifupdown.Dir + "/infiniband-" + t.id() }

func (ifupdownBackend) files(t target, want Config) []file {
	return []file{{stanzaPath(t), 0o644, ifupdown.Render(platform.OwnedHeader(resourceName), settings(t, want)),
		ifupdown.Added, ifupdown.Settings}}
}

func (ifupdownBackend) own(s *inventory.Snapshot, t target) (p StoredConfig) {
	at := stanzaPath(t)
	if !isOurs(s, at) {
		return p
	}
	p.Found, p.Sources = true, []string{at}
	f, err := ifupdown.Parse(s.Files[at].Content)
	names := f.Names()
	if err != nil || len(names) != 1 {
		return p
	}
	if i, err := f.Interface(names[0]); err == nil {
		p.Interface, p.Config = names[0], readBack(i)
	}
	return p
}

// take runs ifup. ifup adds addresses and fails on some that are there; ifdown before
// it would remove the P_Key children too.
func (ifupdownBackend) take(ctx context.Context, c *change, want Config) error {
	if c.before.Present {
		for _, old := range c.before.Live.Addresses {
			if err := c.dropAddress(ctx, old); err != nil {
				return err
			}
		}
	}
	if err := c.runOrSay(ctx, ifupdown.Up(c.t.name), "ifup does not configure "+c.t.name); err != nil {
		return err
	}
	if err := c.awaitChild(ctx); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

// note has nothing to do: ifup reads its files whenever it runs.
func (ifupdownBackend) note(context.Context, *change) error { return nil }

// release removes a P_Key child. No daemon of ifupdown holds an interface.
func (ifupdownBackend) release(ctx context.Context, c *change) error {
	if c.t.pkey == 0 || !c.before.Present {
		return nil
	}
	_, err := c.run(ctx, iproute.DelLink(c.t.name))
	return err
}

// stanzaFiles are the files that ifup reads.
func stanzaFiles(s *inventory.Snapshot) []string {
	return append([]string{ifupdown.MainFile}, s.FilesUnder(ifupdown.Dir)...)
}

// unmanagedStanzas are the stanzas for an interface in unmanaged files.
func unmanagedStanzas(s *inventory.Snapshot, t target) (all []Unmanaged) {
	for _, at := range stanzaFiles(s) {
		content := s.Files[at].Content
		if ofThisPort(s, t, at) || t.name == "" {
			continue
		}
		f, bad := ifupdown.Parse(content)
		names, otherwise := f.Names(), f.ByOtherName(t.name, t.ownAddress())
		switch {
		case slices.Contains(names, t.name):
			i, err := f.Interface(t.name)
			what := describe(i)
			if err != nil {
				what = " (" + strings.TrimSpace(err.Error()) + ")"
			}
			found := definition(t, at, fmt.Sprintf("%s has a stanza for it%s%s", at, what, misread(bad)), i)
			found.Obstacle, found.Unkept = stanzaObstacle(at, t, f, i, errors.Join(bad, err)), f.Unkept(t.name)
			found.noteEarlier(s, t, at)
			if k := DetectStack(s); k != StackIfupdown && k != StackIfupdown2 {
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
func stanzaObstacle(at string, t target, f ifupdown.File, i ipconf.Interface, bad error) string {
	apart := ifupdown.Dir + "/" + strings.ReplaceAll(t.name, ".", "-")
	isOther := func(name string) bool { return name != t.name }
	others := slices.DeleteFunc(slices.Concat(f.Names(), f.Auto), func(name string) bool { return !isOther(name) })
	switch {
	case bad != nil:
		return notUnderstood
	case at == ifupdown.MainFile:
		return fmt.Sprintf("%s is the main file. Move the lines of this interface (auto, allow-hotplug, iface and its "+
			"options) to a file of their own, such as %s, then plan again.", at, apart)
	case len(others) > 0:
		return sharedWith(at, "lines of "+strings.Join(unique(others), ", "), apart)
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
