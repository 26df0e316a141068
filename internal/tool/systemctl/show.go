package systemctl

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Unit is the state of a unit as systemd shows it.
type Unit struct {
	ID            string
	LoadState     string // "loaded", "not-found", "masked", …
	ActiveState   string // "active", "inactive", "failed", "activating", …
	SubState      string // "running", "exited", "dead", …
	UnitFileState string // "enabled", "disabled", "static", "transient", …; empty if there is no file
	ActiveEnter   string // host's local time; empty if it was never active
}

// ParseShow reads the output of systemctl show: blocks of Name=value with empty lines
// between them. A block without Id and a line without "=" are errors.
func ParseShow(output string) (map[string]Unit, error) {
	units := map[string]Unit{}
	var u Unit
	begun := 0
	end := func() error {
		if begun == 0 {
			return nil
		}
		if u.ID == "" {
			return tool.Errorf(begun, "", "a unit without Id begins here")
		}
		units[u.ID] = u
		u, begun = Unit{}, 0
		return nil
	}
	for n, line := range tool.Lines(output) {
		if line == "" {
			if err := end(); err != nil {
				return nil, err
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, tool.Errorf(n, line, "want Name=value")
		}
		if begun == 0 {
			begun = n
		}
		u.set(key, value)
	}
	if err := end(); err != nil {
		return nil, err
	}
	return units, nil
}

func (u *Unit) set(key, value string) {
	switch key {
	case "Id":
		u.ID = value
	case "LoadState":
		u.LoadState = value
	case "ActiveState":
		u.ActiveState = value
	case "SubState":
		u.SubState = value
	case "UnitFileState":
		u.UnitFileState = value
	case "ActiveEnterTimestamp":
		u.ActiveEnter = value
	}
}
