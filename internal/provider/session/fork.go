package session

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
)

// Fork is the same session with some of its hosts for another walk: what was read of them
// is shared, what is planned is not.
func (d *Data) Fork(names []string) *Data {
	some := make(map[string]HostConfig, len(names))
	for _, name := range names {
		some[name] = d.Hosts[name]
	}
	return &Data{Set: d.Set, Hosts: some, Ready: d.Ready, BackupDir: d.BackupDir, RunLog: d.RunLog, Cards: d.Cards,
		Planned: planned.NewWalk(), Turns: NewTurns(), Restores: planned.NewRestores(), Confirm: d.Confirm, Lock: d.Lock}
}
