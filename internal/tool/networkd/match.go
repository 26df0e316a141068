package networkd

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Condition is one line of [Match]. One of its values has to fit. If the first begins
// with "!", none of them may fit.
type Condition struct {
	Key    string
	Values []string
}

// Matches reports whether networkd takes the file for an interface. The answer is
// unknown if it depends on a fact that was not read, as for Path= or Virtualization=.
func (f File) Matches(l ipconf.Link) fact.Bool {
	var unknown []string
	for _, c := range f.Match {
		fits := c.fits(l)
		if fact.No(fits) {
			return fits
		}
		if !fits.Known() {
			unknown = append(unknown, fits.Why())
		}
	}
	if len(unknown) > 0 {
		return fact.Unknown[bool](strings.Join(unknown, "; "))
	}
	return fact.Known(true)
}

// Exactly reports whether [Match] names this interface and no other: by its name or by
// its hardware address.
func (f File) Exactly(l ipconf.Link) bool {
	for _, c := range f.Match {
		switch {
		case len(c.Values) != 1:
		case c.Key == "Name" && l.Name != "" && c.Values[0] == l.Name,
			(c.Key == "MACAddress" || c.Key == "PermanentMACAddress") && l.HasAddress(c.Values[0]):
			return true
		}
	}
	return false
}

func (c Condition) fits(l ipconf.Link) fact.Bool {
	values, not := slices.Clone(c.Values), false
	if len(values) > 0 {
		values[0], not = strings.CutPrefix(values[0], "!")
	}
	var fits func(string) bool
	switch c.Key {
	case "Name":
		if l.Name == "" && slices.ContainsFunc(values, l.CanGetName) {
			return fact.Unknown[bool]("the name of the interface is not known yet")
		}
		fits = l.HasName
	case "MACAddress", "PermanentMACAddress":
		fits = l.HasAddress
	case "Driver":
		fits = l.HasDriver
	case "Type":
		fits = func(pattern string) bool { return ipconf.Glob(pattern, ipconf.Type) }
	default:
		return fact.Unknown[bool](c.Key + "=" + strings.Join(c.Values, " ") + " was not looked at")
	}
	return fact.Known(len(values) == 0 || slices.ContainsFunc(values, fits) != not)
}
