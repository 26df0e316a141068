package platform

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// Owner is in the first line of every file of ours. A file without it is not ours, and
// is neither written nor removed.
const Owner = "# Managed by Terraform (ibfabric/infiniband)."

// OwnedHeader begins a file of ours; resource names the resources that write it.
func OwnedHeader(resource string) string {
	return Owner + " Written by " + resource +
		".\n# Changes made here are shown by the next plan and overwritten by the next apply.\n"
}

// IsOurs reports whether a file is ours. A program of ours has the mark in its second line.
func IsOurs(content string) bool {
	return strings.HasPrefix(strings.TrimPrefix(content, "#!/bin/sh\n"), Owner)
}

// CheckPlaces finds directories in the places of files that a resource writes, and places that do not last.
func CheckPlaces(s *inventory.Snapshot, paths ...string) []finding.Finding {
	found := CheckLasting(s, paths...)
	for _, path := range paths {
		if s.Directories[path] {
			found = append(found, finding.FileUnmanaged.Find("%s of %s is a directory.", path, s.Host))
		}
	}
	return found
}

// CheckFiles finds besides files of others in these places, and files that could not be read.
func CheckFiles(s *inventory.Snapshot, paths ...string) []finding.Finding {
	found := CheckPlaces(s, paths...)
	for _, path := range paths {
		f, there := s.Files[path]
		if s.Denied[path] {
			found = append(found, finding.FileUnmanaged.Find("%s of %s is there and could not be read.", path, s.Host))
		} else if there && !IsOurs(f.Content) {
			found = append(found, finding.FileUnmanaged.Find("%s of %s.", path, s.Host))
		}
	}
	return found
}

// WriteFile replaces a file on a host atomically.
func WriteFile(ctx context.Context, h host.Host, path string, mode uint32, content string) error {
	sum := sha256.Sum256([]byte(content))
	err := h.Upload(ctx, strings.NewReader(content), int64(len(content)), host.RemoteFile{
		Path: path, Mode: mode, SHA256: hex.EncodeToString(sum[:]),
	})
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// EnableUnit has systemd read its units anew, and start one that was written at every boot.
func EnableUnit(ctx context.Context, h host.Host, unit string) error {
	for _, cmd := range []shellcmd.Command{systemctl.DaemonReload(), systemctl.Enable(unit)} {
		if _, err := h.Run(ctx, cmd); err != nil {
			return fmt.Errorf("enabling %s: %w", unit, err)
		}
	}
	return nil
}

func removeFile(path string) shellcmd.Command { return coreutils.RemoveFile(path) }
