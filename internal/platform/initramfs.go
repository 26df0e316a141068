package platform

import (
	"context"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/modprobe"
)

// initramfsTools are the programs in the order in which they are looked for. The
// distribution does not decide: Debian can have dracut, and derivatives of Arch do.
var initramfsTools = []struct {
	program string
	rebuild func() shellcmd.Command
}{
	{"update-initramfs", modprobe.UpdateInitramfs},
	{"mkinitcpio", modprobe.Mkinitcpio},
	{"dracut", modprobe.Dracut},
}

// rebuildInitramfs rebuilds the initial RAM disk, which holds mlx4_core and a copy of
// the files that configure it: otherwise the old value counts at boot. A host without
// such a program boots without one.
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
