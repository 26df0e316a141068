package hca

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
)

// Ops carries out operations.
type Ops struct {
	*cards.Session
	Backups *backup.Store
}

// New gives the operations of a session.
func New(cfg cards.Config) *Ops {
	s := cards.New(cfg)
	return &Ops{Session: s, Backups: backup.NewStore(s)}
}
