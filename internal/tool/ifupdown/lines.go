package ifupdown

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Settings are the lines of a file, each as one setting without a value of its own: what a line
// means depends on all its words. Blanks and comments say nothing.
func Settings(text string) (all []tool.Setting) {
	for n, line := range logicalLines(tool.WithoutMark(text)) {
		if words := strings.Fields(line); len(words) > 0 && words[0][0] != '#' {
			all = append(all, tool.Setting{Line: n, Name: strings.Join(words, " ")})
		}
	}
	return all
}
