package systemd

import (
	"path"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// UnitFile is a parsed unit with its drop-ins: "Section.Key" to its values.
type UnitFile struct {
	Path   string
	Values map[string][]string
}

func (f *UnitFile) Last(key string) string {
	if v := f.Values[key]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

func (f *UnitFile) builtin() bool { return f.Last("Service.X-Lab-Builtin") == "yes" }

// knownKeys are the settings that the lab understands, or that change nothing
// in it; any other makes the unit unusable here.
var knownKeys = map[string]bool{
	"Unit.Description": true, "Unit.Documentation": true, "Unit.After": true, "Unit.Before": true, "Unit.Wants": true,
	"Unit.Requires": true, "Unit.PartOf": true, "Unit.ConditionPathExists": true, "Unit.DefaultDependencies": true,
	"Unit.Conflicts": true, "Unit.RequiresMountsFor": true, "Unit.StartLimitIntervalSec": true,
	"Unit.ConditionPathExistsGlob": true,
	"Service.Type":                 true, "Service.ExecStart": true, "Service.ExecStartPre": true,
	"Service.ExecStartPost": true,
	"Service.ExecStop":      true, "Service.RemainAfterExit": true, "Service.X-Lab-Builtin": true, "Service.Restart": true,
	"Service.RestartSec":      true,
	"Service.TimeoutStartSec": true, "Service.TimeoutStopSec": true, "Service.StandardOutput": true,
	"Service.LogLevelMax": true, "Service.UMask": true,
	"Service.KillMode": true, "Service.SuccessExitStatus": true,
	"Install.WantedBy": true, "Install.Alias": true,
}

// loadUnit finds a unit by name, instances through their template.
func (s *Manager) loadUnit(name string) *UnitFile {
	template, _ := templateOf(name)
	for _, dir := range []string{"/etc/systemd/system/", "/run/systemd/system/", UnitDir} {
		for _, n := range []string{name, template} {
			if n == "" || !s.m.FS.Exists(dir+n) {
				continue
			}
			f := &UnitFile{Path: dir + n, Values: map[string][]string{}}
			s.parseUnit(f, n, s.m.FS.Text(dir+n))
			s.dropIns(f, name, template)
			return f
		}
	}
	return nil
}

func templateOf(name string) (template, instance string) {
	base, ext := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name)
	if prefix, inst, ok := strings.Cut(base, "@"); ok && inst != "" {
		return prefix + "@" + ext, inst
	}
	return "", ""
}

func (s *Manager) dropIns(f *UnitFile, names ...string) {
	for _, n := range names {
		for _, file := range s.m.FS.Glob("/etc/systemd/system/" + n + ".d/*.conf") {
			s.parseUnit(f, path.Base(file), s.m.FS.Text(file))
		}
	}
}

func (s *Manager) parseUnit(f *UnitFile, name, body string) {
	for _, e := range ReadEntries(strings.ReplaceAll(body, "\\\n", " "), "#;") {
		key := e.Section + "." + e.Key
		switch {
		case e.Key == "" && e.Text[0] == '[': // the head of a section
		case !knownKeys[key]:
			s.m.Violate("unit %s: not simulated: %s", name, e.Text)
		case e.Value == "": // an empty assignment resets a list
			f.Values[key] = nil
		default:
			f.Values[key] = append(f.Values[key], e.Value)
		}
	}
}

// Entry is one line of a file with sections, as systemd and NetworkManager write them:
// the head of a section, or an assignment. One that is neither has no key.
type Entry struct {
	Line                      int
	Text, Section, Key, Value string
}

// ReadEntries returns all lines but the empty ones and those that begin with one of
// the characters of a comment.
func ReadEntries(body, comments string) (list []Entry) {
	section := ""
	for i, line := range strings.Split(body, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.IndexByte(comments, line[0]) >= 0 {
			continue
		}
		e := Entry{Line: i + 1, Text: line}
		if line[0] == '[' {
			section = strings.Trim(line, "[]")
		} else if key, value, ok := strings.Cut(line, "="); ok {
			e.Key, e.Value = strings.TrimSpace(key), strings.TrimSpace(value)
		}
		e.Section = section
		list = append(list, e)
	}
	return list
}

// Masked says whether the unit's file is a link to /dev/null.
func (s *Manager) Masked(name string) bool {
	for _, dir := range []string{"/etc/systemd/system/", "/run/systemd/system/"} {
		if t, err := s.m.FS.Readlink(vfs.Root, dir+name); err == nil && t == "/dev/null" {
			return true
		}
	}
	return false
}

// fileState is UnitFileState.
func (s *Manager) fileState(name string) string {
	if s.Masked(name) {
		return "masked"
	}
	s.mu.Lock()
	u := s.units[name]
	s.mu.Unlock()
	if u != nil && u.transient {
		return "transient"
	}
	f := s.loadUnit(name)
	switch {
	case f == nil:
		return ""
	case len(f.Values["Install.WantedBy"]) == 0:
		return "static"
	}
	for _, target := range Words(f.Values["Install.WantedBy"]) {
		link := "/etc/systemd/system/" + target + ".wants/" + name
		if _, err := s.m.FS.Readlink(vfs.Root, link); err == nil {
			return "enabled"
		}
	}
	return "disabled"
}

func Words(values []string) []string {
	var out []string
	for _, v := range values {
		out = append(out, strings.Fields(v)...)
	}
	return out
}

// link enables a unit and returns the links made, as lines of systemctl.
func (s *Manager) link(name string) (made []string) {
	f := s.loadUnit(name)
	if f == nil {
		return nil
	}
	for _, target := range Words(f.Values["Install.WantedBy"]) {
		link := "/etc/systemd/system/" + target + ".wants/" + name
		if s.m.FS.Exists(link) {
			continue
		}
		s.m.FS.PutLink(f.Path, link)
		made = append(made, "Created symlink "+link+" → "+f.Path+".")
	}
	return made
}

func (s *Manager) unlink(name string) (removed []string) {
	for _, link := range s.wantedLinks() {
		if path.Base(link) == name {
			s.m.FS.Drop(link)
			removed = append(removed, "Removed \""+link+"\".")
		}
	}
	return removed
}

// wantedLinks lists the links of all .wants directories in name order.
func (s *Manager) wantedLinks() []string {
	var links []string
	for _, dir := range s.m.FS.Glob("/etc/systemd/system/*.wants") {
		links = append(links, s.m.FS.Glob(dir+"/*")...)
	}
	return links
}

// splitExec splits a command line of a unit file: blanks, double and single
// quotes, backslash.
func splitExec(line string) []string {
	var out []string
	var cur strings.Builder
	quote, in := byte(0), false
	flush := func() {
		if in {
			out = append(out, cur.String())
		}
		cur.Reset()
		in = false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			cur.WriteByte(line[i])
			in = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && strings.IndexByte(`"'`, c) >= 0:
			quote, in = c, true
		case quote == 0 && strings.IndexByte(" \t", c) >= 0:
			flush()
		default:
			cur.WriteByte(c)
			in = true
		}
	}
	flush()
	return out
}

