package ipoib

import (
	"fmt"
	"path"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Added are the settings that somebody has added to a file of ours.
type Added struct {
	Path     string
	Settings []tool.Setting
	// Saved is where the file is kept once it is written anew or removed.
	Saved string
}

// String names the file and the lines.
func (a Added) String() string { return a.Path + " has " + tool.NamesOf(a.Settings) }

// keys tell the settings apart, as they are kept beside a state.
func (a Added) keys() []string {
	keys := make([]string, len(a.Settings))
	for i, s := range a.Settings {
		keys[i] = a.Path + ": " + s.Key()
	}
	return keys
}

// unreadable reports whether the file as a whole is not understood.
func (a Added) unreadable() bool {
	return slices.ContainsFunc(a.Settings, func(s tool.Setting) bool { return s.Line == 0 })
}

// observeFiles looks for what our files have besides ours, and for those that are not there.
func (o *Observation) observeFiles(s *inventory.Snapshot, t target) {
	for _, f := range withHooks(s, t, backendOf(o.Stack, t).files(t, o.Persisted.Config)) {
		found, ok := s.Files[f.path]
		switch {
		case !ok && t.name != "" && o.Persisted.Found:
			o.Missing = append(o.Missing, f.path)
		case ownProfile(found.Content):
			if added := f.added(found.Content); len(added) > 0 {
				o.Added = append(o.Added, Added{f.path, added, freeName(s, t, f.path)})
			}
		}
	}
}

// freeName is savedPath, with a number if earlier copies are there.
func freeName(s *inventory.Snapshot, t target, at string) string {
	saved := savedPath(t, at)
	for n := 2; slices.Contains(s.Saved, saved); n++ {
		saved = fmt.Sprintf("%s.%d", savedPath(t, at), n)
	}
	return saved
}

// checkAdded tells what of our files ends with the next change: settings that somebody has
// added, which this resource cannot hold.
func (c *checker) checkAdded() {
	for _, a := range c.observed.Added {
		c.add(finding.InterfaceFileEdited.Find("%s of %s: %s. The file is kept as %s.", c.nameNow(), c.s.Host,
			a, path.Base(a.Saved)))
	}
}

// newSettings are those of our files that were not there before.
func newSettings(o Observation, before Seen) (all []string) {
	for _, a := range o.Added {
		keys := a.keys()
		var added []tool.Setting
		for i, s := range a.Settings {
			if !slices.Contains(before.Added, keys[i]) {
				added = append(added, s)
			}
		}
		if len(added) > 0 {
			all = append(all, Added{Path: a.Path, Settings: added}.String())
		}
	}
	return all
}
