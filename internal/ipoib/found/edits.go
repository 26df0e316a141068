package found

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// String names the file and the lines, or says what the file as a whole is not.
func (a Added) String() string {
	if a.Unreadable() {
		return a.Path + " is " + tool.NamesOf(a.Settings)
	}
	return a.Path + " has " + tool.NamesOf(a.Settings)
}

// Keys tell the settings apart, as they are kept beside a state.
func (a Added) Keys() []string {
	keys := make([]string, len(a.Settings))
	for i, s := range a.Settings {
		keys[i] = a.Path + ": " + s.Key()
	}
	return keys
}

// Unreadable reports whether the file as a whole is not understood.
func (a Added) Unreadable() bool {
	return slices.ContainsFunc(a.Settings, func(s tool.Setting) bool { return s.Line == 0 })
}

// readEdits looks for what our files have besides ours, and for those that are not there.
func (l *Look) readEdits() {
	h := l.host
	for _, f := range withHooks(h, l.Target, l.Files(l.Target, l.Persisted.Config)) {
		found, ok := h.snap.Files[f.Path]
		switch {
		case !ok && l.Name != "" && l.Persisted.Found:
			l.Missing = append(l.Missing, f.Path)
		case h.saysOurs(f.Path):
			added := f.added(found.Content)
			if l.isComplete() {
				lacking, twice := f.compare(found.Content, added)
				added = append(added, twice...)
				if len(lacking) > 0 {
					l.Lacking = append(l.Lacking, f.Path+" lacks "+strings.Join(lacking, ", "))
				}
			}
			if strings.Contains(found.Content, "\r\n") {
				// ifup takes the carriage return for a part of the word before it.
				l.Lacking = append(l.Lacking, f.Path+" has the line ends of Windows")
			}
			if len(added) > 0 {
				l.Added = append(l.Added, Added{f.Path, added, freeName(h, l.Target, f.Path)})
			}
		}
	}
}

// isComplete reports whether our files say all of what they are for. Where they do not, an
// attribute or Differences tells it, and their text cannot be compared.
func (l *Look) isComplete() bool {
	p := l.Persisted
	return l.Name != "" && p.Interface == l.Name && p.Config.Mode != "" && p.Config.MTU != 0
}

// compare gives the settings that a text on the host lacks of the file, and those that it has
// beside ours: one that is held may stand there a second time. Of a setting with another value
// only one of the two is told. added are those that are known to be added.
func (f File) compare(text string, added []tool.Setting) (lacking []string, twice []tool.Setting) {
	if f.settings == nil || (Added{Settings: added}).Unreadable() {
		return nil, nil
	}
	named := func(all []tool.Setting, s tool.Setting) bool {
		return slices.ContainsFunc(all, func(other tool.Setting) bool { return firstWord(other.Name) == firstWord(s.Name) })
	}
	ours, there := f.settings(f.Text), f.settings(text)
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
func freeName(h *hostFacts, t Target, at string) string {
	saved := savedPath(t, at)
	for n := 2; slices.Contains(h.snap.Saved, saved); n++ {
		saved = fmt.Sprintf("%s.%d", savedPath(t, at), n)
	}
	return saved
}

// Seen is what an interface and its definitions had at one look: what an apply replaces. It is kept
// beside the state.
type Seen struct {
	Live    ipoib.Config
	Carrier bool                    // whether the link keeps Live.Mode and Live.MTU as they were set
	Stored  ipoib.Config            // by our own definition
	Files   map[string]ipoib.Config // by those that could be taken over, by their paths
	Added   []string                // settings that somebody has added to ours
	ToDo    []string                // what an apply of the state does, in words; not in Look.Seen
	Own     Written                 // of which nothing is compared: what is gone is made anew
}

// Seen is what the look has found.
func (l *Look) Seen() Seen {
	seen := Seen{Live: l.Live.Config, Carrier: l.Live.Carrier, Stored: l.Persisted.Config, Own: l.Written(),
		Files: map[string]ipoib.Config{}}
	for _, f := range l.Unmanaged {
		if f.Adoptable() {
			seen.Files[f.Path] = f.Config
		}
	}
	for _, a := range l.Added {
		seen.Added = append(seen.Added, a.Keys()...)
	}
	return seen
}
