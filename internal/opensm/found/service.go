package found

import (
	"cmp"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Service is how the host starts the instance. A distribution has a template unit and a list of ports, or,
// where its package runs one opensm for the host, a template unit of ours.
type Service struct {
	Kernel      string
	Installed   string // version of the package; empty if it is not installed
	Program     bool   // some opensm is on the PATH
	OwnTemplate bool   // the instance starts with a template unit of ours
	List        List   // of the ports that the service of the package starts
	Unit        string // "opensm@0xe41d2d0300e44ed1.service"
	Absent      bool   // the unit is known to have no file and not to run
	Active      fact.Bool
	Enabled     fact.Bool // it starts at boot
	// Inactive is true if the unit is known to have ended, or not to have been started. One that failed
	// for good stays in systemd's list as failed.
	Inactive bool
	Masked   []string // of its units, those that systemd refuses to start
	Listed   bool     // the port is in PORTS of /etc/default/opensm, or its own unit is enabled
	// SharedActive, SharedEnabled and SharedAbsent are about opensm.service.
	SharedActive, SharedEnabled fact.Bool
	SharedAbsent                bool
	// UnitsKnown is false if systemd did not say which units there are; UnitsWhy is why not.
	UnitsKnown bool
	UnitsWhy   string
}

// List is /etc/default/opensm, the list of ports of Debian's package.
type List struct {
	tool.Ports
	Text   string
	There  bool // and was read
	Unread bool // it is there and could not be read
	// Problem is why the list is not understood; it lists nothing then.
	Problem error
}

// Err is why the list cannot be edited.
func (l List) Err(host string) error {
	switch {
	case l.Unread:
		return fmt.Errorf("%s: %s could not be read, and is not edited", host, tool.DefaultPath)
	case l.Problem != nil:
		return fmt.Errorf("%s: %w", host, l.Problem)
	}
	return nil
}

// SaysAll reports whether the list is there, is understood, and has every port.
func (l List) SaysAll() bool { return l.There && l.Problem == nil && l.All }

// readList reads the list also where the package is not installed: the file outlives it, and a new package
// starts what it lists.
func readList(s *inventory.Snapshot) List {
	f, there := s.Files[tool.DefaultPath]
	l := List{Text: f.Content, There: there, Unread: s.Denied[tool.DefaultPath]}
	l.Ports, l.Problem = tool.ParseDefault(f.Content)
	return l
}

// read returns the files that the opensm of the distribution reads besides.
func (v *Service) read(s *inventory.Snapshot, port ib.GUID) tool.Places {
	dir := ""
	if plat, err := platform.Of(s); err == nil {
		v.OwnTemplate, dir = plat.About().OneSM, plat.About().SMFiles
	}
	v.Kernel, v.Program, v.Installed, v.List = s.OS.Kernel, s.Commands["opensm"], installedVersion(s), readList(s)
	v.UnitsKnown, v.UnitsWhy = s.UnitsWhy == "" && s.Units != nil, s.UnitsWhy
	v.Unit = tool.Unit(port)
	v.Active, v.Absent = s.Runs(v.Unit), isAbsent(s, v.Unit)
	// A unit that has ended and is not started again leaves systemd's list: it is inactive as well.
	u, known := s.Unit(v.Unit).Get()
	v.Inactive = known && u.ActiveState == "inactive"
	v.SharedActive, v.SharedEnabled = s.Runs(tool.Service), s.StartsAtBoot(tool.Service)
	v.SharedAbsent = isAbsent(s, tool.Service)
	v.Listed, v.Enabled = v.readBoot(s, port)
	// A mask stops a start, not what runs.
	for _, unit := range v.starters() {
		if fact.Yes(s.Masked(unit)) {
			v.Masked, v.Enabled = append(v.Masked, unit), fact.Known(false)
		}
	}
	return tool.PlacesIn(cmp.Or(dir, tool.ConfDir))
}

// installedVersion is the version of the package. Where packages are not listed, the
// program itself counts.
func installedVersion(s *inventory.Snapshot) string {
	if v := s.Packages["opensm"]; v != "" || len(s.Packages) > 0 || !s.Commands["opensm"] {
		return v
	}
	return "unknown"
}

// isAbsent reports whether a unit is known to have no file and not to run. systemctl neither stops nor
// disables such a unit: it fails.
func isAbsent(s *inventory.Snapshot, unit string) bool {
	u, known := s.Unit(unit).Get()
	return known && u.LoadState == "not-found" && !u.Active()
}

// readBoot says whether the port is listed by its GUID, and whether its instance starts at boot,
// as it also does where all ports are.
func (v *Service) readBoot(s *inventory.Snapshot, port ib.GUID) (listed bool, enabled fact.Bool) {
	if v.OwnTemplate {
		enabled = s.StartsAtBoot(v.Unit)
		return fact.Yes(enabled), enabled
	}
	if v.List.Unread {
		return false, fact.Unknown[bool](tool.DefaultPath + " could not be read")
	}
	listed = v.List.Problem == nil && v.List.Has(port)
	if !listed && (v.List.Problem != nil || !v.List.All) {
		return false, fact.Known(false)
	}
	return listed, v.SharedEnabled
}

// starters are the units that start the instance at boot.
func (v *Service) starters() []string {
	if v.OwnTemplate {
		return []string{v.Unit}
	}
	return []string{tool.Service, v.Unit}
}
