//go:build linux

package reallab

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"al.essio.dev/pkg/shellescape"
	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/netstack"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// PCIAddress is where the first card of every machine is.
const PCIAddress = "0000:01:00.0"

// Host describes a machine with cards.
type Host struct {
	Name    string
	Suite   string         // of Debian; machine.Bookworm if empty
	Stack   netstack.Stack // that configures its network; netstack.Ifupdown if empty
	Cmdline string         // of its kernel
	Slots   []Slot         // the n-th card is at 0000:0n:00.0
	// Megabytes is the size of its memory; what machine.Config says if 0.
	Megabytes int
}

// Slot is a card in a machine.
type Slot struct {
	Card  card.Config
	Board registers.Board
}

// Plugged is a card in a machine of a lab.
type Plugged struct {
	Chip
	Model *card.Card
	Cable *wire.Cable // of the first port; nil if there is none
}

// Lab is machines, their cards, and switches between these. Close ends it.
type Lab struct {
	Dir      string
	Machines map[string]*machine.Machine
	Cards    map[string][]Plugged // of each machine, by slot
	Uplinks  map[string]*Uplink
	Switches map[string]*fabric.Switch

	world   *wire.World
	cancel  context.CancelFunc
	serving sync.WaitGroup
	log     *os.File
}

// Start makes a lab with one switch in a directory and switches its machines on. It does
// not wait until they answer. The systems must have been prepared.
func Start(ctx context.Context, dir string, hosts []Host) (*Lab, error) {
	return StartWith(ctx, dir, hosts, Options{})
}

// StartWith is Start with switches and cables of one's own.
func StartWith(ctx context.Context, dir string, hosts []Host, o Options) (*Lab, error) {
	l := &Lab{Dir: dir, Machines: map[string]*machine.Machine{}, Cards: map[string][]Plugged{}, Uplinks: map[string]*Uplink{},
		Switches: map[string]*fabric.Switch{}, world: &wire.World{}}
	ctx, l.cancel = context.WithCancel(ctx)
	if err := l.build(ctx, hosts, o); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// build makes everything and connects it before the first machine boots.
func (l *Lab) build(ctx context.Context, hosts []Host, o Options) error {
	operator, err := l.writeKey()
	if err != nil {
		return err
	}
	if l.log, err = os.Create(filepath.Join(l.Dir, cardsFile)); err != nil {
		return err
	}
	if err := l.wire(ctx, hosts, o); err != nil {
		return err
	}
	if err := l.startAll(ctx, hosts, operator); err != nil {
		return err
	}
	return l.writeKnownHosts()
}

// wire makes switches, cards and cables.
func (l *Lab) wire(ctx context.Context, hosts []Host, o Options) error {
	o, err := o.cabled(hosts)
	if err != nil {
		return err
	}
	if err := l.addSwitches(o.Switches); err != nil {
		return err
	}
	for _, h := range hosts {
		if err := l.plugAll(ctx, h); err != nil {
			return err
		}
	}
	for _, c := range o.Cables {
		if err := l.connect(c); err != nil {
			return err
		}
	}
	for _, h := range hosts {
		for slot := range h.Slots {
			l.Cards[h.Name][slot].Cable = l.Cable(End{Node: h.Name, Slot: slot})
		}
	}
	return nil
}

func (l *Lab) dir(host string) string { return filepath.Join(l.Dir, host) }

// socket is where a function of a card is served.
func (l *Lab) socket(host string, slot, function int) string {
	return filepath.Join(l.dir(host), fmt.Sprintf("card%d.%d", slot, function))
}

// plugAll makes the cards of a machine.
func (l *Lab) plugAll(ctx context.Context, h Host) error {
	if l.Cards[h.Name] != nil || l.Switches[h.Name] != nil {
		return fmt.Errorf("reallab: the name %q is taken", h.Name)
	}
	if err := os.MkdirAll(l.dir(h.Name), 0o755); err != nil { //nolint:gosec // keys in it are for their owner alone
		return err
	}
	for slot, s := range h.Slots {
		if err := l.plug(ctx, h.Name, s, slot); err != nil {
			return err
		}
	}
	return nil
}

// startAll makes the machines, whose cards are there, and switches them on, all at once.
func (l *Lab) startAll(ctx context.Context, hosts []Host, operator string) error {
	machines, uplinks, failed := make([]*machine.Machine, len(hosts)), make([]*Uplink, len(hosts)), make([]error, len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() { machines[i], uplinks[i], failed[i] = l.start(ctx, h, operator) })
	}
	all.Wait()
	for i, h := range hosts {
		if machines[i] != nil {
			l.Machines[h.Name] = machines[i]
		}
		if uplinks[i] != nil {
			l.Uplinks[h.Name] = uplinks[i]
		}
	}
	return errors.Join(failed...)
}

