package platform

import (
	"context"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/modprobe"
)

// initramfsTools in the order in which they are looked for. Which one a host uses
// does not follow from its distribution: Debian can have dracut, and derivatives of
// Arch do.
var initramfsTools = []struct {
	program string
	rebuild func() shellcmd.Command
}{
	{"update-initramfs", modprobe.UpdateInitramfs},
	{"mkinitcpio", modprobe.Mkinitcpio},
	{"dracut", modprobe.Dracut},
}

// rebuildInitramfs is needed because the initial RAM disk holds mlx4_core together
// with a copy of the files that configure it: without it the old value wins at
// boot. A host that has none of the programs boots without one.
func rebuildInitramfs(ctx context.Context, h *hosts.Host, file string) error {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return err
	}
	for _, tool := range initramfsTools {
		if !s.Commands[tool.program] {
			continue
		}
		if _, err := h.Run(ctx, tool.rebuild()); err != nil {
			return fmt.Errorf("rebuilding the initial RAM disk, which has its own copy of %s: %w", file, err)
		}
		return nil
	}
	return nil
}
