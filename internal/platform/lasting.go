package platform

import (
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// CheckLasting finds places of files of which a restart of the host leaves nothing, or may leave nothing: one finding
// for each file system.
func CheckLasting(s *inventory.Snapshot, paths ...string) []finding.Finding {
	var found []finding.Finding
	var said []string
	for _, path := range paths {
		m, known := s.MountOf(path)
		if !known || m.Fleeting == "" || slices.Contains(said, m.Path) {
			continue
		}
		said = append(said, m.Path)
		f := finding.FilesNotLasting.Find("%s of %s is %s.", m.Path, s.Host, m.Fleeting)
		if !m.Sure {
			f.Summary = "Whether a restart of the host leaves the files of this resource is not known"
		}
		found = append(found, f)
	}
	return found
}

// CheckInstall refuses packages on a host whose programs come with its image. what says what is missing, as a
// sentence without its end.
func CheckInstall(s *inventory.Snapshot, what string) []finding.Finding {
	if m, known := s.MountOf("/usr"); !known || !m.ReadOnly {
		return nil
	}
	return []finding.Finding{finding.PackagesImpossible.Find("%s, and /usr of %s is read-only.", what, s.Host)}
}
