package firmware

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// original is what the backup of original_backup_path held when it was noted, beside the
// state: the record in its folder can be replaced together with the firmware.
type original struct {
	Path   string
	SHA256 string
}

// noteOriginal notes it once for each path, as the journal of the host has it: what the folder
// holds by now may be something else, as after an import. What nobody knows is not noted.
func noteOriginal(ctx context.Context, state model, now hca.FirmwareState, at session.Beside,
	diags *diag.Diagnostics) {
	path := state.OriginalBackup.ValueString()
	if sum := now.Backups[path]; sum != "" && originalOf(ctx, state, at, diags) == "" {
		session.NoteSeen(ctx, at, original{Path: path, SHA256: sum}, diags)
	}
}

// originalOf gives the SHA-256 that was noted; empty if none was.
func originalOf(ctx context.Context, state model, at session.Kept, diags *diag.Diagnostics) string {
	var noted original
	if !session.Seen(ctx, at, &noted, diags) || noted.Path != state.OriginalBackup.ValueString() {
		return ""
	}
	return noted.SHA256
}
