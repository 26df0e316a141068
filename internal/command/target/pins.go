package target

import (
	"errors"
	"regexp"
	"strings"
)

// pins are the values of -host-key, as they were given.
type pins []string

func (p *pins) String() string { return strings.Join(*p, " ") }

// Set adds one.
func (p *pins) Set(text string) error {
	if !pinForm.MatchString(text) {
		return errors.New("want [HOST=]SHA256:… or [HOST=]ssh-ed25519 AAAA…")
	}
	*p = append(*p, text)
	return nil
}

var pinForm = regexp.MustCompile(`^(?:([^=\s]+)=)?(SHA256:\S+|[a-z0-9@.-]+ \S+.*)$`)