// expandExec replaces variables the way systemd does in ExecStart, also in the
// arguments of systemd-run: $NAME as a word of its own splits, ${NAME} is
// replaced anywhere, $$ is a dollar sign. A script passed as an argument loses
// its ${…} here unless the dollar signs are doubled.
func expandExec(argv []string, env map[string]string) []string {
	var out []string
	for _, a := range argv {
		if len(a) > 1 && a[0] == '$' && a[1] != '{' && a[1] != '$' && isName(a[1:]) {
			out = append(out, strings.Fields(env[a[1:]])...)
			continue
		}
		out = append(out, expandWord(a, env))
	}
	return out
}

func expandWord(a string, env map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(a); i++ {
		if a[i] != '$' || i+1 >= len(a) {
			b.WriteByte(a[i])
			continue
		}
		if a[i+1] == '$' {
			b.WriteByte('$')
			i++
			continue
		}
		end := strings.IndexByte(a[i:], '}')
		if a[i+1] == '{' && end > 0 {
			b.WriteString(env[a[i+2:i+end]]) // what is no name is empty, and the journal says so
			i += end
			continue
		}
		b.WriteByte('$')
	}
	return b.String()
}

func isName(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// builtinMark is the body of units that have no process in the lab: they are
// active from boot on.
const BuiltinMark = "[Service]\nX-Lab-Builtin=yes\n"

const UnitDir = "/usr/lib/systemd/system/"

func (s *Manager) InstallUnits(units map[string]string) {
	for name, body := range units {
		s.m.FS.Put(UnitDir+name, body, 0o644)
		if strings.Contains(body, "[Install]") {
			s.link(name)
		}
	}
}

// StartWanted starts what is enabled, before the network service what is wanted
// by sysinit.target, and the rest after it.
func (s *Manager) StartWanted(early bool) {
	for _, link := range s.wantedLinks() {
		name := path.Base(link)
		if early != strings.Contains(link, "/sysinit.target.wants/") {
			continue
		}
		if err := s.Start(name); err != nil {
			s.Log(name, "systemd", err.Error())
		}
	}
}

// Builtins installs units that have no process in the lab and that every boot starts.
func (s *Manager) Builtins(units map[string]string) {
	s.InstallUnits(units)
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range units {
		s.builtin = append(s.builtin, name)
	}
}

// StartBuiltins starts them.
func (s *Manager) StartBuiltins() {
	for _, name := range s.builtin {
		_ = s.Start(name)
	}
}

// reset forgets what a boot does not keep.
func (s *Manager) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.units, s.lines = map[string]*unit{}, nil
	s.inhibitors, s.hup = map[int]Inhibitor{}, map[int]func(){}
}
