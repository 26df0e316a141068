package platform

import (
	"context"
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/modprobe"
)

// ModprobePath is our own file of module options.
const ModprobePath = "/etc/modprobe.d/terraform-infiniband.conf"

// CommandLine is the place of options that the boot loader gives to the kernel.
const CommandLine = "kernel command line"

// modprobeStore keeps port types as an option of mlx4_core: Ubuntu, Debian, Arch.
type modprobeStore struct{}

// LinkTypesStoredIn implements Platform.
func (modprobeStore) LinkTypesStoredIn() string { return "modprobe.d" }

// PersistLinkTypes implements Platform.
func (m modprobeStore) PersistLinkTypes(ctx context.Context, h *hosts.Host, pci ib.PCIAddress,
	types map[int]ib.LinkType) error {
	s, array, err := portTypesFor(ctx, h, types)
	if err != nil {
		return err
	}
	now := m.LinkTypePlaces(s, pci).Ours()
	if now.NotOurs != "" {
		return fmt.Errorf("%s: %s was not written by this provider; move it away", h.Name(), now.NotOurs)
	}
	text := modprobeText(array)
	stored := s.Files[ModprobePath].Content == text
	if stored && fact.No(now.Stale) {
		return nil
	}
	var kept []string
	err = storeForBoot(ctx, h, ModprobePath, func() (err error) {
		if stored {
			return nil
		}
		if kept, err = KeepEdited(ctx, h, now.Edits, ModprobePath); err != nil {
			return err
		}
		return WriteFile(ctx, h, ModprobePath, 0o644, text)
	})
	if err != nil && len(kept) > 0 {
		return &KeptError{Said: kept[0], Err: err}
	}
	return err
}

// modprobeText is our file, without an array only what begins it.
func modprobeText(array string) string {
	text := OwnedHeader("infiniband_link_type") +
		"# Port types of mlx4 cards when the driver loads: 1 is InfiniBand, 2 Ethernet, 0 what the firmware prefers.\n"
	if array == "" {
		return text
	}
	return text + "options " + mlx4Module + " " + portTypeParam + "=" + array + "\n"
}

// modprobeEdits is our file with its options, if it holds something else than we would write of
// its types.
func modprobeEdits(text string, o modprobe.Options) []Edit {
	o.Values = o.Values[:min(1, len(o.Values))] // others add theirs behind ours
	array, err := portTypeArray(placeOf(ModprobePath, o, fact.Known(false)).Types)
	if err != nil {
		array = ""
	}
	return EditsOf(ModprobePath, text, modprobeText(array))
}

// LinkTypePlaces implements Platform. modprobe gives a module the options of all files in the
// order of their names, then those of the kernel command line (kmod libkmod/libkmod-config.c),
// and of a parameter that is given twice the last one counts.
func (m modprobeStore) LinkTypePlaces(s *inventory.Snapshot, _ ib.PCIAddress) Places {
	own, text, stale := "", s.Files[ModprobePath].Content, fact.Known(false)
	var o modprobe.Options
	if IsOurs(text) {
		own, o = ModprobePath, readOptions(text)
	}
	if len(o.Values) > 0 {
		stale = staleInitramfs(s, ModprobePath)
	}
	ours := placeOf(ModprobePath, o, stale)
	ours.Name, ours.Ours, ours.NotOurs, ours.Edits = m.LinkTypesStoredIn(), true, notOurs(s), modprobeEdits(text, o)
	ours.Unclear = ours.Unclear[:len(o.Unclear)] // the next apply writes its values anew
	behind, before := filesOfOthers(s, own, stale)
	return inOrder(s, commandLine(s), behind, Places{ours}, before)
}

// notOurs names our own file of options if somebody else has written it.
func notOurs(s *inventory.Snapshot) string {
	if s.Directories[ModprobePath] {
		return "the directory " + ModprobePath
	}
	if f, there := s.Files[ModprobePath]; there && !IsOurs(f.Content) {
		return ModprobePath
	}
	return ""
}

// staleInitramfs reports whether an initial RAM disk has an older copy of a file.
func staleInitramfs(s *inventory.Snapshot, file string) fact.Bool {
	if slices.Contains(s.NoDisk, file) {
		return fact.Unknown[bool]("no initial RAM disk of the running kernel was found below /boot, " +
			"which may have a copy of " + file)
	}
	return fact.Known(slices.Contains(s.StaleInInitramfs, file))
}
