//go:build reallab && linux

package reallab_test

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
)

// oldPackages are the files that the way out of FW052 on Debian 13 names.
var oldPackages = []string{"./mstflint_4.21.0+1-1_amd64.deb", "./libboost-filesystem1.74.0_1.74.0+ds1-21_amd64.deb",
	"./libjsoncpp25_1.9.5-4_amd64.deb"}

// pack makes packages again of what Debian 12 has installed, so that no test asks a mirror.
// The documentation in them was removed from the machines' disks.
const pack = `set -e
mkdir -p /tmp/old
for p in mstflint libboost-filesystem1.74.0 libjsoncpp25; do
	root=/tmp/roots/$p
	mkdir -p $root/DEBIAN
	dpkg-query -s $p | sed /^Status:/d >$root/DEBIAN/control
	dpkg-query -L $p | while read -r file; do
		if [ -f "$file" ]; then echo "$file"; fi
	done | tar -cPf - -T - | tar -C $root -xf -
	dpkg-deb -Znone --root-owner-group -b $root /tmp/old
done
tar -C /tmp/old -cf /tmp/old.tar . && chmod 644 /tmp/old.tar`

// wayOut does on a machine with Debian 13 what FW052 advises: it installs Debian 12's
// mstflint, which the donor has.
func (b *bench) wayOut(host, donor string) {
	b.Helper()
	b.on(donor, pack)
	b.move(donor, host, "/tmp/old.tar")
	b.on(host, "cd /tmp && tar -xf old.tar && apt-get install -y -q --allow-downgrades "+strings.Join(oldPackages, " ")+
		" && apt-mark hold mstflint")
	if out := b.on(host, "mstflint --version"); !strings.Contains(out, "4.21.0") {
		b.Fatalf("after the way out there is %s", out)
	}
}

// move copies a file from one machine to another.
func (b *bench) move(from, to, path string) {
	b.Helper()
	at := func(name string) string {
		return fmt.Sprintf("scp://%s@127.0.0.1:%d/%s", machine.User, b.lab.Machines[name].Port, path)
	}
	cmd := exec.CommandContext(b.Context(), "scp", "-3", "-q", "-F", "none", "-i", b.lab.KeyFile(), "-o", "BatchMode=yes",
		"-o", "UserKnownHostsFile="+b.lab.KnownHostsFile(), at(from), at(to))
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("copy %s from %s to %s: %v\n%s", path, from, to, err, out)
	}
}
