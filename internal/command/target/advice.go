package target

import (
	"errors"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// Advice is what helps a person who gave a command line. The transport's own advice names
// arguments of the provider block, which a command line does not have.
func Advice(gone *host.UnreachableError) string {
	advice := diagnostic.Sentence(gone.Advice)
	if gone.Op == host.OpVerify {
		advice += "\n\nhost_keys and host_key_policy are of a provider block. On this command line they are " +
			"-host-key KEY and -host-key-policy accept-new."
	}
	return advice
}

// Unreached is one line for a command that follows many hosts: what went wrong, and which
// command says how to mend it.
func (t *Target) Unreached(err error) string {
	line := diagnostic.Line(err.Error())
	var gone *host.UnreachableError
	if errors.As(err, &gone) {
		line += "; run: terraform-provider-infiniband check " + strings.Join(append(slices.Clone(t.flags), t.Spec), " ")
	}
	return line
}
