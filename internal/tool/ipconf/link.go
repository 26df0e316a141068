package ipconf

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Link is an IPoIB interface of a host, as definitions may match it.
type Link struct {
	Name     string   // empty if there is none yet
	PKey     uint16   // of a P_Key child; zero for the interface of the port itself
	Others   []string // names of the host's other interfaces
	PortGUID ib.GUID
	Driver   string // of the card: "mlx4_core"; empty if unknown
}

// Type is how udev and networkd call the type of an IPoIB interface.
const Type = "infiniband"

// HasAddress reports whether a hardware address of a definition is, or was, that of the
// interface. It compares the last 8 of 20 bytes, the port GUID: the bytes before them
// change with every load of the driver.
func (l Link) HasAddress(address string) bool {
	i := Interface{Address: strings.ToLower(strings.ReplaceAll(address, "-", ":"))}
	return !l.PortGUID.IsZero() && i.PortGUID() == l.PortGUID
}

// HasDriver reports whether a pattern fits the interface's driver. ethtool says
// ib_ipoib, or the card's driver with ib_ipoib in brackets. udev knows the card's
// driver too.
func (l Link) HasDriver(pattern string) bool {
	names := []string{"ib_ipoib"}
	if l.Driver != "" {
		names = append(names, l.Driver, l.Driver+"[ib_ipoib]")
	}
	return slices.ContainsFunc(names, func(name string) bool { return Glob(pattern, name) })
}

// HasName reports whether a pattern is that of the interface's name.
func (l Link) HasName(pattern string) bool { return l.Name != "" && Glob(pattern, l.Name) }

// otherKinds are how the kernel and systemd begin the names of interfaces that are not
// IPoIB (systemd.net-naming-scheme(7)).
var otherKinds = []string{"en", "eth", "wl", "ww", "sl", "lo"}

// CanGetName reports whether a pattern may fit the name that an interface gets which is not
// there yet: not if it is for other kinds of interfaces, not if it is the name of another
// interface, and not if it is that of another P_Key. A rule of udev could give any name: an
// apply looks again once the interface is there, before it changes it.
func (l Link) CanGetName(pattern string) bool {
	if key, whole := keyOf(pattern); whole && key != l.PKey {
		return false
	}
	return !slices.Contains(l.Others, pattern) &&
		!slices.ContainsFunc(otherKinds, func(kind string) bool { return strings.HasPrefix(pattern, kind) })
}

// keyOf gives the P_Key of a child that is called by the kernel and all stacks, ibp1s0.8001;
// zero for another name. It is not whole if the pattern fits several names.
func keyOf(pattern string) (key uint16, whole bool) {
	_, end, _ := strings.Cut(pattern, ".")
	n, err := strconv.ParseUint(end, 16, 16)
	if err != nil || len(end) != 4 {
		n = 0
	}
	return uint16(n), !strings.ContainsAny(pattern, `*?[\`)
}

// Glob matches as a shell does. An invalid pattern matches everything, because nobody
// knows what it is for.
func Glob(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok || err != nil
}
