package found

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Adoptable reports whether the definition can be taken over.
func (f Unmanaged) Adoptable() bool { return f.Path != "" && f.Obstacle == "" }

// Lines are what several definitions are, one line each.
func Lines(all []Unmanaged) []string {
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = f.Line
	}
	return texts
}

// definition is a file of the host's own network stack that defines an interface.
func definition(t Target, at, line string, i ipconf.Interface) Unmanaged {
	return Unmanaged{Line: line, Path: at, Saved: savedPath(t, at), Config: i.Sorted()}
}

// ofOtherStack is a definition that the host's network stack does not read. It is to be
// removed, not to be taken over.
func (f Unmanaged) ofOtherStack() Unmanaged { return Unmanaged{Line: f.Line, LostPort: f.LostPort} }

// savedPath is where a file that was taken over is kept: beside it, under a name that
// no network stack reads. All stacks skip hidden files, and netplan, networkd and
// NetworkManager skip the ending.
func savedPath(t Target, at string) string {
	dir, base := path.Split(at)
	return dir + "." + base + savedSuffix(t)
}

// savedSuffix is how the names of files end that were kept. It names the interface: two of them may
// have taken over a file of the same name, one after the other.
func savedSuffix(t Target) string { return ".before-infiniband-" + t.ID() }

// The obstacles that files of several network stacks share. Each says what to do.
func writtenBy(program, at string) string {
	return fmt.Sprintf("%s is not a file of an administrator: %s writes it, and would write it again. Take the interface "+
		"out of what that program writes.", at, program)
}

// sharedWith: a file is moved as a whole, so what it says of other interfaces would go with it.
func sharedWith(at, others, apart string) string {
	return fmt.Sprintf("%s also has %s. Move the definition of this interface to a file of its own, such as %s, "+
		"then plan again.", at, others, apart)
}

// NameTaken says that a file cannot be kept under its name.
func NameTaken(saved string) string {
	return fmt.Sprintf("%s is there already, from an earlier takeover, and may be the only copy. Move that file away, "+
		"then plan again.", saved)
}

// matchesMore: without the file the other interfaces would lose their definition.
func matchesMore(at, how, instead string) string {
	return fmt.Sprintf("%s is for every interface that fits %s. Write a definition of this interface alone, %s, in a "+
		"file of its own, and keep the other from fitting it. Then plan again.", at, how, instead)
}

const (
	byDHCP = "It gets its addresses by DHCP, and such a definition is not taken over. Give it fixed addresses in that " +
		"file first, and take them into use. Or move the file away, and set dhcp4 = true."
	notUnderstood = "A part of the file is not understood. Mend it, or remove the interface from it."
)

// Adopted are the definitions that d allows to take over.
func (l *Look) Adopted(d ipoib.Request) []Unmanaged {
	var all []Unmanaged
	for _, f := range l.Unmanaged {
		if f.Adoptable() && slices.Contains(d.Consent.AdoptFiles, f.Path) {
			all = append(all, f)
		}
	}
	return all
}

// Staying are the files of the host's own network stack that others have written. They define the
// interface also after a removal of ours.
func (l *Look) Staying() []Unmanaged {
	return slices.DeleteFunc(slices.Clone(l.Unmanaged), func(f Unmanaged) bool { return f.Path == "" })
}

// DefinedElsewhere reports whether others define the interface for the host's network stack.
func (l *Look) DefinedElsewhere() bool { return len(l.Staying()) > 0 }

// Awaited are the interfaces of ports that the host had of which a file of ours may match an
// interface that has no name yet.
func (l *Look) Awaited() (all []ipoib.Ref) {
	for _, f := range l.Unmanaged {
		if f.Awaited {
			all = append(all, f.LostPort)
		}
	}
	return all
}

// Without leaves out the definitions of interfaces that the plan removes before, and those that
// nothing is known of yet and a resource of the plan looks after.
func (l *Look) Without(leaving, lookedAfter []ipoib.Ref) *Look {
	fewer := *l
	fewer.Unmanaged = slices.DeleteFunc(slices.Clone(l.Unmanaged), func(f Unmanaged) bool {
		return slices.Contains(leaving, f.LostPort) || f.Awaited && slices.Contains(lookedAfter, f.LostPort)
	})
	return &fewer
}

// Reconfigures says why the change configures an interface anew although it is as asked, when it
// takes a definition over; empty if the interface can be left alone when the file goes.
func (l *Look) Reconfigures(f Unmanaged, want ipoib.Config) string {
	switch l.Stack {
	case ipoib.StackNetplanNM:
		// The profile has its name from the ID, and its UUID from that.
		if f.ID != l.Name {
			return "NetworkManager knows them as netplan-" + f.ID + ", a profile that goes with that file"
		}
	case ipoib.StackNM:
		if l.Netdev == nil || f.ID != l.Netdev.NMProfile {
			return "NetworkManager does not have them from that file"
		}
	case ipoib.StackNetplan, ipoib.StackNetworkd:
		// What networkd has read is what it gives the interface until it is told to read again,
		// and then it drops what it did not set.
		if !f.says(want) {
			return "systemd-networkd does not have them from that file"
		}
	case ipoib.StackIfupdown, ipoib.StackIfupdown2, ipoib.StackMiddleware, ipoib.StackUnknown:
	}
	return ""
}

// says reports whether the file gives an interface what is asked. Without an MTU it leaves
// that alone.
func (f Unmanaged) says(want ipoib.Config) bool {
	return (f.Config.MTU == 0 || f.Config.MTU == want.MTU) && ipconf.SameAddresses(f.Config.Addresses, want.Addresses) &&
		ipconf.SameRoutes(f.Config.Routes, want.Routes)
}

// unread are the files and directories of network stacks that could not be read; what
// they configure is not known.
func unread(h *hostFacts, _ Target) (all []Unmanaged) {
	for _, path := range slices.Sorted(maps.Keys(h.snap.Denied)) {
		if slices.ContainsFunc(stackDirs, func(dir string) bool { return strings.HasPrefix(path+"/", dir) }) {
			all = append(all, Unmanaged{Line: path + " cannot be read, so that it is not known whether it configures the " +
				"interface"})
		}
	}
	return all
}

// stackDirs are where network stacks keep definitions of interfaces.
var stackDirs = []string{
	"/etc/netplan/", "/run/netplan/", "/lib/netplan/", "/etc/systemd/network/", "/run/systemd/network/", "/etc/network/",
	"/etc/NetworkManager/", "/run/NetworkManager/system-connections/", "/etc/sysconfig/network-scripts/",
}

// misread adds to the line on a file which parts of the file were not understood.
func misread(err error) string {
	if err == nil {
		return ""
	}
	return "; not understood: " + strings.ReplaceAll(err.Error(), "\n", "; ")
}
