package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// AnnounceNew says what the apply of a new resource does to the interface and the files of its host, by the look
// at the host of before this walk; empty if the host has all of it.
func AnnounceNew(l *found.Look, d ipoib.Request) string {
	if !l.ToDo(d) {
		return ""
	}
	var parts []string
	if was := l.Live.Config; l.Present {
		if was.Mode == ib.ModeDatagram { // the kernel has the MTU follow the broadcast group
			was.MTU = d.Config.MTU
		}
		was.Routes = ipconf.Without(d.Config.Routes, ipconf.Without(d.Config.Routes, was.Routes))
		parts = settingChanges(was, d.Config)
	}
	if l.PKey != 0 { // the names of its files follow from that of the port's interface, which may not be there yet
		if !l.Present {
			parts = append(parts, fmt.Sprintf("makes the interface of P_Key 0x%04x", l.PKey))
		}
		parts = append(parts, "writes its files")
	}
	return strings.Join(append(parts, places(l, d, l.Unwritten(l.Written(), d.Config))...), "; ")
}

// Announce says it of a state that has was. What is to be done for such a state where it has all settings, and what
// the host has of our files, the last refresh has told: seen. Neither may follow from the host as it is now, or two
// plans of one change differ.
func Announce(l *found.Look, was ipoib.Config, seen found.Seen, d ipoib.Request) string {
	parts := settingChanges(was, d.Config)
	if len(parts) == 0 {
		// No setting differs: then only what the last refresh has seen can be a reason to write.
		if parts = slices.Clone(seen.ToDo); len(parts) == 0 && len(l.Adopted(d)) == 0 {
			return ""
		}
	}
	return strings.Join(append(parts, places(l, d, l.Unwritten(seen.Own, d.Config))...), "; ")
}

// ToDo says what an apply of d does to an interface of which the state has all settings.
func ToDo(l *found.Look, d ipoib.Request) (parts []string) {
	if diff := l.Differences(d.Config); len(diff) > 0 {
		parts = append(parts, "mends "+strings.Join(diff, ", "))
	}
	switch {
	case l.UndoDue():
		parts = append(parts, "makes anew what the host takes back by itself")
	case l.HasLeftovers():
		parts = append(parts, "puts away what an earlier change has left")
	}
	return parts
}

// places says where the configuration is written.
func places(l *found.Look, d ipoib.Request, files []string) (parts []string) {
	for _, f := range l.Adopted(d) {
		parts = append(parts, "takes over "+f.Path)
	}
	switch {
	case l.Stack == ipoib.StackMiddleware:
		parts = append(parts, "stores the interface in the middleware")
	case len(files) > 0:
		parts = append(parts, "writes "+strings.Join(files, ", "))
	}
	return parts
}

// settingChanges are the settings that differ, "mtu: 2044 -> 9000".
func settingChanges(was, is ipoib.Config) (parts []string) {
	add := func(name, from, to string) {
		if from != to {
			parts = append(parts, name+": "+cmp.Or(from, "none")+" -> "+cmp.Or(to, "none"))
		}
	}
	add("mode", was.Mode.String(), is.Mode.String())
	add("mtu", numberWord(was.MTU), numberWord(is.MTU))
	add("dhcp4", dhcpWord(was), dhcpWord(is))
	add("addresses", listWords(ipconf.SortedAddresses(was.Addresses)), listWords(ipconf.SortedAddresses(is.Addresses)))
	add("routes", listWords(ipconf.SortedRoutes(was.Routes)), listWords(ipconf.SortedRoutes(is.Routes)))
	return parts
}

func dhcpWord(c ipoib.Config) string {
	if c.DHCP4 {
		return "true"
	}
	return ""
}

func numberWord(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func listWords[T interface{ String() string }](all []T) string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = one.String()
	}
	return strings.Join(slices.Compact(words), ", ")
}
