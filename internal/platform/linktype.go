package platform

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/modprobe"
)

// Place is one place of a host that sets types of ports when mlx4_core loads.
type Place struct {
	// Name is that of LinkTypesStoredIn for ours, else "kernel command line" or a file.
	Name string
	Ours bool // PersistLinkTypes writes it
	// Types are by port from 1, "auto" for what the firmware prefers. Nil: it sets none, or
	// none that is understood.
	Types map[int]ib.LinkType
	// Stale is yes if the initial RAM disk has an older copy, which the driver reads.
	Stale fact.Bool
	// Edits are what somebody has written into our file, which PersistLinkTypes writes anew.
	// It keeps a file with such lines beside its place.
	Edits []Edit
	// NotOurs is what keeps PersistLinkTypes from writing: a file or a line in the place of
	// ours that somebody else has written. Empty if there is none.
	NotOurs string
	// Unclear are lines that may decide, and that are not understood, each with its file.
	Unclear []string
	Unread  bool // it may decide, and could not be read
}

// Places are those of one card, the one that wins at the next boot first. Those that could not
// be read stand last: nobody knows what they win over.
type Places []Place

// Ours is the place that PersistLinkTypes writes.
func (p Places) Ours() Place {
	if i := p.ours(); i >= 0 {
		return p[i]
	}
	return Place{Stale: fact.Known(false)}
}

func (p Places) ours() int { return slices.IndexFunc(p, func(one Place) bool { return one.Ours }) }

// Stronger are the places that override ours.
func (p Places) Stronger() Places { return p[:max(p.ours(), 0)] }

// Fresh are the places of which the driver reads at the next boot what they have now, before the
// first of which the initial RAM disk has an older copy. What that copy has is not known.
func (p Places) Fresh() Places {
	if i := slices.IndexFunc(p, func(one Place) bool { return fact.Yes(one.Stale) }); i >= 0 {
		return p[:i]
	}
	return p
}

// Array is the parameter of the driver that places give: of a port, the first that names it
// counts.
func (p Places) Array() map[int]ib.LinkType {
	all := map[int]ib.LinkType{}
	for _, one := range slices.Backward(p) {
		maps.Copy(all, one.Types)
	}
	return all
}

// Deciding names the first place that names a port; empty if none does.
func (p Places) Deciding(port int) string {
	for _, one := range p {
		if _, named := one.Types[port]; named {
			return one.Name
		}
	}
	return ""
}

// FromOurs are ours, unless the initial RAM disk has an older copy, and those that it overrides.
func (p Places) FromOurs() Places {
	i := p.ours()
	if i < 0 || fact.Yes(p[i].Stale) {
		i++
	}
	return p[i:]
}