// start makes one machine. What it gives must be ended in case of an error, too.
func (l *Lab) start(ctx context.Context, h Host, operator string) (*machine.Machine, *Uplink, error) {
	sockets := make([][]string, len(h.Slots))
	for slot := range h.Slots {
		for n := range functions(l.Cards[h.Name][slot].Chip) {
			sockets[slot] = append(sockets[slot], l.socket(h.Name, slot, n))
		}
	}
	m, err := machine.New(ctx, machine.Config{Name: h.Name, Dir: l.dir(h.Name), Operator: operator, Cards: sockets, Suite: h.Suite,
		Stack: h.Stack, Cmdline: h.Cmdline, Megabytes: h.Megabytes})
	if err != nil {
		return nil, nil, err
	}
	u, err := newUplink(ctx, m.Port)
	if err != nil {
		return m, nil, err
	}
	return m, u, m.Start(ctx)
}

// plug makes a card and serves its functions.
func (l *Lab) plug(ctx context.Context, host string, s Slot, slot int) error {
	model, err := card.New(s.Card)
	if err != nil {
		return err
	}
	c, err := l.newChip(host, s, model)
	if err != nil {
		return err
	}
	l.Cards[host] = append(l.Cards[host], Plugged{Chip: c, Model: model})
	for n, f := range functions(c) {
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: l.socket(host, slot, n), Net: "unix"})
		if err != nil {
			return err
		}
		l.serving.Go(func() {
			if ended := f.Serve(ctx, listener); ended != nil {
				log.New(l.log, "", log.Ltime).Printf("%s: %v", host, ended)
			}
		})
	}
	return nil
}

// KeyFile is the operator's private key.
func (l *Lab) KeyFile() string { return filepath.Join(l.Dir, "id_ed25519") }

// KnownHostsFile has the keys of all machines.
func (l *Lab) KnownHostsFile() string { return filepath.Join(l.Dir, "known_hosts") }

// writeKey makes the operator's key and gives its public half.
func (l *Lab) writeKey() (string, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	block, err := ssh.MarshalPrivateKey(private, "operator")
	if err != nil {
		return "", err
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return "", err
	}
	err = os.WriteFile(l.KeyFile(), pem.EncodeToMemory(block), 0o600)
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), err
}

func (l *Lab) writeKnownHosts() error {
	var all strings.Builder
	for name, m := range l.Machines {
		key, err := m.HostKey()
		if err != nil {
			return err
		}
		fmt.Fprintf(&all, "[127.0.0.1]:%d,[127.0.0.1]:%d,%s %s", m.Port, l.Uplinks[name].Port, name, key)
	}
	return os.WriteFile(l.KnownHostsFile(), []byte(all.String()), 0o600)
}

// Close takes the power from everything.
func (l *Lab) Close() error {
	for _, m := range l.Machines {
		m.Cut()
	}
	for _, u := range l.Uplinks {
		u.close()
	}
	l.cancel()
	l.serving.Wait()
	if l.log == nil {
		return nil
	}
	return l.log.Close()
}

// Await waits until a machine lets its operator in. A machine that does not come back is
// an error as soon as that can be seen, and when ctx ends.
func (l *Lab) Await(ctx context.Context, name string) error {
	return l.Machines[name].Await(ctx, func(ctx context.Context) error {
		out, err := l.Run(ctx, name, "true")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// Run runs a command on a machine as root, over SSH, and gives what it printed.
func (l *Lab) Run(ctx context.Context, name, command string) (string, error) {
	m := l.Machines[name]
	//nolint:gosec // a command of a test
	cmd := exec.CommandContext(ctx, "ssh", "-F", "none", "-i", l.KeyFile(), "-o", "UserKnownHostsFile="+l.KnownHostsFile(),
		"-o", "ConnectTimeout=30", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-p", strconv.Itoa(m.Port),
		machine.User+"@127.0.0.1", "sudo sh -c "+shellescape.Quote(command))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
