package hosts

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead_of_another_kernel(t *testing.T) {
	root := t.TempDir()
	tree(t, root, map[string]string{"etc/os-release": "ID=freebsd\n",
		"bin/uname": program(map[string]string{"-sr": "FreeBSD 13.1-RELEASE-p9"})})
	_, err := read(runCollect(t, root))
	var other *NotLinuxError
	if !errors.As(err, &other) || other.System != "FreeBSD 13.1-RELEASE-p9" ||
		!strings.Contains(err.Error(), "TrueNAS CORE is FreeBSD and cannot be managed") {
		t.Errorf("%v", err)
	}
}

func TestRead_of_packages(t *testing.T) {
	base := ubuntu()
	delete(base, "bin/dpkg-query")
	delete(base, "lib/modules/6.8.0-45-generic/modules.dep")
	base["etc/os-release"] = "ID=arch\nID_LIKE=\"archlinux\"\n"
	asked := strings.Join(packages, " ")
	for manager, tt := range map[string]struct {
		args, answer string
		want         map[string]string
	}{
		"pacman": {"-Q -- " + asked, "status 1\nerror: package 'mstflint' was not found\nrdma-core 59.0-1\npciutils 3.14.0-1",
			map[string]string{"rdma-core": "59.0-1", "pciutils": "3.14.0-1"}},
		"rpm": {
			`-q --qf %{NAME}\t%{VERSION}-%{RELEASE}\n -- ` + asked,
			"status 9\npackage mstflint is not installed\nopensm\t3.3.24-2.el9",
			map[string]string{"opensm": "3.3.24-2.el9"},
		},
	} {
		root := t.TempDir()
		tree(t, root, base)
		tree(t, root, map[string]string{"bin/" + manager: program(map[string]string{tt.args: tt.answer})})
		s, err := read(runCollect(t, root))
		if err != nil {
			t.Errorf("%s: %v", manager, err)
			continue
		}
		if diff := cmp.Diff(tt.want, s.Packages); diff != "" {
			t.Errorf("%s: %s", manager, diff)
		}
		if s.OS.ID != "arch" || !s.NoModules || s.KernelModules != nil {
			t.Errorf("%s: %+v, modules gone %t, %v", manager, s.OS, s.NoModules, s.KernelModules)
		}
	}
}
