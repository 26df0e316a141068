package ifupdown

import (
	"path"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
)

// ByOtherName gives the line by which ifup configures an interface from a stanza of another
// name, "auto ibp1s0=storage", "auto /ib*=storage" or "mapping ib*"; empty if there is none
// (interfaces(5)). It is unknown if nothing here tells whether the line is for the interface.
// address is the hardware address of the interface; empty if that is not known.
func (f File) ByOtherName(name, address string) fact.Of[string] {
	doubt := fact.Known("")
	for _, auto := range f.Auto {
		// A value may hold "=", too; the name of a stanza does not.
		at := strings.LastIndex(auto, "=")
		if at < 0 {
			continue
		}
		switch fits := physical(auto[:at], name, address); {
		case fact.Yes(fits):
			return fact.Known("auto " + auto)
		case !fits.Known():
			doubt = fact.Unknown[string]("auto " + auto + ": " + fits.Why())
		}
	}
	for _, pattern := range f.Mapped {
		if fact.Yes(matches(pattern, name)) {
			return fact.Known("mapping " + pattern)
		}
		if why := matches(pattern, name).Why(); why != "" {
			doubt = fact.Unknown[string]("mapping " + pattern + ": " + why)
		}
	}
	return doubt
}

// physical reports whether a word of an "auto" line is for an interface: a name, or a
// pattern [VARIABLE]/VALUE[/[OPTIONS]]. ifupdown2 takes names as globs.
func physical(word, name, address string) fact.Bool {
	if !strings.Contains(word, "/") || strings.HasPrefix(word, "/dev/") {
		return matches(word, name)
	}
	variable, value, _ := strings.Cut(word, "/")
	value, options, _ := strings.Cut(value, "/")
	var fits fact.Bool
	switch variable {
	case "":
		fits = matches(value, name)
	case "mac":
		fits = ofAddress(value, address)
	default:
		return fact.Unknown[bool]("what /sys/class/net/" + name + "/" + variable + " has was not read")
	}
	if fact.Yes(fits) && options != "" {
		return fact.Unknown[bool]("it is for one of the interfaces that fit, and which one is decided at boot")
	}
	return fits
}

// ofAddress reports whether a pattern is for a hardware address. That of an IPoIB interface
// has 20 bytes.
func ofAddress(pattern, address string) fact.Bool {
	const long = len("80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e4:4e:d1")
	if address != "" {
		return matches(strings.ToLower(pattern), strings.ToLower(address))
	}
	if !strings.ContainsAny(pattern, "*?[") && len(pattern) != long {
		return fact.Known(false)
	}
	return fact.Unknown[bool]("the hardware address is not known")
}

// matches is fnmatch(3).
func matches(pattern, name string) fact.Bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	if err != nil || strings.Contains(pattern, "[[:") {
		return fact.Unknown[bool]("the pattern is not understood")
	}
	return fact.Known(ok)
}
