package hosts

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

// The roots of live images, diskless nodes and image-based systems, by their mounts; of each the file system of one
// path.
func TestRoots(t *testing.T) {
	const (
		disk = "/dev/sda2 / ext4 rw,relatime 0 0\n"
		run  = "tmpfs /run tmpfs rw,nosuid,nodev,size=1620460k 0 0\n"
		keep = "an overlay that keeps changes in "
		fcos = "composefs / overlay ro,seclabel,relatime,lowerdir+=/run/ostree/.private/cfsroot-lower,redirect_dir=on 0 0\n" +
			"/dev/sda4 /etc xfs rw,seclabel,relatime 0 0\n/dev/sda4 /var xfs rw,seclabel,relatime 0 0\n" + run
	)
	for name, tt := range map[string]struct {
		mounts, path string
		want         inventory.Mount
	}{
		"a disk":         {disk + run, "/etc/opensm", inventory.Mount{Path: "/", Kind: "ext4"}},
		"a RAM disk":     {"rootfs / rootfs rw 0 0\n", "/etc", inventory.Mount{Path: "/", Kind: "rootfs", Fleeting: "a rootfs", Sure: true}},
		"a disk over it": {"rootfs / rootfs rw 0 0\n" + disk, "/etc", inventory.Mount{Path: "/", Kind: "ext4"}},
		"a diskless node": {"tmpfs / tmpfs rw,relatime,mpol=interleave 0 0\n", "/etc/x",
			inventory.Mount{Path: "/", Kind: "tmpfs", Fleeting: "a tmpfs", Sure: true}},
		"a live image of dracut": {"LiveOS_rootfs / overlay rw,relatime,lowerdir=/run/rootfsbase,upperdir=/run/overlayfs," +
			"workdir=/run/ovlwork 0 0\n" + run, "/etc/systemd",
			inventory.Mount{Path: "/", Kind: "overlay", Fleeting: keep + "/run/overlayfs, on a tmpfs", Sure: true}},
		"a live image of Debian that keeps changes": {"overlay / overlay rw,noatime,lowerdir=/run/live/rootfs/filesystem.squashfs/," +
			"upperdir=/run/live/persistence/sda3/rw,workdir=/run/live/persistence/sda3/work 0 0\n" +
			"/dev/sda3 /run/live/persistence/sda3 ext4 rw,noatime 0 0\n" + run, "/etc", inventory.Mount{Path: "/", Kind: "overlay"}},
		"overlayroot": {"overlayroot / overlay rw,relatime,lowerdir=/media/root-ro,upperdir=/media/root-rw/overlay," +
			"workdir=/media/root-rw/overlay-workdir/_ 0 0\n/dev/sda1 /media/root-ro ext4 ro,relatime 0 0\n" +
			"tmpfs-root /media/root-rw tmpfs rw,relatime 0 0\n", "/etc",
			inventory.Mount{Path: "/", Kind: "overlay", Fleeting: keep + "/media/root-rw/overlay, on a tmpfs", Sure: true}},
		"a live image of casper": {"/cow / overlay rw,relatime,lowerdir=/filesystem.squashfs,upperdir=/cow/upper,workdir=/cow/work 0 0\n" +
			run, "/etc", inventory.Mount{Path: "/", Kind: "overlay",
			Fleeting: keep + "/cow/upper, on a file system that does not show"}},
		"ostree":               {fcos, "/etc/opensm", inventory.Mount{Path: "/etc", Kind: "xfs"}},
		"programs of ostree":   {fcos, "/usr", inventory.Mount{Path: "/", Kind: "overlay", ReadOnly: true}},
		"a state of this boot": {fcos + "tmpfs /var tmpfs rw 0 0\n", "/var/lib/x", inventory.Mount{Path: "/var", Kind: "tmpfs", Fleeting: "a tmpfs", Sure: true}},
		"bootc with a transient /etc": {fcos + "overlay /etc overlay rw,relatime,lowerdir=/etc,upperdir=/run/ostree/transient-etc/upper," +
			"workdir=/run/ostree/transient-etc/work 0 0\n", "/etc",
			inventory.Mount{Path: "/etc", Kind: "overlay", Fleeting: keep + "/run/ostree/transient-etc/upper, on a tmpfs", Sure: true}},
		"aufs": {"aufs / aufs rw,relatime,si=1 0 0\n", "/", inventory.Mount{Path: "/", Kind: "aufs",
			Fleeting: "a union of file systems (aufs), which does not show where changes go"}},
		"a line that is no mount": {"overlay / overlay\n" + disk, "/etc", inventory.Mount{Path: "/", Kind: "ext4"}},
		"nothing that is known":   {"", "/etc", inventory.Mount{}},
	} {
		t.Run(name, func(t *testing.T) {
			var s inventory.Snapshot
			if err := readRoots(&s, &collect.Answer{Runs: map[string]collect.Run{"roots": {Output: tt.mounts}}}); err != nil {
				t.Fatal(err)
			}
			if got, ok := s.MountOf(tt.path); got != tt.want || ok != (tt.mounts != "") {
				t.Errorf("%s: %+v, %t; want %+v", tt.path, got, ok, tt.want)
			}
		})
	}
}
