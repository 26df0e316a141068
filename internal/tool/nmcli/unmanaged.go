package nmcli

import (
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
)

// confDirs are the directories of NetworkManager's configuration. A file in a later one
// replaces a file of the same name in an earlier one.
var confDirs = []string{"/usr/lib/NetworkManager/conf.d", "/run/NetworkManager/conf.d", "/etc/NetworkManager/conf.d"}

// MainConf is read after the directories of the distribution and before /etc's.
const MainConf = "/etc/NetworkManager/NetworkManager.conf"

// Confs are those of some paths that are NetworkManager's configuration, in the order in which
// it reads them. A file that is hidden by one of its name is left out.
func Confs(paths []string) []string {
	rank := func(at string) int {
		if at == MainConf {
			return len(confDirs) - 1
		}
		if i := slices.Index(confDirs, path.Dir(at)); i < len(confDirs)-1 {
			return i
		}
		return len(confDirs)
	}
	var out []string
	for _, at := range paths {
		hidden := slices.ContainsFunc(paths, func(other string) bool {
			return other != MainConf && at != MainConf && path.Base(other) == path.Base(at) && rank(other) > rank(at)
		})
		if rank(at) >= 0 && !hidden && strings.HasSuffix(at, ".conf") {
			out = append(out, at)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		if rank(a) != rank(b) {
			return rank(a) - rank(b)
		}
		return strings.Compare(a, b)
	})
	return out
}

// AddUnmanaged is what unmanaged-devices of the section [keyfile] is after one more file: "=" sets
// the list, "+=" adds to it, "-=" takes out of it. says is true if the file says anything of it.
func AddUnmanaged(before []string, conf string) (after []string, says bool) {
	after = before
	for _, s := range settings(conf) {
		key, how := s.key, ""
		if bare := strings.TrimRight(key, "+-"); bare+"+" == key || bare+"-" == key {
			key, how = strings.TrimSpace(bare), key[len(bare):]
		}
		if s.section != "keyfile" || key != "unmanaged-devices" {
			continue
		}
		says = true
		list := specs(s.value)
		switch how {
		case "+":
			after = slices.Concat(after, list)
		case "-":
			after = slices.DeleteFunc(slices.Clone(after), func(s string) bool { return slices.Contains(list, s) })
		default:
			after = list
		}
	}
	return after, says
}

type setting struct{ section, key, value string }

// settings are the lines of a file of configuration that say something.
func settings(conf string) (all []setting) {
	section := ""
	for line := range strings.Lines(conf) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			continue
		}
		key, value, is := strings.Cut(line, "=")
		if is && !strings.HasPrefix(line, "#") {
			all = append(all, setting{section, strings.TrimSpace(key), strings.TrimSpace(value)})
		}
	}
	return all
}

func specs(value string) (list []string) {
	for word := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ',' || r == ';' }) {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}

// Device is an IPoIB interface as NetworkManager sees it.
type Device struct{ Name, Hardware string }

// Lists reports whether a list of devices has one. What "except:" names is not in it, whatever
// else the list says; a list of nothing else has all others. Which driver NetworkManager sees
// below an IPoIB interface depends on the kernel: one that could be it is not known.
func Lists(list []string, d Device) fact.Bool {
	found, why := len(list) > 0, ""
	for _, spec := range list {
		found = found && strings.HasPrefix(spec, "except:")
	}
	for _, spec := range list {
		rest, except := strings.CutPrefix(spec, "except:")
		has := d.matches(rest)
		switch yes, known := has.Get(); {
		case !known:
			why = has.Why()
		case yes && except:
			return fact.Known(false)
		case yes:
			found = true
		}
	}
	if why != "" {
		return fact.Unknown[bool](why)
	}
	return fact.Known(found)
}

// ManagedBy reports whether a file of NetworkManager's configuration has it manage a device, by
// which of its sections [device…]; empty if none says so.
func ManagedBy(conf string, d Device) (managed fact.Bool, section string) {
	var names []string
	values := map[string]map[string]string{}
	for _, s := range settings(conf) {
		if values[s.section] == nil && strings.HasPrefix(s.section, "device") {
			names, values[s.section] = append(names, s.section), map[string]string{}
		}
		if values[s.section] != nil {
			values[s.section][s.key] = s.value
		}
	}
	// Top-down, and the plain section last.
	if i := slices.Index(names, "device"); i >= 0 {
		names = append(slices.Delete(names, i, i+1), "device")
	}
	for _, name := range names {
		if is, says := decides(values[name], d); says {
			return is, name
		}
	}
	return managed, ""
}

// decides reports whether a section says of a device that it is managed, or that no further
// section counts.
func decides(section map[string]string, d Device) (managed fact.Bool, says bool) {
	matches := fact.Known(true)
	if list, some := section["match-device"]; some {
		matches = Lists(specs(list), d)
	}
	value, said := section["managed"]
	managed = truth(value)
	switch {
	case fact.No(matches):
		return managed, false
	case !matches.Known():
		return fact.Unknown[bool](matches.Why()), said && !fact.Yes(managed)
	case !said:
		return fact.Known(true), fact.Yes(truth(section["stop-match"]))
	}
	return managed, true
}

// truth reads a value that is yes or no.
func truth(value string) fact.Bool {
	switch strings.ToLower(value) {
	case "1", "yes", "true", "on":
		return fact.Known(true)
	case "0", "no", "false", "off":
		return fact.Known(false)
	}
	return fact.Unknown[bool]("what \"" + value + "\" means")
}

// drivers are those that NetworkManager may see below an IPoIB interface.
var drivers = []string{"ib_ipoib", "mlx4_core", "mlx5_core", "mlx5_core[ib_ipoib]", "ib_qib", "ib_mthca"}

func (d Device) matches(spec string) fact.Bool {
	kind, value, has := strings.Cut(spec, ":")
	switch {
	case spec == "*":
		return fact.Known(true)
	case kind == "interface-name":
		exact := strings.HasPrefix(value, "=")
		return fact.Known(exact && value[1:] == d.Name || !exact && like(strings.TrimPrefix(value, "~"), d.Name))
	case kind == "type":
		return fact.Known(value == "infiniband")
	case kind == "mac":
		return fact.Known(strings.EqualFold(value, d.Hardware))
	case kind == "driver":
		return byDriver(value)
	case has && !strings.EqualFold(spec, d.Hardware):
		return fact.Known(false) // an address, or a property that no IPoIB interface has
	}
	return fact.Known(strings.EqualFold(spec, d.Hardware) || spec == d.Name)
}

func byDriver(value string) fact.Bool {
	pattern, _, _ := strings.Cut(value, "/") // the version follows
	if pattern == "*" || !slices.ContainsFunc(drivers, func(name string) bool { return like(pattern, name) }) {
		return fact.Known(pattern == "*")
	}
	return fact.Unknown[bool]("whether driver:" + value + " is its driver")
}

// like matches a name with a pattern of * and ?.
func like(pattern, name string) bool {
	// A class in brackets is none for NetworkManager; the name of mlx5's driver has brackets.
	quoted := strings.NewReplacer("[", "\\[", "]", "\\]").Replace(pattern)
	ok, err := path.Match(quoted, name)
	return err == nil && ok
}
