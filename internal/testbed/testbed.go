//go:build testbed && linux

package testbed

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// DefaultBDF is where hosts have their card unless told otherwise.
const DefaultBDF = "0000:01:00.0"

// HostConfig describes a machine to be made.
type HostConfig struct {
	Name string
	BDF  string // default DefaultBDF
	Card card.Config
	// Board is written into the card's vital product data; empty: it has none.
	Board Board
}

// Testbed is a running testbed and the operator's keys to it.
type Testbed struct {
	Hosts map[string]*Host
	Dir   string // of the operator
}

// numbers gives every host of the sandbox a network of its own.
var numbers struct {
	sync.Mutex
	last int
}

// Start makes hosts, all at once, and waits until they can be reached. dir
// receives what the operator needs. The caller closes the bed.
func Start(ctx context.Context, dir string, hosts ...HostConfig) (*Testbed, error) {
	if os.Getenv(insideMark) == "" {
		return nil, errors.New("testbed: the tests of this package do not start with testbed.Main")
	}
	b := &Testbed{Hosts: map[string]*Host{}, Dir: dir}
	operator, err := b.writeKey()
	if err != nil {
		return nil, err
	}
	for _, c := range hosts {
		if _, err := b.add(c, operator); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	if err := b.each(func(h *Host) error { return h.Boot(ctx) }); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, b.writeKnownHosts()
}

func (b *Testbed) add(c HostConfig, operator ssh.PublicKey) (*Host, error) {
	if c.BDF == "" {
		c.BDF = DefaultBDF
	}
	model, err := card.New(c.Card)
	if err != nil {
		return nil, err
	}
	numbers.Lock()
	numbers.last++
	number := numbers.last
	numbers.Unlock()
	device := NewDevice(model)
	device.Board = c.Board
	h, err := newHost(number, c, device, operator)
	b.Hosts[c.Name] = h
	return h, err
}

// each does something with all hosts at once.
func (b *Testbed) each(do func(*Host) error) error {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for _, h := range b.Hosts {
		wg.Go(func() {
			if err := do(h); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Close switches everything off and takes it away.
func (b *Testbed) Close() error { return b.each((*Host).remove) }

// KeyFile is the private key that logs in to every host.
func (b *Testbed) KeyFile() string { return filepath.Join(b.Dir, "id_ed25519") }

// KnownHostsFile vouches for every host.
func (b *Testbed) KnownHostsFile() string { return filepath.Join(b.Dir, "known_hosts") }

func (b *Testbed) writeKey() (ssh.PublicKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "testbed")
	if err != nil {
		return nil, err
	}
	if err := writeFile(b.KeyFile(), string(pem.EncodeToMemory(block)), 0o600); err != nil {
		return nil, err
	}
	return ssh.NewPublicKey(public)
}

func (b *Testbed) writeKnownHosts() error {
	var text strings.Builder
	for _, h := range b.Hosts {
		fmt.Fprintf(&text, "%s %s", h.Addr, ssh.MarshalAuthorizedKey(h.Key))
	}
	return os.WriteFile(b.KnownHostsFile(), []byte(text.String()), 0o600)
}
