package tool

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// Setting is one setting of a file, by the name of its place. Its value is not for messages:
// it may be a password.
type Setting struct {
	Line  int // zero for the file as a whole
	Name  string
	Value string
}

// String names the setting and its line.
func (s Setting) String() string {
	if s.Line == 0 {
		return s.Name
	}
	return fmt.Sprintf("line %d: %s", s.Line, s.Name)
}

// NamesOf names settings and their lines, for a sentence.
func NamesOf(all []Setting) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = s.String()
	}
	return strings.Join(words, ", ")
}

// Key tells settings apart, wherever they stand. 16 bits of a value show that it has
// changed, and not what it is.
func (s Setting) Key() string {
	return fmt.Sprintf("%s~%04x", s.Name, crc32.ChecksumIEEE([]byte(s.Value))&0xffff)
}

// Section is a part of a file with sections and assignments.
type Section struct {
	Name     string
	Settings []Setting // by their bare names
}

// Value is what a name has, the last one where it stands several times; empty if it has none.
func (s Section) Value(name string) string {
	all := s.Values(name)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// Values are all that a name has. A line that goes on with a backslash is one with a blank there.
func (s Section) Values(name string) (all []string) {
	for _, one := range s.Settings {
		if one.Name == name {
			all = append(all, strings.ReplaceAll(one.Value, "\\\n", " "))
		}
	}
	return all
}

// Names are the names of the settings, each once.
func (s Section) Names() (all []string) {
	for _, one := range s.Settings {
		if one.Name != notAssigned && !slices.Contains(all, one.Name) {
			all = append(all, one.Name)
		}
	}
	return all
}

// Unread names the lines that are neither sections nor assignments, without their text, which may
// hold a password: one bad line does not hide the rest.
func Unread(all []Section) error {
	var errs []error
	for _, section := range all {
		for _, one := range section.Settings {
			if one.Name == notAssigned {
				errs = append(errs, fmt.Errorf("line %d: %s", one.Line, notAssigned))
			}
		}
	}
	return errors.Join(errs...)
}

// notAssigned names a line that is neither a section nor an assignment.
const notAssigned = "neither a section nor an assignment"

// NameOf names a setting with its section. A line that is no setting belongs to none.
func (s Section) NameOf(setting Setting) string {
	if setting.Name == notAssigned {
		return notAssigned
	}
	return s.Name + "." + setting.Name
}

// Sections reads a file with sections and assignments. A line that is neither is a setting
// without a name of its own.
func Sections(text string) []Section {
	all := []Section{{}}
	continued := false
	for n, line := range Lines(WithoutMark(text)) {
		line = strings.TrimSpace(line)
		in := &all[len(all)-1]
		key, value, assigned := strings.Cut(line, "=")
		switch {
		case continued:
			in.Settings[len(in.Settings)-1].Value += "\n" + line
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '[' && line[len(line)-1] == ']':
			all = append(all, Section{Name: line[1 : len(line)-1]})
			continue
		case assigned && line[0] != '[' && strings.TrimSpace(key) != "":
			in.Settings = append(in.Settings, Setting{n, strings.TrimSpace(key), strings.TrimSpace(value)})
		default:
			in.Settings = append(in.Settings, Setting{n, notAssigned, line})
		}
		continued = strings.HasSuffix(line, "\\")
	}
	return all
}

// Lacking are the settings of ours that another text does not have, by name and value. One that
// ours has twice has to be there twice.
func Lacking(ours, there []Setting) (lacking []Setting) {
	type key struct{ name, value string }
	count := map[key]int{}
	for _, s := range there {
		count[key{s.Name, s.Value}]++
	}
	for _, s := range ours {
		k := key{s.Name, s.Value}
		if count[k]--; count[k] < 0 {
			lacking = append(lacking, s)
		}
	}
	return lacking
}

// Switch spells a value that is on or off in one way; others stay as they are.
func Switch(value string) string {
	switch strings.ToLower(value) {
	case "yes", "true", "on", "y":
		return "yes"
	case "no", "false", "off", "n":
		return "no"
	}
	return value
}
