package ifupdown

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Up configures an interface as its stanzas say. It is forced because ifup
// does nothing for an interface that it has taken up before.
func Up(name string) shellcmd.Command {
	return shellcmd.New("ifup", "--force", name).AsRoot().Changes()
}

// ParseState reads /run/network/ifstate: the interfaces that ifup has taken up.
// A line is INTERFACE=STANZA; the two differ where a mapping has chosen the stanza.
func ParseState(text string) map[string]bool {
	up := map[string]bool{}
	for _, line := range tool.Lines(text) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), "="); ok && name != "" {
			up[name] = true
		}
	}
	return up
}
