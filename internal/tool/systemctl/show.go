package systemctl

import (
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// ParseShow reads the output of systemctl show: blocks of Name=value with empty lines
// between them. A block without Id and a word without "=" are errors, and so is a remark of the
// program or of a library if there is no unit beside it.
func ParseShow(output string) (map[string]inventory.Unit, error) {
	units := map[string]inventory.Unit{}
	var u inventory.Unit
	var stray error
	id, begun := "", 0
	end := func() error {
		if begun == 0 {
			return nil
		}
		if id == "" {
			return tool.Errorf(begun, "", "a unit without Id begins here")
		}
		units[id] = u
		u, id, begun = inventory.Unit{}, "", 0
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
			if stray = tool.Errorf(n, line, "want Name=value"); !strings.Contains(line, " ") {
				return nil, stray
			}
			continue
		}
		if begun == 0 {
			begun = n
		}
		if field := map[string]*string{"Id": &id, "LoadState": &u.LoadState, "ActiveState": &u.ActiveState,
			"UnitFileState": &u.UnitFileState}[key]; field != nil {
			*field = value
		}
		setStarted(&u.Started, key, value)
	}
	if err := end(); err != nil {
		return nil, err
	}
	if len(units) == 0 {
		return units, stray
	}
	return units, nil
}

// setStarted reads the times of a start. The script asks with TZ=UTC. What is no such time, as of a unit
// that never ran, is not known.
func setStarted(to *inventory.Start, key, value string) {
	switch key {
	case "ActiveEnterTimestamp":
		if at, err := time.Parse("Mon 2006-01-02 15:04:05 UTC", value); err == nil {
			to.At = at
		}
	case "ActiveEnterTimestampMonotonic":
		if us, err := strconv.ParseInt(value, 10, 64); err == nil {
			to.After = time.Duration(us) * time.Microsecond
		}
	}
}
