package hosts

import (
	"fmt"
	"strings"
)

// in says in which part of the answer something was not understood.
func in(section string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("section %q: %w", section, err)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
