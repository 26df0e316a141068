package unix

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// df knows df [-P] [-k] FILE.
func df(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	p.Printf("Filesystem     1024-blocks     Used Available Capacity Mounted on\n")
	for _, name := range f.Args {
		limit, used, err := p.Machine.FS.Space(p.Abs(name))
		if err != nil {
			return p.Fail(1, "%s: %s", name, reason(err))
		}
		p.Printf("/dev/sda2 %d %d %d %d%% /\n", limit/1024, used/1024, max(limit-used, 0)/1024, used*100/max(limit, 1))
	}
	return 0
}

func readlink(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	status := 0
	for _, name := range f.Args {
		if got, err := p.Machine.FS.Readlink(p.Cred(), p.Abs(name)); err != nil {
			status = 1 // without a word
		} else {
			p.Printf("%s\n", got)
		}
	}
	return status
}
