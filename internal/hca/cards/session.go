package cards

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
)

// Host is a host with remembered facts; *hosts.Host is one.
type Host interface {
	host.Host
	Snapshot(ctx context.Context) (*inventory.Snapshot, error)
	StoredLinkTypes(ctx context.Context, pci ib.PCIAddress) (inventory.StoredLinkTypes, error)
	CardSettings(ctx context.Context, pci ib.PCIAddress) (inventory.CardSettings, error)
	Invalidate()
}

// Rebooter restarts the card's host, proves that it has started anew, and gives the new
// boot id. ready is asked directly before the restart, and stops it by an error. See
// Platform.
type Rebooter interface {
	Reboot(ctx context.Context, reason string, ready func(context.Context) error) (bootID string, err error)
	// Drained runs do between the drain commands and the resume commands of the host, without a restart.
	Drained(ctx context.Context, do func(context.Context) error) error
}

// LinkTypeStore is what the platform of a host has for the types of a card's ports. See Platform.
type LinkTypeStore interface {
	Places(s *inventory.Snapshot) platform.Places
	// Keep makes types last over a reboot, in the place that is ours.
	Keep(ctx context.Context, types map[int]ib.LinkType) error
}

// Card is one card with what the configuration says of its host.
type Card struct {
	Host Host
	PCI  ib.PCIAddress
	// Recorded is who the card was when it was adopted. Without it nothing is
	// written.
	Recorded ib.Identity
	// Elsewhere is where the recorded card was found on another host, and Edit the
	// lines of configuration that follow it; see safety.IdentityFacts.
	Elsewhere, Edit string
	RebootAllowed   bool
	Interrupts      []string // services whose clients may wait for a restart
	Rebooter        Rebooter // may be nil if RebootAllowed is false
	TypeStore       LinkTypeStore
}

// ID is "host/0000:01:00.0".
func (c Card) ID() string { return c.Host.Name() + "/" + c.PCI.String() }

// FileName is the address of the card as a part of a path.
func (c Card) FileName() string { return strings.ReplaceAll(c.PCI.String(), ":", "-") }

// Config says how operations are carried out. Zero durations mean defaults.
type Config struct {
	// BackupDir is a directory on the operator's machine; empty forbids every
	// write of flash.
	BackupDir string
	// Operator is written into journals and locks; empty means user@machine
	// with the process id.
	Operator string
	// Root names the root module of the apply; empty means changes.RootModule.
	Root string
	// Poll is the pause between two looks at a running job (2 s), Lost how long
	// a host may stay away while a job is watched (10 min), Deadline how long a
	// job is watched at all (45 min), Settle how long to wait for ports or a
	// driver after a change (60 s).
	Poll, Lost, Deadline, Settle time.Duration
	// Owner is the apply that watches the jobs of this session; zero means this
	// process. Alive reports whether one of this machine still runs.
	Owner Owner
	Alive func(Owner) bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Create makes a new file of a backup; nil means on the disk. Tests set it to play a
	// full disk.
	Create func(path string) (File, error)
	// Progress is told about steps that take long; nil means nobody.
	Progress func(ctx context.Context, message string)
	// Step is told how far the write of a card is; nil means nobody.
	Step func(journal.Step)
}

// Session is what operations on cards share in one process. It is safe for concurrent
// use. The caller makes sure that one host has one writer within this process.
type Session struct {
	Config
	turns turns
}

// New completes cfg with defaults. It does not touch the disk.
func New(cfg Config) *Session {
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&cfg.Poll, 2 * time.Second}, {&cfg.Lost, 10 * time.Minute}, {&cfg.Deadline, 45 * time.Minute},
		{&cfg.Settle, time.Minute}} {
		if *d.value <= 0 {
			*d.value = d.usual
		}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Create == nil {
		cfg.Create = createFile
	}
	if cfg.Progress == nil {
		cfg.Progress = func(context.Context, string) {}
	}
	if cfg.Step == nil {
		cfg.Step = func(journal.Step) {}
	}
	if cfg.Operator == "" {
		cfg.Operator = changes.Operator()
	}
	if cfg.Root == "" {
		cfg.Root = changes.RootModule()
	}
	if cfg.Owner == (Owner{}) {
		cfg.Owner = thisProcess()
	}
	if cfg.Alive == nil {
		cfg.Alive = isAlive
	}
	return &Session{Config: cfg}
}

// NoCardError says that a reachable host has no card at an address.
type NoCardError struct {
	Host string
	PCI  ib.PCIAddress
}

func (e *NoCardError) Error() string {
	return fmt.Sprintf("%s has no card at %s", e.Host, e.PCI)
}

// Tell says how far the write of a card is.
func (o *Session) Tell(c Card, s journal.Step) {
	s.Time, s.Host, s.PCI = o.Now(), c.Host.Name(), c.PCI
	o.Step(s)
}

// Pause waits between two looks at a host.
func (o *Session) Pause(ctx context.Context) error { return poll.Pause(ctx, o.Poll) }
