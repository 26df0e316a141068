// Package collect asks a host for everything that the provider wants to know
// about it, with one constant script in one command, and takes the answer
// apart into sections.
//
// It must not know what the sections mean, and its script must not change the
// host.
package collect

import (
	_ "embed"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
)

//go:embed collect.sh
var script string

// Places says where the script looks.
type Places struct {
	Root     string   // of the file system; empty for the real one
	StateDir string   // where jobs and images are kept
	LockFile string   // of the cards
	Packages []string // packages whose versions are wanted, by their names in any distribution
}

// Command returns the collection of all facts. It needs root, because only root may
// read the flash of a card, its VPD and the configuration of the network. It prints
// whole files, also passwords of networks that the provider does not use. It has no
// time limit of its own, so that the user's command_timeout holds.
func Command(p Places) shellcmd.Command {
	return shellcmd.Script("collect facts", answer.Functions+cardusers.Functions+script,
		append([]string{p.Root, p.StateDir, p.LockFile}, p.Packages...)...).
		// Confidential: nothing of the output is shown in an error.
		AsRoot().Confidential()
}
