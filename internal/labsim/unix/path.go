package unix

import (
	"context"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// df knows df [-P] [-k|-B1] [--output=avail|size|used|target] FILE.
func df(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "P", "k", "B=", "output=")
	if !good {
		return 2
	}
	unit := int64(1024)
	if f.Has("B") {
		v, err := strconv.ParseInt(f.Get("B"), 10, 64)
		if err != nil || v < 1 {
			return p.Unknown("block size " + f.Get("B"))
		}
		unit = v
	}
	names := f.Args
	if len(names) == 0 {
		names = []string{"/"}
	}
	for i, name := range names {
		limit, used, err := p.Machine.FS.Space(p.Abs(name))
		if err != nil {
			return p.Fail(1, "%s: %s", name, reason(err))
		}
		if !f.Has("output") {
			if i == 0 {
				p.Printf("Filesystem     %d-blocks     Used Available Capacity Mounted on\n", unit)
			}
			p.Printf("/dev/sda2 %d %d %d %d%% /\n", limit/unit, used/unit, max(limit-used, 0)/unit, used*100/max(limit, 1))
			continue
		}
		value := map[string]int64{"avail": max(limit-used, 0) / unit, "size": limit / unit, "used": used / unit}
		v, known := value[f.Get("output")]
		if !known {
			return p.Unknown("output " + f.Get("output"))
		}
		if i == 0 {
			p.Printf("%10s\n", map[string]string{"avail": "Avail", "size": "1K-blocks", "used": "Used"}[f.Get("output")])
		}
		p.Printf("%10d\n", v)
	}
	return 0
}

func readlink(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "n")
	if !good {
		return 2
	}
	status := 0
	for _, name := range f.Args {
		got, err := p.Machine.FS.Readlink(p.Cred(), p.Abs(name))
		if err != nil {
			// readlink says nothing without -v.
			status = 1
			continue
		}
		p.Printf("%s", got)
		if !f.Has("n") {
			p.Printf("\n")
		}
	}
	return status
}
