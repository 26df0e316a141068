package ipoib

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ifupdown"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
)

// ifupdownBackend is ifupdown or ifupdown2 with a stanza in a file of its own. It
// makes P_Key children by itself.
type ifupdownBackend struct{}

func (ifupdownBackend) way() netundo.Stack { return netundo.Ifupdown }

func stanzaPath(t target) string { return ifupdown.Dir + "/infiniband-" + t.id() }

func (ifupdownBackend) files(t target, want Config) []file {
	return []file{{stanzaPath(t), 0o644, ifupdown.Render(platform.OwnedHeader(resourceName), settings(t, want))}}
}

func (ifupdownBackend) own(s *inventory.Snapshot, t target) (p StoredConfig) {
	at := stanzaPath(t)
	if !owned(s, at) {
		return p
	}
	p.Found, p.Sources = true, []string{at}
	f, err := ifupdown.Parse(s.Files[at].Content)
	names := f.Names()
	if err != nil || len(names) != 1 || !slices.Contains(f.Auto, names[0]) {
		return p
	}
	if i, err := f.Interface(names[0]); err == nil {
		p.Interface, p.Config = names[0], readBack(i)
	}
	return p
}

// take has ifup configure the interface. ifup adds addresses and does not expect
// any to be there; ifdown would take the P_Key children away with it.
func (ifupdownBackend) take(ctx context.Context, c *change, want Config) error {
	if c.before.Present {
		for _, old := range c.before.Live.Addresses {
			if err := c.dropAddress(ctx, old); err != nil {
				return err
			}
		}
	}
	if _, err := c.run(ctx, ifupdown.Up(c.t.name)); err != nil {
		return fmt.Errorf("ifup does not configure %s: %w", c.t.name, err)
	}
	if err := c.awaitChild(ctx); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

// release takes a P_Key child away. ifupdown has no service that would hold on
// to an interface.
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

// unmanagedStanzas are the stanzas of others for an interface.
func unmanagedStanzas(s *inventory.Snapshot, t target) (lines []string) {
	for _, at := range stanzaFiles(s) {
		content := s.Files[at].Content
		if platform.Owned(content) || t.name == "" {
			continue
		}
		f, bad := ifupdown.Parse(content)
		names := f.Names()
		switch {
		case slices.Contains(names, t.name):
			i, err := f.Interface(t.name)
			what := describe(i)
			if err != nil {
				what = " (" + strings.TrimSpace(err.Error()) + ")"
			}
			lines = append(lines, fmt.Sprintf("%s has a stanza for it%s%s", at, what, misread(bad)))
		case bad != nil && slices.Contains(names, ""):
			lines = append(lines, at+" may have a stanza for it"+misread(bad))
		}
	}
	return lines
}
