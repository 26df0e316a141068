package target

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// pins are the values of -host-key, as they were given.
type pins []string

func (p *pins) String() string { return strings.Join(*p, " ") }

// Set adds one.
func (p *pins) Set(text string) error {
	if !pinForm.MatchString(text) {
		return errors.New("want [HOST=]SHA256:… or [HOST=]ssh-ed25519 AAAA…")
	}
	*p = append(*p, text)
	return nil
}

var pinForm = regexp.MustCompile(`^(?:([^=\s]+)=)?(SHA256:\S+|[a-z0-9@.-]+ \S+.*)$`)

// pin gives each host and jump host the keys that it must show. A key without a host is
// that of the only one: no host may show the key of another.
func (p *pins) pin(targets []*Target) error {
	for _, text := range *p {
		m := pinForm.FindStringSubmatch(text)
		name, key := m[1], m[2]
		if name == "" && len(targets) > 1 {
			return fmt.Errorf("-host-key %s names no host, and there are %d: write HOST=%s", key, len(targets), key)
		}
		found, names := false, []string{}
		for _, t := range targets {
			if name == "" || slices.Contains([]string{t.Spec, t.Name, t.Config.Address}, name) {
				t.Config.HostKeys, found = append(t.Config.HostKeys, key), true
			}
			names = append(names, t.Name)
			// All hosts have the jump hosts of the command line in common.
			t.Config.Jumps = slices.Clone(t.Config.Jumps)
			for i := range t.Config.Jumps {
				names = append(names, t.Config.Jumps[i].Address)
				if jump := &t.Config.Jumps[i]; name == jump.Address {
					jump.HostKeys, found = append(slices.Clone(jump.HostKeys), key), true
				}
			}
		}
		if !found {
			slices.Sort(names)
			return fmt.Errorf("-host-key is for %s, which is neither a HOST nor in -jump; these are: %s. The key of a hop that "+
				"the SSH configuration names belongs into known_hosts", name, strings.Join(slices.Compact(names), ", "))
		}
	}
	return nil
}
