package platform

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/modprobe"
)

const (
	mlx4Module    = "mlx4_core"
	portTypeParam = "port_type_array"
)

// portTypeArray writes link types for mlx4_core: for each port 0 (what the firmware
// prefers), 1 (InfiniBand) or 2 (Ethernet). The driver accepts other numbers without
// complaint and misreads them (Linux 6.1 to 7.3, drivers/net/ethernet/mellanox/mlx4).
func portTypeArray(types map[int]ib.LinkType) (string, error) {
	ports := slices.Sorted(mapKeys(types))
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

func mapKeys(types map[int]ib.LinkType) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for p := range types {
			if !yield(p) {
				return
			}
		}
	}
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

// portTypes is what a configuration of the driver says of port_type_array.
type portTypes struct {
	types   map[int]ib.LinkType // nil if it says nothing
	unclear []string            // lines that may decide, and that are not understood
}

// portTypesOf puts together what the values of one place give. Of two values the later one
// counts, for the ports that it names.
func portTypesOf(o modprobe.Options) portTypes {
	p := portTypes{unclear: slices.Clone(o.Unclear)}
	for _, value := range o.Values {
		types := parsePortTypeArray(value)
		if types == nil {
			p.unclear = append(p.unclear, portTypeParam+"="+value)
			continue
		}
		if p.types == nil {
			p.types = map[int]ib.LinkType{}
		}
		maps.Copy(p.types, types)
	}
	return p
}

// noteUnclear adds what is not understood of a place.
func (r *LinkTypeRecord) noteUnclear(where string, p portTypes) {
	for _, line := range p.unclear {
		r.Unclear = append(r.Unclear, where+" has `"+line+"`")
	}
}

// readModprobe reads all files of modprobe.d in the order in which they count, but for ours:
// those before it and those behind it. What a rule of install may run besides modprobe is in
// known.
func (r *LinkTypeRecord) readModprobe(s *inventory.Snapshot, known ...string) (before, behind []LinkTypeSetting) {
	known = slices.Concat(known, []string{"mlx4_en", "mlx4_ib"})
	for _, file := range modprobeFiles(s) {
		o := modprobe.ReadFile(s.Files[file].Content, mlx4Module, portTypeParam, known...)
		p := portTypesOf(o)
		if file == ModprobePath && IsOurs(s.Files[file].Content) {
			p.unclear = o.Unclear // the next apply writes the values anew
		}
		r.noteUnclear(file, p)
		if file == ModprobePath && IsOurs(s.Files[file].Content) || len(o.Values) == 0 {
			continue
		}
		r.Unmanaged = append(r.Unmanaged, fmt.Sprintf("%s: options %s %s=%s", file, mlx4Module, portTypeParam,
			strings.Join(o.Values, " "+portTypeParam+"=")))
		switch setting := (LinkTypeSetting{file, p.types}); {
		case p.types == nil:
		case path.Base(file) > path.Base(ModprobePath):
			behind = append(behind, setting)
		default:
			before = append(before, setting)
		}
	}
	return before, behind
}

// readCommandLine reads what the running kernel was given for the driver.
func (r *LinkTypeRecord) readCommandLine(s *inventory.Snapshot) []LinkTypeSetting {
	o := modprobe.ReadCommandLine(s.Cmdline, mlx4Module, portTypeParam)
	p := portTypesOf(o)
	r.noteUnclear(CommandLine, p)
	for _, value := range o.Values {
		r.Unmanaged = append(r.Unmanaged, CommandLine+": "+portTypeToken+"="+value)
	}
	if p.types == nil {
		return nil
	}
	return []LinkTypeSetting{{CommandLine, p.types}}
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

// DecidesOnLinkTypes reports whether a path of a host is of what decides on the types at
// boot: nobody knows what is in it while it cannot be read.
func DecidesOnLinkTypes(file string) bool {
	return file == "/proc/cmdline" || file == MLX4ConfPath ||
		slices.Contains(modprobe.Dirs, file) || slices.Contains(modprobe.Dirs, path.Dir(file))
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
