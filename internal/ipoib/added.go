package ipoib

import (
	"fmt"
	"path"
	"slices"
	"strings"

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

// String names the file and the lines, or says what the file as a whole is not.
func (a Added) String() string {
	if a.unreadable() {
		return a.Path + " is " + tool.NamesOf(a.Settings)
	}
	return a.Path + " has " + tool.NamesOf(a.Settings)
}

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
			added := f.added(found.Content)
			if o.bootsInterface() {
				lacking, twice := f.compare(found.Content, added)
				added = append(added, twice...)
				if len(lacking) > 0 {
					o.Lacking = append(o.Lacking, f.path+" lacks "+strings.Join(lacking, ", "))
				}
			}
			if strings.Contains(found.Content, "\r\n") {
				// ifup takes the carriage return for a part of the word before it.
				o.Lacking = append(o.Lacking, f.path+" has the line ends of Windows")
			}
			if len(added) > 0 {
				o.Added = append(o.Added, Added{f.path, added, freeName(s, t, f.path)})
			}
		}
	}
}

// bootsInterface reports whether our files say all of what they are for. Where they do not, an
// attribute or Differences tells it, and their text cannot be compared.
func (o *Observation) bootsInterface() bool {
	p := o.Persisted
	return o.Name != "" && p.Interface == o.Name && p.Config.Mode != "" && p.Config.MTU != 0
}

// compare gives the settings that a text on the host lacks of the file, and those that it has
// beside ours: one that is held may stand there a second time. Of a setting with another value
// only one of the two is told. added are those that are known to be added.
func (f file) compare(text string, added []tool.Setting) (lacking []string, twice []tool.Setting) {
	if f.settings == nil || (Added{Settings: added}).unreadable() {
		return nil, nil
	}
	named := func(all []tool.Setting, s tool.Setting) bool {
		return slices.ContainsFunc(all, func(other tool.Setting) bool { return firstWord(other.Name) == firstWord(s.Name) })
	}
	ours, there := f.settings(f.text), f.settings(text)
	gone := tool.Lacking(ours, there)
	for _, s := range gone {
		if slices.ContainsFunc(added, func(a tool.Setting) bool { return a.Name == s.Name }) {
			continue
		}
		if s.Value != "" {
			s.Name += "=" + s.Value
		}
		lacking = append(lacking, s.Name)
	}
	for _, s := range tool.Lacking(there, ours) {
		isAdded := slices.ContainsFunc(added, func(a tool.Setting) bool { return a.Line == s.Line })
		if !isAdded && !named(gone, s) && named(ours, s) {
			s.Name = firstWord(s.Name)
			twice = append(twice, s)
		}
	}
	return lacking, twice
}

// firstWord is what names a setting without its value.
func firstWord(name string) string {
	word, _, _ := strings.Cut(name, " ")
	return word
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
