package rdma

import (
	"context"
	_ "embed"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

//go:embed ready.sh
var script string

// Read asks a host in one command.
func Read(ctx context.Context, h interface {
	Name() string
	Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error)
}) (*Facts, error) {
	// Not as root: the limit of locked memory is that of a login, and root's is another.
	cmd := shellcmd.Script("rdma-ready", answer.Functions+script)
	res, err := h.Run(ctx, cmd)
	if err != nil {
		return nil, err
	}
	f, err := parse(string(res.Stdout))
	if err != nil {
		return nil, &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(), Output: string(res.Stdout)}
	}
	return f, nil
}
