package hosts

import (
	"fmt"
	"path"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/apt"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/dnf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/pacman"
)

// NotLinuxError says that a host runs another kernel than Linux: nothing of it is
// where this provider looks.
type NotLinuxError struct {
	Host   string
	System string // "FreeBSD 13.1-RELEASE-p9"
}

func (e *NotLinuxError) Error() string {
	return fmt.Sprintf("%s runs %s. This provider reads and configures Linux hosts: other kernels have other InfiniBand "+
		"drivers and tools. TrueNAS CORE is FreeBSD and cannot be managed; TrueNAS SCALE is Linux and can", e.Host, e.System)
}

func readPackages(s *inventory.Snapshot, a *collect.Answer) error {
	s.Packages = map[string]string{}
	for manager, parse := range map[string]func([]byte) map[string]string{
		"dpkg": apt.ParseQuery, "rpm": dnf.ParseQuery, "pacman": pacman.ParseQuery,
	} {
		// The status is not 0 if one of the packages is unknown; the others are listed.
		if run, ok := a.Runs[manager]; ok {
			s.Packages = parse([]byte(run.Output))
		}
	}
	return nil
}

// readKernelModules reads "modinfo -n" of several modules: the path of each that
// the kernel has a file of, "name: …" and "(builtin)" for one that is part of the
// kernel, and an error line for each that it lacks.
func readKernelModules(s *inventory.Snapshot, a *collect.Answer) error {
	s.NoModules = !a.Kernel
	run, ok := a.Runs["modinfo"]
	if !ok {
		return nil
	}
	s.KernelModules = map[string]bool{}
	for _, line := range tool.Lines(run.Output) {
		switch f := strings.Fields(line); {
		case strings.HasPrefix(line, "/"):
			name, _, _ := strings.Cut(path.Base(line), ".")
			s.KernelModules[strings.ReplaceAll(name, "-", "_")] = true
		case len(f) == 2 && f[0] == "name:":
			s.KernelModules[f[1]] = true
		case strings.HasSuffix(line, " not found.") && len(f) == 6:
			name := strings.ReplaceAll(f[3], "-", "_")
			if _, listed := s.KernelModules[name]; !listed {
				s.KernelModules[name] = false
			}
		}
	}
	return nil
}
