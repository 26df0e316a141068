package port

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// noted makes a change and notes it on the host.
func noted(ctx context.Context, h *hosts.Host, before Observation, pci ib.PCIAddress, number int, to string,
	do func(context.Context) (Result, error)) (Result, error) {
	inside, note := changes.Begin(ctx, changes.Change{ID: rand.Text(), What: changes.Port,
		Object: fmt.Sprintf("%s port %d", pci, number), From: before.words(), To: to})
	r, err := do(inside)
	if warning := note.Close(ctx, h, err); warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	return r, err
}

// words say what the port is now and at boot.
func (o Observation) words() string {
	var now Request
	if o.Link != nil {
		now.Speeds, now.Widths = o.Link.SpeedsEnabled, o.Link.WidthsEnabled
	}
	text := now.wordsOf(o.word())
	if !o.Present {
		text = "not there"
	}
	switch {
	case !o.Stored || !o.AtBoot:
		text += ", nothing at boot"
	case o.Setting.words() != text:
		text += ", at boot " + o.Setting.words()
	}
	said := []string{text}
	if o.Foreign != "" {
		said = append(said, o.Foreign)
	}
	for _, e := range o.Edits {
		said = append(said, e.String())
	}
	return strings.Join(said, "; ")
}

// word says whether the port is enabled.
func (o Observation) word() string {
	on, known := o.Enabled().Get()
	if !known {
		return "enabled or not (not read)"
	}
	return word(on)
}

// words are what is asked for in one line.
func (d Request) words() string { return d.wordsOf(word(d.Enabled)) }

func (d Request) wordsOf(text string) string {
	if d.Speeds != 0 {
		text += ", speeds " + d.Speeds.String()
	}
	if d.Widths != 0 {
		text += ", widths " + d.Widths.String()
	}
	return text
}
