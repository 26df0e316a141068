package tool

import "strings"

const byteOrderMark = "\ufeff"

// WithoutMark drops the byte order mark that some editors write first; netplan
// and systemd pass over it, too.
func WithoutMark(text string) string { return strings.TrimPrefix(text, byteOrderMark) }
