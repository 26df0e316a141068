package unix

import (
	"context"
	"crypto/sha256"
	"io"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// sum is sha256sum.
func sum(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "b")
	if !good {
		return 2
	}
	return inputs(p, f.Args, func(name string, r io.Reader) {
		b, _ := io.ReadAll(r)
		p.Printf("%x  %s\n", sha256.Sum256(b), name)
	})
}
