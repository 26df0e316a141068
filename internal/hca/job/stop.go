package job

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// Mark notes a failed burn on a host, for the applies that read it.
func Mark(ctx context.Context, h host.Host, s inventory.Stop) error {
	return stops(ctx, h, s.Text(), s.ID)
}

// Unmark removes such notes.
func Unmark(ctx context.Context, h host.Host, over []inventory.Stop) error {
	ids := make([]string, len(over))
	for i, s := range over {
		ids[i] = s.ID
	}
	return stops(ctx, h, "", ids...)
}

func stops(ctx context.Context, h host.Host, text string, ids ...string) error {
	args := append([]string{inventory.StopDir, text}, ids...)
	_, err := h.Run(ctx, shellcmd.Script("mark-failed-burn", stopScript, args...).AsRoot().Changes())
	return err
}
