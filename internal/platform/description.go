package platform

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// All are the families, as lists and tables have them.
var All = []*Description{&ubuntu, &debian, &rhel, &fedora, &arch, &truenas}

// supportedSystems names the systems that can be changed, as messages list them.
func supportedSystems() string {
	titles := make([]string, len(All))
	for i, d := range All {
		titles[i] = d.Title
	}
	last := len(titles) - 1
	return strings.Join(titles[:last], "; ") + "; and " + titles[last]
}

// UnknownError says that the operating system of a host is not supported.
type UnknownError struct {
	Host, ID, PrettyName string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s runs %q, which is not supported: its cards can be read, but nothing on it can be changed. "+
		"Supported are %s", e.Host, cmp.Or(e.PrettyName, e.ID), supportedSystems())
}

// Of tells from a snapshot which platform a host is. Another system than the
// supported ones, or another release of them, is *UnknownError.
func Of(s *inventory.Snapshot) (Platform, error) {
	d := describe(s.OS)
	if d == nil || !d.hasRelease(s.OS.VersionID) {
		return nil, &UnknownError{Host: s.Host, ID: s.OS.ID, PrettyName: s.OS.PrettyName}
	}
	is := system{d, d.nameOf(s.OS)}
	if d.platform != nil {
		return d.platform(is), nil
	}
	return distribution{is, d.portTypes}, nil
}

// describe finds the family of a system; nil if it has none.
func describe(os inventory.OS) *Description {
	for _, d := range All {
		if slices.Contains(d.IDs, os.ID) {
			return d
		}
	}
	return nil
}

func (d *Description) hasRelease(version string) bool {
	if len(d.Releases) == 0 {
		return majorVersion(version) >= d.Oldest
	}
	return slices.ContainsFunc(d.Releases, func(r string) bool {
		return version == r || strings.HasPrefix(version, r+".")
	})
}

// nameOf is what messages call a system.
func (d *Description) nameOf(os inventory.OS) string {
	if d.called != nil {
		if name := d.called(os); name != "" {
			return strings.TrimSpace(name)
		}
	}
	if os.PrettyName != "" {
		return os.PrettyName
	}
	return strings.TrimSpace(os.ID + " " + os.VersionID)
}
