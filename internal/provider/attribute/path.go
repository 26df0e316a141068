package attribute

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// LocalPath refuses what is no path on the machine that runs Terraform: a URL, a shell
// variable, which nobody expands here, and invisible characters.
type LocalPath struct {
	// What is the purpose, with a verb: "read firmware image".
	What string
	// Instead is what to do about a URL.
	Instead string
	// File says that a directory will not do.
	File bool
	// HTTPS says that an https address will do, too.
	HTTPS bool
}

// Description implements validator.String.
func (LocalPath) Description(context.Context) string { return "A path on this machine, not a URL." }

// MarkdownDescription implements validator.String.
func (v LocalPath) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateString implements validator.String.
func (v LocalPath) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	p := req.ConfigValue.ValueString()
	if v.HTTPS && strings.HasPrefix(p, "https://") {
		return
	}
	if why := v.fault(p); why != "" {
		resp.Diagnostics.AddAttributeError(req.Path, "Unable to "+v.What+" "+strings.TrimSpace(p), why)
	}
}

// fault says why a text is no such path; empty if it is one.
func (v LocalPath) fault(p string) string {
	// A path may hold "://" only behind a slash.
	scheme, _, isURL := strings.Cut(p, "://")
	switch {
	case isURL && !strings.ContainsAny(scheme, `/\.`):
		return v.Instead
	case strings.HasPrefix(p, "$"):
		return "Variables of a shell are not replaced here. Write the path itself, ~/ for the home directory, or " +
			"${path.root}/ for the directory of the configuration."
	case strings.HasPrefix(p, "~") && p != "~" && !strings.HasPrefix(p, "~/"):
		return "Only your own home directory has a short form: ~/ at the beginning. Write the whole path."
	case v.File && NamesDirectory(p):
		return "A path that ends with / names a directory. Write the path of the file."
	case strings.TrimSpace(p) != p || strings.ContainsFunc(p, unicode.IsControl):
		return "The path begins or ends with a space, or holds a control character. Write it without."
	}
	return ""
}

// NamesDirectory reports whether a path ends as only that of a directory may.
func NamesDirectory(p string) bool { return p != "" && os.IsPathSeparator(p[len(p)-1]) }

// ExpandHome replaces ~ at the beginning of a path by the home directory.
func ExpandHome(p string) string {
	rest, ok := strings.CutPrefix(p+"/", "~/")
	if !ok {
		return p
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return p
	}
	return filepath.Join(home, rest)
}
