package platform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Supported names the systems that can be changed, as messages list them.
const Supported = "Ubuntu 24.04, Debian 12 and 13 with Proxmox VE, RHEL 9 and 10 with AlmaLinux, Rocky Linux and CentOS Stream, Arch Linux, and TrueNAS SCALE"

// UnknownError says that the operating system of a host is not supported.
type UnknownError struct {
	Host, ID, PrettyName string
	Reason               string // why a known family is not; may be empty
}

func (e *UnknownError) Error() string {
	name := e.PrettyName
	if name == "" {
		name = e.ID
	}
	reason := ""
	if e.Reason != "" {
		reason = " (" + e.Reason + ")"
	}
	return fmt.Sprintf("%s runs %q, which is not supported%s: its cards can be read, but nothing on it can be changed. Supported are %s",
		e.Host, name, reason, Supported)
}

// family is one way to recognise and configure a distribution.
type family struct {
	kind Kind
	ids  []string // ID of os-release
	like []string // a derivative's ID_LIKE
	// oldest is the first version that is supported, of the family itself and of
	// derivatives that count as it does; 0 if any is.
	oldest int
	make   func(name string) Platform
}

// families in the order in which ID_LIKE is read: Ubuntu's derivatives name Debian
// as well.
var families = []family{
	{kind: KindUbuntu, ids: []string{"ubuntu"}, like: []string{"ubuntu"}, make: newUbuntu},
	{kind: KindDebian, ids: []string{"debian"}, like: []string{"debian"}, oldest: 12, make: newDebian},
	// Fedora is not one of them: it changes drivers with every kernel.
	{kind: KindRHEL, ids: []string{"rhel", "centos", "almalinux", "rocky", "ol"}, like: []string{"rhel"}, oldest: 9, make: newRHEL},
	{kind: KindArch, ids: []string{"arch"}, like: []string{"arch"}, make: newArch},
}

func newUbuntu(name string) Platform {
	return distribution{kind: KindUbuntu, name: name, packages: debianPackager, features: debianFeatures, portTypeStore: modprobeStore{}}
}

func newDebian(name string) Platform {
	return distribution{kind: KindDebian, name: name, packages: debianPackager, features: debianFeatures, portTypeStore: modprobeStore{}}
}

func newRHEL(name string) Platform {
	return distribution{kind: KindRHEL, name: name, packages: redHatPackager, features: redHatFeatures, portTypeStore: mlx4ConfStore{}}
}

func newArch(name string) Platform {
	return distribution{kind: KindArch, name: name, packages: archPackager, features: archFeatures, portTypeStore: modprobeStore{}}
}

// Of tells from a snapshot which platform a host is. Another system than the
// supported ones is *UnknownError.
func Of(s *inventory.Snapshot) (Platform, error) {
	if s.TrueNAS != nil || s.OS.ID == "truenas" {
		return trueNAS{version: s.OS.VersionID}, nil
	}
	unknown := &UnknownError{Host: s.Host, ID: s.OS.ID, PrettyName: s.OS.PrettyName}
	f, own := familyOf(s.OS)
	if f == nil {
		return nil, unknown
	}
	// A derivative of Debian or Arch has a version of its own; those of RHEL share
	// the numbers of RHEL.
	if version := majorVersion(s.OS.VersionID); (own || f.kind == KindRHEL) && version > 0 && version < f.oldest {
		unknown.Reason = fmt.Sprintf("older than %d", f.oldest)
		return nil, unknown
	}
	return f.make(nameOf(s.OS, f.kind)), nil
}

// familyOf finds the family of a system; own if it is not a derivative.
func familyOf(os inventory.OS) (f *family, own bool) {
	for i := range families {
		if slices.Contains(families[i].ids, os.ID) {
			return &families[i], true
		}
	}
	for i := range families {
		for _, like := range strings.Fields(os.IDLike) {
			if slices.Contains(families[i].like, like) {
				return &families[i], false
			}
		}
	}
	return nil, false
}

// nameOf is what messages call a system.
func nameOf(os inventory.OS, kind Kind) string {
	switch {
	case os.ID == "ubuntu":
		return "Ubuntu " + os.VersionID
	case kind == KindDebian && strings.HasSuffix(os.Kernel, "-pve"):
		// Proxmox VE is Debian with a kernel of its own, and says so nowhere else.
		return strings.TrimSpace("Proxmox VE on Debian " + os.VersionID)
	case os.ID == "debian":
		return strings.TrimSpace("Debian " + os.VersionID)
	case os.PrettyName != "":
		return os.PrettyName
	}
	return strings.TrimSpace(os.ID + " " + os.VersionID)
}

// majorVersion gives 9 for "9.4"; 0 for a rolling or unreleased system.
func majorVersion(version string) int {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}
