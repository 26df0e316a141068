package labsim

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// modprobeParents have the directories modprobe.d, the first one that has a file wins.
var modprobeParents = []string{"/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"}

// modprobeFiles reads the files of modprobe.d below these directories, by name.
func (m *Machine) modprobeFiles(parents ...string) map[string]string {
	files := map[string]string{}
	for _, parent := range parents {
		for _, file := range m.FS.Glob(parent + "/modprobe.d/*") {
			name := path.Base(file)
			if _, hidden := files[name]; hidden || name[0] == '.' || path.Ext(name) != ".conf" && path.Ext(name) != ".alias" {
				continue
			}
			files[name] = m.FS.Text(file)
		}
	}
	return files
}

// moduleConfig is what kmod makes of its files: lines of options, and the commands that are
// run instead of loading a module.
type moduleConfig struct{ options, installs [][2]string }

// readModprobe reads files in the order of their names.
func readModprobe(files map[string]string) *moduleConfig {
	c := &moduleConfig{}
	for _, name := range sortedKeys(files) {
		if strings.Contains(name, "/") {
			continue // the initramfs has other files, too
		}
		for _, line := range strings.Split(unescaped(files[name]), "\n") {
			c.addLine(line)
		}
	}
	return c
}

// unescaped leaves out backslashes, and with them the end of a line.
func unescaped(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, `\`)
		b.WriteString(before)
		if !found || after == "" {
			return b.String()
		}
		if after[0] != '\n' {
			b.WriteByte(after[0])
		}
		text = after[1:]
	}
}

func (c *moduleConfig) addLine(line string) {
	f := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if strings.HasPrefix(line, "#") || len(f) < 3 {
		return
	}
	entry := [2]string{strings.ReplaceAll(f[1], "-", "_"), strings.Join(f[2:], " ")}
	switch f[0] {
	case "options":
		c.options = append(c.options, entry)
	case "install":
		c.installs = append(c.installs, entry)
	}
}

// addCommandLine adds the options of modules that the boot loader gives: a word with a dot
// before any equals sign. A quote may stand before the word.
func (c *moduleConfig) addCommandLine(text string) {
	for _, word := range splitQuoted(text) {
		bare := strings.TrimPrefix(word, `"`)
		module, option, ok := strings.Cut(bare, ".")
		if !ok || strings.ContainsAny(module, `="`) {
			continue
		}
		if bare != word {
			option = `"` + option
		}
		c.options = append(c.options, [2]string{strings.ReplaceAll(module, "-", "_"), option})
	}
}

// of gives the options with which a module is inserted. Not run: the install line of the
// module does not load it.
func (c *moduleConfig) of(name string) (options string, run bool) {
	var all []string
	for _, o := range c.options {
		if o[0] == name {
			all = append(all, o[1])
		}
	}
	for _, i := range c.installs {
		if match, _ := path.Match(i[0], name); match { // the first one counts
			extra, loads := ignoredInstall(i[1], name)
			return strings.Join(append(all, extra), " "), loads
		}
	}
	return strings.Join(all, " "), true
}

// ignoredInstall finds "modprobe --ignore-install NAME OPTIONS" in a command.
func ignoredInstall(command, name string) (options string, found bool) {
	for _, part := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(";&|()", r) }) {
		f := strings.Fields(part)
		at := slices.Index(f, name)
		if at < 2 || path.Base(f[at-2]) != "modprobe" || f[at-1] != "--ignore-install" && f[at-1] != "-i" {
			continue
		}
		rest := slices.DeleteFunc(f[at+1:], func(w string) bool { return w == "$CMDLINE_OPTS" })
		return strings.Join(rest, " "), true
	}
	return "", false
}

// splitQuoted splits at blanks that no quotes are around.
func splitQuoted(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		quoted = quoted != (r == '"')
		return !quoted && (r == ' ' || r == '\t' || r == '\n')
	})
}

// insert is the kernel's part: it reads the options, and refuses a module with one that has
// no meaning (kernel/params.c).
func (m *Machine) insert(name, options string) error {
	array := [2]int{}
	for _, word := range splitQuoted(options) {
		if word == "--" {
			break
		}
		bare := strings.TrimPrefix(word, `"`)
		key, value, _ := strings.Cut(bare, "=")
		if name != "mlx4_core" || strings.ReplaceAll(key, "-", "_") != "port_type_array" {
			continue
		}
		if inner := strings.TrimPrefix(value, `"`); inner != value || bare != word {
			value = strings.TrimSuffix(inner, `"`)
		}
		if err := setArray(&array, value); err != nil {
			m.KernelLog("%s: `%s' invalid for parameter `%s'", name, value, key)
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.modules[name] = true
	if name == "mlx4_core" {
		m.portTypes = array
	}
	return nil
}

// setArray sets as many elements as are named; the others keep what they have.
func setArray(array *[2]int, text string) error {
	for i, word := range strings.Split(text, ",") {
		n, err := strconv.ParseInt(word, 0, 32)
		if err != nil || i >= len(array) {
			return syscall.EINVAL
		}
		array[i] = int(n)
	}
	return nil
}

// portTypeArray is the parameter with which mlx4_core was loaded.
func (m *Machine) portTypeArray() [2]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.portTypes
}
