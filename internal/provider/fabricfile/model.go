package fabricfile

import (
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

type model struct {
	FilePath types.String `tfsdk:"file_path"`
	Content  types.String `tfsdk:"content"`
	SHA256   types.String `tfsdk:"sha256"`
}

// what is the operation as errors name it.
func (m model) what() string { return "write file " + m.FilePath.ValueString() }

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
	case !m.Content.IsUnknown() && found == m.Content.ValueString():
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
func (m model) announced(seen model) error {
	found, err := look(seen.FilePath.ValueString())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && found != seen.Content.ValueString() && found != m.Content.ValueString() {
		err = &explain.Failure{What: "The file was changed after the plan. It was left as it is.",
			Check: "Plan again; the plan then shows what would be replaced."}
	}
	return err
}

// put writes the file if it is allowed, and notes what was written.
func (m *model) put(files *session.Files, allowed func() error) error {
	return files.Write(whole(m.FilePath.ValueString()), func() error {
		if err := allowed(); err != nil {
			return err
		}
		return m.write()
	})
}

// write writes the file if it has another content.
func (m *model) write() error {
	m.SHA256 = types.StringValue(digest(m.Content.ValueString()))
	if found, err := look(m.FilePath.ValueString()); err == nil && found == m.Content.ValueString() {
		return nil
	}
	return replace(m.FilePath.ValueString(), m.Content.ValueString())
}

// drop removes the file unless somebody has changed it, or an object that stays has
// written it.
func (m model) drop(files *session.Files, diags *diag.Diagnostics) {
	files.Remove(whole(m.FilePath.ValueString()), func() { m.remove(diags) })
}

func (m model) remove(diags *diag.Diagnostics) {
	found, err := look(m.FilePath.ValueString())
	if err == nil {
		m.Content = types.StringValue(found)
		if m.warnKept(diags) {
			return
		}
		err = os.Remove(place(m.FilePath.ValueString()))
	}
	if !errors.Is(err, os.ErrNotExist) {
		diagnostic.AddErrorAt(diags, path.Root("file_path"), "remove file "+m.FilePath.ValueString(), err)
	}
}

// warnKept warns that a file is kept, because somebody has changed it, and reports that.
func (m model) warnKept(diags *diag.Diagnostics) bool {
	if m.SHA256.ValueString() == digest(m.Content.ValueString()) {
		return false
	}
	diagnostic.AddForgotten(diags, "file", m.FilePath.ValueString(),
		"It is not what was written here: somebody has changed it. Remove it by hand if it is not wanted any more.")
	return true
}
