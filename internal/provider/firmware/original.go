package firmware

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// original is what the backup of original_backup_path held when it was noted, beside the
// state: the record in its folder can be replaced together with the firmware.
type original struct {
	Path   string
	SHA256 string
}

// noteOriginal notes it once for each path. A backup that cannot be read is noted later;
// the restore says what is wrong with it.
func (r *Resource) noteOriginal(ctx context.Context, state model, at session.Beside, diags *diag.Diagnostics) {
	path := state.OriginalBackup.ValueString()
	if path == "" || originalOf(ctx, state, at, diags) != "" {
		return
	}
	if b, err := r.Cards.Backups.Open(path); err == nil {
		session.NoteSeen(ctx, at, original{Path: path, SHA256: b.Record.SHA256}, diags)
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
