package hca

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/image"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/simssh"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// bench is one host of the two-host lab with an Ethernet-only ConnectX-3 Pro,
// reached over real SSH.
type bench struct {
	t       *testing.T
	lab     *labs.Lab
	name    string
	machine *labsim.Machine
	server  *simssh.Server
	pci     ib.PCIAddress
	backups string
	observe bool // hosts opened from now on are only observed
}

func newBench(t *testing.T, name string, flashDelay time.Duration) *bench {
	t.Helper()
	lab, err := labs.Start(t.TempDir(), labsim.Options{Speed: 20, FlashDelay: flashDelay}, labs.TwoHosts()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	b := &bench{t: t, lab: lab, name: name, machine: lab.Machine(name), server: lab.Servers[name],
		backups: filepath.Join(t.TempDir(), "backups")}
	for _, h := range labs.TwoHosts() {
		if h.Name == name {
			b.pci = ib.MustParsePCIAddress(h.Cards[0].BDF)
		}
	}
	return b
}

// host opens the host as another process would: with a memory of its own.
func (b *bench) host() *hosts.Host {
	b.t.Helper()
	h, err := sshhost.New(b.name, sshhost.Config{
		Address: "127.0.0.1", Port: b.server.Addr.Port, User: b.lab.User(b.name), PrivateKeyFile: b.lab.KeyFile(),
		SSHConfigFile:   "none",
		KnownHostsFiles: []string{b.lab.KnownHostsFile()}, ConnectAttempts: 2, Observe: b.observe,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = h.Close() })
	return hosts.New(h)
}

// device is the simulated card itself.
func (b *bench) device() *labsim.Card { return b.machine.Card(b.pci.String()) }

func (b *bench) card(ctx context.Context) cards.Card {
	b.t.Helper()
	return b.cardWith(ctx, reboot.Policy{Timeout: 30 * time.Second, Poll: 20 * time.Millisecond})
}

func (b *bench) cardWith(ctx context.Context, policy reboot.Policy) cards.Card {
	b.t.Helper()
	h := b.host()
	s, err := h.Snapshot(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	p, err := platform.Of(s)
	if err != nil {
		b.t.Fatal(err)
	}
	c := cards.On(h, b.pci, p, true, policy)
	if found, ok := s.Card(b.pci); ok {
		c.Recorded = s.Identity(found).Record()
	}
	return c
}

func (b *bench) ops(name string) *Ops {
	return New(cards.Config{
		BackupDir: b.backups, Operator: name, Poll: 30 * time.Millisecond, Lost: 5 * time.Second, Deadline: 60 * time.Second,
		Settle:   5 * time.Second,
		Progress: func(_ context.Context, m string) { b.t.Log(name + ": " + m) },
	})
}

// image stages an image and gives its facts.
func (b *bench) image(data []byte) safety.ImageFacts {
	b.t.Helper()
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	ctx := context.Background()
	if err := image.Stage(ctx, b.host(), bytes.NewReader(data), int64(len(data)), hash); err != nil {
		b.t.Fatalf("stage: %s", explain(err))
	}
	img, err := fwimage.Parse(bytes.NewReader(data), int64(len(data)))
	return image.Facts("vpi.bin", hash, "", int64(len(data)), img, err)
}

func crossFlash(c cards.Card, img safety.ImageFacts) Firmware {
	return Firmware{Card: c, Image: img, Request: safety.FirmwareRequest{
		Consents:   safety.Consents{PSIDChange: &safety.Change[ib.PSID]{From: card.PSIDEN, To: card.PSIDVPI}},
		Activation: safety.ActivationReboot,
	}}
}

// flash gives what the simulated card itself holds and runs.
func (b *bench) flash() (inFlash, running card.Firmware) {
	b.t.Helper()
	hw := b.device()
	img, err := hw.Flash.Active()
	if err != nil {
		b.t.Fatalf("the card holds no whole image: %v", err)
	}
	return img.Firmware(), hw.Running()
}

func (b *bench) clean() {
	b.t.Helper()
	if v := b.machine.Violations(); len(v) > 0 {
		b.t.Errorf("the simulated host saw what it does not know: %q", v)
	}
}

func explain(err error) string {
	if e, ok := err.(interface{ Explain() string }); ok {
		return fmt.Sprintf("%v\n%s", err, e.Explain())
	}
	return fmt.Sprint(err)
}
