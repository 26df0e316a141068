package attribute

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestLocalPath(t *testing.T) {
	v := LocalPath{What: "use backup_dir", Instead: "It is a directory of this machine."}
	for given, says := range map[string]string{
		"backups": "", "./a b/c": "", "~/backups": "", "~": "", "/srv/x://y": "", "a~b": "",
		"s3://bucket/x": "It is a directory of this machine.",
		"$HOME/x":       "Variables of a shell are not replaced", "~eve/x": "Write the whole path",
		" ": "begins or ends with a space", "x\n": "begins or ends with a space", "a\x1bb": "control character",
	} {
		var resp validator.StringResponse
		v.ValidateString(t.Context(), validator.StringRequest{Path: path.Root("backup_dir"),
			ConfigValue: types.StringValue(given)}, &resp)
		if resp.Diagnostics.HasError() != (says != "") {
			t.Errorf("%q: %v", given, resp.Diagnostics)
		} else if says != "" && !strings.Contains(resp.Diagnostics[0].Detail(), says) {
			t.Errorf("%q: %v", given, resp.Diagnostics)
		}
	}
}

func TestExpandHome(t *testing.T) {
	home := filepath.FromSlash("/home/eve")
	t.Setenv("HOME", home)
	for given, want := range map[string]string{
		"~": home, "~/x": filepath.Join(home, "x"), "~x": "~x", "/a/~/x": "/a/~/x", "x": "x",
	} {
		if got := ExpandHome(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}
