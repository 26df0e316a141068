package truenas

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// Scans of a pool, as OpenZFS 2.3 prints them.
const (
	ScanNone     = "scrub repaired 0B in 00:12:31 with 0 errors on Sun Nov 15 00:36:33 2026"
	ScanScrub    = "scrub in progress since Sat Nov 21 00:24:01 2026"
	ScanResilver = "resilver in progress since Sat Nov 21 08:11:52 2026"
)

// zpool knows "zpool status" of the system's pool and of one for data.
func zpool(_ context.Context, p *labsim.Proc) int {
	if len(p.Args) != 2 || p.Args[1] != "status" {
		return p.Unknown("form of zpool")
	}
	s := stateOf(p.Machine)
	s.mu.Lock()
	scan := s.scan
	s.mu.Unlock()
	for _, pool := range []struct{ name, scan, disk string }{{"boot-pool", ScanNone, "nvme0n1p3"},
		{"tank", scan, "sda1"}} {
		p.Printf("  pool: %s\n state: ONLINE\n  scan: %s\nconfig:\n\n\tNAME         STATE     READ WRITE CKSUM\n\t%-10s  "+
			"ONLINE       0     0     0\n"+
			"\t  %-9s  ONLINE       0     0     0\n\nerrors: No known data errors\n\n", pool.name, pool.scan, pool.name,
			pool.disk)
	}
	return 0
}

// SetScan says what the data pool of a TrueNAS machine does: ScanNone,
// ScanScrub or ScanResilver.
func SetScan(m *labsim.Machine, scan string) {
	s := stateOf(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scan = scan
}

// installZFS loads the kernel's module at every boot: the system lives on a pool.
func (s *state) installZFS() {
	s.scan = ScanNone
	s.m.Install("/usr/sbin/zpool", zpool)
	for _, pool := range []string{"boot-pool", "tank"} {
		s.m.FS.Put("/proc/spl/kstat/zfs/"+pool+"/state", "ONLINE\n", 0o444)
	}
	s.m.Hooks.OnBoot = append(s.m.Hooks.OnBoot, func(m *labsim.Machine) { m.FS.PutDir("/sys/module/zfs", 0o755, 0, 0) })
}
