package tool

import (
	"errors"
	"fmt"
	"strings"
)

const byteOrderMark = "\ufeff"

// WithoutMark drops the byte order mark that some editors write first; netplan
// and systemd pass over it, too.
func WithoutMark(text string) string { return strings.TrimPrefix(text, byteOrderMark) }

// INI gives the sections and assignments of a file, each line in its place, and names
// the other lines: one bad line must not hide the rest.
func INI(text string) (good string, bad error) {
	var b strings.Builder
	var errs []error
	continued := false
	for n, line := range Lines(WithoutMark(text)) {
		trimmed := strings.TrimSpace(line)
		key, _, assigned := strings.Cut(trimmed, "=")
		switch {
		case continued, trimmed == "", trimmed[0] == '#', trimmed[0] == ';',
			trimmed[0] == '[' && trimmed[len(trimmed)-1] == ']', assigned && strings.TrimSpace(key) != "" && trimmed[0] != '[':
			b.WriteString(line)
			continued = strings.HasSuffix(line, "\\")
		default:
			// Without its text, which may hold a password.
			errs = append(errs, fmt.Errorf("line %d: neither a section nor an assignment", n))
			continued = false
		}
		b.WriteString("\n")
	}
	return b.String(), errors.Join(errs...)
}
