package fabricfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

type model struct {
	FilePath types.String `tfsdk:"file_path"`
	Content  types.String `tfsdk:"content"`
	SHA256   types.String `tfsdk:"sha256"`
}

// what is the operation as errors name it.
func (m model) what() string { return "write file " + m.FilePath.ValueString() }

// wants notes what a configuration asks for. Content is in the configuration alone, so that no plan shows a picture.
// Null is that of a fabric that was not read: a file that is there is left as it is.
func (m *model) wants(config, state model) error {
	switch {
	case config.Content.IsUnknown():
		m.SHA256 = types.StringUnknown()
	case !config.Content.IsNull():
		m.SHA256 = types.StringValue(digest([]byte(config.Content.ValueString())))
	case m.stays(state):
		m.SHA256 = state.SHA256
	default:
		return &explain.Failure{What: "content is null, as what infiniband_fabric gives while none of its hosts answers.",
			Check: "Write content, or plan again when the hosts answer."}
	}
	return nil
}

// seen is what is kept beside the state: the digest of what was written here; empty if the file was there already.
type seen struct{ Written string }

// keptOf gives that. A state of an earlier version, in which sha256 was that digest, has it nowhere else, and an
// import hands the file over as found.
func keptOf(ctx context.Context, private session.Kept, state model, found string, diags *diag.Diagnostics) seen {
	var kept seen
	if !session.Seen(ctx, private, &kept, diags) {
		kept.Written = cmp.Or(state.SHA256.ValueString(), found)
	}
	return kept
}

// stays reports whether the file is where the state has it.
func (m model) stays(state model) bool {
	return !state.FilePath.IsNull() && samePlace(state.FilePath.ValueString(), m.FilePath.ValueString())
}

// free is an error if another file is in the place of a new one. Content that is not
// known yet counts as another. An import does not take what is in the state.
func (m model) free(state model) error {
	found, err := look(m.FilePath.ValueString())
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case found == m.SHA256.ValueString():
		return nil
	}
	instead := fmt.Sprintf("If it may be replaced, import it: terraform import ADDRESS %q. Else choose another "+
		"file_path, or move the file away.", m.FilePath.ValueString())
	if old := state.FilePath.ValueString(); old != "" {
		instead = fmt.Sprintf("If it may be replaced, move it away. Or take this resource out of the state and import the "+
			"file: terraform state rm ADDRESS, then terraform import ADDRESS %q. Then %s stays, too. Else choose another "+
			"file_path.", m.FilePath.ValueString(), old)
	}
	return &explain.Failure{
		What: "The file exists, and this resource has not written it. It was left as it is.", Check: instead}
}

// announced is an error if the file is not as the plan has seen it.
func (m model) announced(state model) error {
	found, err := look(state.FilePath.ValueString())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && found != state.SHA256.ValueString() && found != m.SHA256.ValueString() {
		err = &explain.Failure{What: "The file was changed after the plan. It was left as it is.",
			Check: "Plan again; the plan then shows what would be replaced."}
	}
	return err
}

// put writes the file if it is allowed and has another content. It says whether it has written.
func (m model) put(files *planned.Files, content string, allowed func() error) (written bool, err error) {
	err = files.Write(whole(m.FilePath.ValueString()), func() error {
		if deny := allowed(); deny != nil {
			return deny
		}
		if found, lookErr := look(m.FilePath.ValueString()); lookErr == nil && found == m.SHA256.ValueString() {
			return nil
		}
		written = true
		return replace(m.FilePath.ValueString(), content)
	})
	return written, err
}

// drop removes the file unless it is not what was written here, or an object that stays has written it.
func (m model) drop(files *planned.Files, kept seen, diags *diag.Diagnostics) {
	files.Remove(whole(m.FilePath.ValueString()), func() {
		found, err := look(m.FilePath.ValueString())
		if err == nil {
			if m.SHA256 = types.StringValue(found); m.warnKept(kept, diags) {
				return
			}
			err = os.Remove(place(m.FilePath.ValueString()))
		}
		if !errors.Is(err, os.ErrNotExist) {
			diagnostic.AddErrorAt(diags, path.Root("file_path"), "remove file "+m.FilePath.ValueString(), err)
		}
	})
}

// warnKept warns that a file is kept, because it is not what was written here, and reports that.
func (m model) warnKept(kept seen, diags *diag.Diagnostics) bool {
	why := "It is not what was written here: somebody has changed it. "
	switch kept.Written {
	case m.SHA256.ValueString():
		return false
	case "":
		why = "It was there before this resource, which has not written it. "
	}
	diagnostic.AddForgotten(diags, "file", m.FilePath.ValueString(), why+"Remove it by hand if it is not wanted any more.")
	return true
}
