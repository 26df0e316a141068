package tool

import (
	"fmt"
	"hash/crc32"
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
		case assigned:
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
