package opensm

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// noted makes a change and notes it on the host.
func noted(ctx context.Context, h *hosts.Host, before Observation, port ib.GUID, to string,
	do func(context.Context) (Result, error)) (Result, error) {
	inside, note := changes.Begin(ctx, changes.Change{ID: rand.Text(), What: changes.SM, Object: "port " + port.String(),
		From: before.words(), To: to})
	r, err := do(inside)
	if warning := note.Close(ctx, h, err); warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	return r, err
}

// words say what runs and starts on the port. They hold no keys of the fabric.
func (o Observation) words() string {
	if !o.Managed && !fact.Yes(o.Active) && !fact.Yes(o.Enabled) {
		return "none"
	}
	words := "with files of others"
	if o.Managed {
		words = o.fileWords()
	}
	if !fact.Yes(o.Active) {
		words += ", not running"
	}
	if !fact.Yes(o.Enabled) {
		words += ", not at boot"
	}
	return words
}

// fileWords say what our files have, what somebody has written into them too.
func (o Observation) fileWords() string {
	words := Request{Priority: o.Priority, Tuning: o.Tuning, Partitions: o.Partitions}.words()
	switch {
	case !o.HasConf:
		words = "file of options not there"
	case o.Priority < 0:
		words = strings.Replace(words, "priority -1", "no priority", 1)
	}
	said := []string{words}
	for _, e := range o.Edits {
		if len(e.Added) > 0 {
			said = append(said, e.String())
		}
	}
	return strings.Join(said, "; ")
}

// words are what is asked for in one line.
func (d Request) words() string {
	options := "standard options"
	if d.Tuning != (opensm.Tuning{}) {
		options = tuning(d.Tuning)
	}
	parts := []string{fmt.Sprintf("priority %d", d.Priority), options}
	if len(d.Partitions) > 0 {
		text := strings.TrimSpace(opensm.PartitionsText("", d.Partitions))
		parts = append(parts, "partitions "+strings.Join(strings.Split(text, "\n"), " "))
	}
	return strings.Join(parts, ", ")
}
