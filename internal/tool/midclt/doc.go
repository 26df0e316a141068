// Package midclt builds calls to the middleware of TrueNAS SCALE and reads its
// answers. The client prints dictionaries, lists and null as JSON, but booleans
// as Python words and strings bare (truenas_api_client 25.10).
//
// It must not run anything.
package midclt

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

func decode(out []byte, v any) error {
	if err := json.Unmarshal(out, v); err != nil {
		return tool.Errorf(0, "", "expected JSON of the middleware: %v", err)
	}
	return nil
}

// ParseBool reads a boolean answer.
func ParseBool(out []byte) (bool, error) {
	switch s := strings.TrimSpace(string(out)); s {
	case "True", "true":
		return true, nil
	case "False", "false":
		return false, nil
	default:
		return false, tool.Errorf(1, s, "expected True or False")
	}
}

// Messages returns the lines of a failed call that say why, without the Python
// traceback that follows them.
func Messages(stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "Traceback") {
			break
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return fmt.Sprintf("no message (%d bytes of traceback)", len(stderr))
	}
	return strings.Join(lines, "; ")
}
