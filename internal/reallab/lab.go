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
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/connectx3"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// PCIAddress is where the card of every machine is.
const PCIAddress = "0000:01:00.0"

// switchGUID and switchPorts are those of the one switch.
const (
	switchGUID  = 0x0002c90300112200
	switchPorts = 12
)

// Host describes a machine with a card. The first port of the card is cabled to the
// switch.
type Host struct {
	Name  string
	Card  card.Config
	Board registers.Board
}

// Lab is machines, their cards, and a switch between these. Close ends it.
type Lab struct {
	Dir      string
	Machines map[string]*machine.Machine
	Cards    map[string]*connectx3.Card
	Models   map[string]*card.Card
	Cables   map[string]*wire.Cable
	Switch   *fabric.Switch

	cancel  context.CancelFunc
	serving sync.WaitGroup
	log     *os.File
}

// Start makes a lab in a directory and switches its machines on. It does not wait until
// they answer. The systems must have been prepared.
func Start(ctx context.Context, dir string, hosts []Host) (*Lab, error) {
	world := &wire.World{}
	l := &Lab{Dir: dir, Machines: map[string]*machine.Machine{}, Cards: map[string]*connectx3.Card{},
		Models: map[string]*card.Card{}, Cables: map[string]*wire.Cable{},
		Switch: fabric.NewSwitch(world, "SwitchX -  Mellanox Technologies", switchGUID, switchPorts)}
	ctx, l.cancel = context.WithCancel(ctx)
	operator, err := l.writeKey()
	if err == nil {
		l.log, err = os.Create(filepath.Join(dir, "cards.log"))
	}
	for i, h := range hosts {
		if err == nil {
			err = l.add(ctx, world, h, i+1, operator)
		}
	}
	if err == nil {
		err = l.writeKnownHosts()
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// add makes a machine with its card.
func (l *Lab) add(ctx context.Context, world *wire.World, h Host, port int, operator string) error {
	model, err := card.New(h.Card)
	if err != nil {
		return err
	}
	c := connectx3.New(world, connectx3.Config{Name: h.Name, Model: model, Board: h.Board,
		Log: log.New(l.log, "", log.Ltime|log.Lmicroseconds)})
	l.Models[h.Name], l.Cards[h.Name] = model, c
	l.Cables[h.Name] = wire.Connect(c.Port(1), l.Switch.Port(port))
	dir := filepath.Join(l.Dir, h.Name)
	if err = os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // keys in it are for their owner alone
		return err
	}
	socket := filepath.Join(dir, "card.sock")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	l.serving.Go(func() {
		if ended := c.Serve(ctx, listener); ended != nil {
			log.New(l.log, "", log.Ltime).Printf("%s: %v", h.Name, ended)
		}
	})
	m, err := machine.New(ctx, machine.Config{Name: h.Name, Dir: dir, Operator: operator, Card: socket})
	if err != nil {
		return err
	}
	l.Machines[h.Name] = m
	return m.Start(ctx)
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
	for _, m := range l.Machines {
		line, err := m.KnownHost()
		if err != nil {
			return err
		}
		fmt.Fprint(&all, line)
	}
	return os.WriteFile(l.KnownHostsFile(), []byte(all.String()), 0o600)
}

// Close takes the power from everything.
func (l *Lab) Close() error {
	for _, m := range l.Machines {
		m.Cut()
	}
	l.cancel()
	l.serving.Wait()
	if l.log == nil {
		return nil
	}
	return l.log.Close()
}

// Run runs a command on a machine as root, over SSH, and gives what it printed.
func (l *Lab) Run(ctx context.Context, name, command string) (string, error) {
	m := l.Machines[name]
	//nolint:gosec // a command of a test
	cmd := exec.CommandContext(ctx, "ssh", "-F", "none", "-i", l.KeyFile(), "-o", "UserKnownHostsFile="+l.KnownHostsFile(),
		"-o", "ConnectTimeout=5", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-p", strconv.Itoa(m.Port),
		machine.User+"@127.0.0.1", "sudo sh -c "+shellescape.Quote(command))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
