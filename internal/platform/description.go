package platform

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// All are the families, in the order in which ID_LIKE is read: Ubuntu's derivatives
// name Debian as well.
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
	Reason               string // why a known family is not; may be empty
}

func (e *UnknownError) Error() string {
	name := e.PrettyName
	name = cmp.Or(name, e.ID)
	reason := ""
	if e.Reason != "" {
		reason = " (" + e.Reason + ")"
	}
	return fmt.Sprintf("%s runs %q, which is not supported%s: its cards can be read, but nothing on it can be changed. "+
		"Supported are %s",
		e.Host, name, reason, supportedSystems())
}

// Of tells from a snapshot which platform a host is. Another system than the
// supported ones is *UnknownError.
func Of(s *inventory.Snapshot) (Platform, error) {
	unknown := &UnknownError{Host: s.Host, ID: s.OS.ID, PrettyName: s.OS.PrettyName}
	d, own := describe(s.OS)
	if d == nil {
		return nil, unknown
	}
	if version := majorVersion(s.OS.VersionID); (own || d.SameNumbers) && version > 0 && version < d.Oldest {
		unknown.Reason = fmt.Sprintf("older than %d", d.Oldest)
		return nil, unknown
	}
	is := system{d, d.nameOf(s.OS)}
	if d.platform != nil {
		return d.platform(is), nil
	}
	return distribution{is, d.portTypes}, nil
}

// describe finds the family of a system; own if it is not a derivative.
func describe(os inventory.OS) (d *Description, own bool) {
	for _, d := range All {
		if slices.Contains(d.IDs, os.ID) {
			return d, true
		}
	}
	for _, d := range All {
		for like := range strings.FieldsSeq(os.IDLike) {
			if slices.Contains(d.Like, like) {
				return d, false
			}
		}
	}
	return nil, false
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