// Unclear says why nobody knows what decides at the next boot: places that could not be read,
// and lines that are not understood. Empty if it is known.
func (p Places) Unclear() string {
	var lines []string
	for _, one := range slices.Backward(p) {
		lines = append(lines, one.Unclear...)
	}
	for _, one := range p {
		if one.Unread {
			return one.Name + " could not be read"
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "; ") + ": the provider does not understand that"
}

// inOrder puts together the places of a host, those that win first, and those that could not
// be read.
func inOrder(s *inventory.Snapshot, parts ...Places) Places {
	all := slices.DeleteFunc(slices.Concat(parts...), func(p Place) bool {
		return !p.Ours && p.Types == nil && len(p.Unclear) == 0
	})
	for _, file := range slices.Sorted(maps.Keys(s.Unread)) {
		if file == "/proc/cmdline" || file == MLX4ConfPath || slices.Contains(modprobe.Dirs, file) ||
			slices.Contains(modprobe.Dirs, path.Dir(file)) {
			all = append(all, Place{Name: file, Unread: true})
		}
	}
	return all
}

// placeOf is a place with what its values give. Of two values the later one counts, for the
// ports that it names.
func placeOf(name string, o modprobe.Options, stale fact.Bool) Place {
	p := Place{Name: name, Stale: stale}
	unclear := slices.Clone(o.Unclear)
	for _, value := range o.Values {
		types := parsePortTypeArray(value)
		if types == nil {
			unclear = append(unclear, portTypeParam+"="+value)
			continue
		}
		if p.Types == nil {
			p.Types = map[int]ib.LinkType{}
		}
		maps.Copy(p.Types, types)
	}
	for _, line := range unclear {
		p.Unclear = append(p.Unclear, name+" has `"+line+"`")
	}
	return p
}

// filesOfOthers are the files of modprobe.d but one: those behind ours in the order of names,
// which win over it, and those before it. What a rule of install may run besides modprobe is in
// known.
func filesOfOthers(s *inventory.Snapshot, but string, stale fact.Bool, known ...string) (behind, before Places) {
	for _, file := range slices.Backward(modprobeFiles(s)) {
		switch {
		case file == but:
		case path.Base(file) > path.Base(ModprobePath):
			behind = append(behind, placeOf(file, readOptions(s.Files[file].Content, known...), stale))
		default:
			before = append(before, placeOf(file, readOptions(s.Files[file].Content, known...), stale))
		}
	}
	return behind, before
}

func readOptions(content string, known ...string) modprobe.Options {
	return modprobe.ReadFile(content, mlx4Module, portTypeParam, slices.Concat(known, []string{"mlx4_en", "mlx4_ib"})...)
}

// commandLine is what the running kernel was given for the driver. No RAM disk has a copy of it.
func commandLine(s *inventory.Snapshot) Places {
	return Places{placeOf(CommandLine, modprobe.ReadCommandLine(s.Cmdline, mlx4Module, portTypeParam), fact.Known(false))}
}

const (
	mlx4Module    = "mlx4_core"
	portTypeParam = "port_type_array"
)

// portTypeArray writes link types for mlx4_core: for each port 0 (what the firmware
// prefers), 1 (InfiniBand) or 2 (Ethernet). The driver accepts other numbers without
// complaint and misreads them (Linux 6.1 to 7.3, drivers/net/ethernet/mellanox/mlx4).
func portTypeArray(types map[int]ib.LinkType) (string, error) {
	ports := slices.Sorted(maps.Keys(types))
	words := make([]string, 0, len(ports))
	for i, p := range ports {
		if p != i+1 {
			return "", fmt.Errorf("link types are for the ports %v; want them from 1 on without gaps", ports)
		}
		switch types[p] {
		case ib.LinkTypeIB:
			words = append(words, "1")
		case ib.LinkTypeETH:
			words = append(words, "2")
		case ib.LinkTypeAuto:
			words = append(words, "0")
		default:
			return "", fmt.Errorf("port %d: unknown link type %q", p, types[p])
		}
	}
	if len(words) == 0 {
		return "", fmt.Errorf("no port has a link type")
	}
	return strings.Join(words, ","), nil
}

// parsePortTypeArray reads an array as the kernel does (kernel/params.c, lib/kstrtox.c); nil
// if the kernel does not take it, or the driver misreads it.
func parsePortTypeArray(text string) map[int]ib.LinkType {
	types := map[int]ib.LinkType{}
	for i, word := range strings.Split(text, ",") {
		n, err := kernelInt(word)
		if err != nil || n < 0 || int(n) >= len(arrayTypes) || i >= arrayPorts {
			return nil
		}
		types[i+1] = arrayTypes[n]
	}
	return types
}

// arrayPorts is how many ports port_type_array has.
const arrayPorts = 2

var arrayTypes = []ib.LinkType{ib.LinkTypeAuto, ib.LinkTypeIB, ib.LinkTypeETH}

// kernelInt is kstrtoint of the kernel, with the base from the prefix: Go knows more forms.
func kernelInt(text string) (int64, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
	if strings.ContainsAny(digits, "_oObB+-") && !strings.HasPrefix(strings.ToLower(digits), "0x") {
		return 0, fmt.Errorf("%q is not a number of the kernel", text)
	}
	return strconv.ParseInt(text, 0, 32)
}

// modprobeFiles are the files of modprobe.d in the order of their names. Of two with one name
// in different directories both may count: initial RAM disks do not have all directories.
func modprobeFiles(s *inventory.Snapshot) []string {
	var all []string
	for _, dir := range slices.Backward(modprobe.Dirs) {
		all = append(all, s.FilesUnder(dir)...)
	}
	slices.SortStableFunc(all, func(a, b string) int { return strings.Compare(path.Base(a), path.Base(b)) })
	return all
}

// portTypesFor writes the types for the driver's option, which counts for all its
// cards: whether another one may change is the verdict's to say (LT007).
func portTypesFor(ctx context.Context, h *hosts.Host,
	types map[int]ib.LinkType) (s *inventory.Snapshot, array string, err error) {
	if array, err = portTypeArray(types); err != nil {
		return nil, "", err
	}
	s, err = h.Snapshot(ctx)
	return s, array, err
}
