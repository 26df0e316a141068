package platform

import (
	"context"
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/modprobe"
)

type initramfsTool struct {
	program string
	rebuild func() shellcmd.Command
}

// initramfsTools are the programs in the order in which they are looked for. The
// distribution does not decide: Debian and Arch can have dracut.
var initramfsTools = []initramfsTool{
	{"update-initramfs", modprobe.UpdateInitramfs},
	{"mkinitcpio", modprobe.Mkinitcpio},
	{"dracut", modprobe.Dracut},
}

// storeForBoot stores a setting of the driver in a file and rebuilds the initial RAM disks, which
// hold mlx4_core and a copy of the file: otherwise the old value counts at boot. A host without
// a program for that boots without one.
//
// A program that fails for one kernel has rebuilt the others, and the time of the disk of the
// running kernel says nothing of them. So a mark is on the host from before the setting is
// stored until the program has succeeded.
func storeForBoot(ctx context.Context, h *hosts.Host, file string, store func() error) error {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(initramfsTools, func(t initramfsTool) bool { return s.Commands[t.program] })
	if i < 0 {
		return store()
	}
	if _, err := h.Run(ctx, modprobe.MarkRebuild(inventory.RebuildMark)); err != nil {
		return fmt.Errorf("noting that the initial RAM disks are to be rebuilt: %w", err)
	}
	if err := store(); err != nil {
		return err
	}
	if _, err := h.Run(ctx, initramfsTools[i].rebuild()); err != nil {
		return fmt.Errorf("rebuilding the initial RAM disk, which has its own copy of %s: %w", file, err)
	}
	if _, err := h.Run(ctx, removeFile(inventory.RebuildMark)); err != nil {
		return fmt.Errorf("noting that the initial RAM disks were rebuilt: %w", err)
	}
	return nil
}
