package ipoib

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
)

// noted makes the change and notes it on the host.
func (c *change) noted(ctx context.Context, to string, do func(context.Context, *change) error) error {
	noted, note := changes.Begin(ctx, changes.Change{ID: c.name, What: changes.Network, Object: c.recordName(),
		From: c.before.words(), To: to})
	err := do(noted, c)
	outcome, text := changes.Verified, ""
	var unconfirmed *UnconfirmedError
	switch {
	case errors.As(err, &unconfirmed) && (unconfirmed.Undone || unconfirmed.TakenOver):
		outcome, text = changes.Undone, unconfirmed.Error()
	case err != nil:
		outcome, text = changes.Failed, err.Error()
	}
	if warning := note.End(ctx, c.h, outcome, text); warning != "" {
		c.warnings = append(c.warnings, warning)
	}
	return err
}

// recordName names the interface in the records of the host.
func (c *change) recordName() string {
	name := "port " + c.d.PortGUID.String()
	if c.t.pkey != 0 {
		name += fmt.Sprintf(" P_Key 0x%04x", c.t.pkey)
	}
	if c.t.name != "" {
		name += " (" + c.t.name + ")"
	}
	return name
}

// words say what the interface has now and at boot.
func (o Observation) words() string {
	now := "no interface"
	if o.Present {
		now = configWords(o.Live)
	}
	if !o.Persisted.Found {
		return now + "; nothing of Terraform at boot"
	}
	words := []string{now}
	if o.Present && !o.Up {
		words[0] += ", down"
	}
	if boot := o.bootWords(); boot != now {
		words = append(words, "at boot "+boot)
	}
	for _, path := range o.Missing {
		words = append(words, path+" is not there")
	}
	words = append(words, o.Lacking...)
	for _, a := range o.Added {
		if !a.unreadable() {
			words = append(words, a.String())
		}
	}
	return strings.Join(words, "; ")
}

// bootWords say what our files bring back, if they can be read.
func (o Observation) bootWords() string {
	for _, a := range o.Added {
		if a.unreadable() {
			return a.Path + ", which is not readable"
		}
	}
	return configWords(o.Persisted.Config)
}

// configWords are a configuration in one line.
func configWords(c Config) string {
	parts := []string{"no mode", "no MTU"}
	if c.Mode != "" {
		parts[0] = c.Mode.String()
	}
	if c.MTU != 0 {
		parts[1] = fmt.Sprintf("MTU %d", c.MTU)
	}
	if len(c.Addresses) > 0 {
		parts = append(parts, joinPrefixes(sortPrefixes(c.Addresses)))
	}
	if len(c.Routes) > 0 {
		parts = append(parts, "routes "+joinRoutes(c.Routes))
	}
	return strings.Join(parts, ", ")
}
