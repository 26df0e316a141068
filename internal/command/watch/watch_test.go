package watch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/image"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// long is how long a test waits for what must come.
const long = 2 * time.Minute

// world is a lab with one host that is burned, by a machine of its own.
type world struct {
	t      *testing.T
	lab    *labs.Lab
	config string
	pci    ib.PCIAddress
}

func newWorld(t *testing.T) *world {
	t.Helper()
	lab, err := labs.Start(t.TempDir(), labsim.Options{Speed: 20}, labs.TwoHosts()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, v := range lab.Violations() {
			t.Errorf("the lab was asked for what no real host would answer: %s", v)
		}
		lab.Close()
	})
	w := &world{t: t, lab: lab, config: filepath.Join(t.TempDir(), "ssh_config"),
		pci: ib.MustParsePCIAddress(labs.TwoHosts()[0].Cards[0].BDF)}
	for _, h := range labs.TwoHosts() {
		if h.Name == labs.Intel9 {
			w.pci = ib.MustParsePCIAddress(h.Cards[0].BDF)
		}
	}
	more := map[string]string{labs.Xeon2zfs: "  Port 1\n"} // nobody listens there
	if err := os.WriteFile(w.config, []byte(lab.SSHConfig(more)), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) flash() *card.Flash {
	return w.lab.Machine(labs.Intel9).Card(w.pci.String()).Flash
}

// burn cross-flashes the card as an apply does.
func (w *world) burn(ctx context.Context, operator string) error {
	h, err := sshhost.New(labs.Intel9, sshhost.Config{Address: "127.0.0.1", Port: w.lab.Servers[labs.Intel9].Addr.Port,
		User: w.lab.User(labs.Intel9), PrivateKeyFile: w.lab.KeyFile(), SSHConfigFile: "none",
		KnownHostsFiles: []string{w.lab.KnownHostsFile()}})
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	known := hosts.New(h)
	data := card.VPI()
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	if err = image.Stage(ctx, known, bytes.NewReader(data), int64(len(data)), hash); err != nil {
		return err
	}
	img, parsed := fwimage.Parse(bytes.NewReader(data), int64(len(data)))
	s, err := known.Snapshot(ctx)
	if err != nil {
		return err
	}
	p, err := platform.Of(s)
	if err != nil {
		return err
	}
	c := cards.On(known, w.pci, p, false, reboot.Policy{})
	found, _ := s.Card(w.pci)
	c.Recorded = s.Identity(found).Record()
	ops := hca.New(cards.Config{BackupDir: filepath.Join(w.t.TempDir(), "backups"), Operator: operator,
		Poll: 20 * time.Millisecond})
	_, err = ops.ApplyFirmware(ctx, hca.Firmware{Card: c,
		Image: image.Facts("vpi.bin", hash, "", int64(len(data)), img, parsed),
		Request: safety.FirmwareRequest{Activation: safety.ActivationNone,
			Consents: safety.Consents{PSIDChange: &safety.Change[ib.PSID]{From: card.PSIDEN, To: card.PSIDVPI}}}})
	return err
}

// holdBurn has the burn stand still at its twentieth operation. at is called there, with
// the burn held; what it returns is what the operation ends with once released.
func (w *world) holdBurn(at func(), then error) (release func()) {
	held, n := make(chan struct{}), 0
	release = sync.OnceFunc(func() { close(held) })
	w.t.Cleanup(release)
	w.flash().SetHook(func(card.Op) error {
		if n++; n != 20 {
			return nil
		}
		at()
		<-held
		return then
	})
	return release
}

// begin burns beside the test, and returns when the burn stands still.
func (w *world) begin(then error) (burned chan error, release func()) {
	w.t.Helper()
	burning := make(chan struct{})
	release = w.holdBurn(func() { close(burning) }, then)
	burned = make(chan error, 1)
	go func() { burned <- w.burn(w.t.Context(), "alice") }()
	select {
	case <-burning:
	case err := <-burned:
		w.t.Fatalf("the burn did not begin: %v", err)
	}
	return burned, release
}

// screen is a stream whose reader can wait for a text.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newScreen() *screen { return &screen{more: make(chan struct{}, 1)} }

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) await(t *testing.T, want string) {
	t.Helper()
	limit := time.After(long)
	for !strings.Contains(s.String(), want) {
		select {
		case <-s.more:
		case <-limit:
			t.Fatalf("no %q in:\n%s", want, s)
		}
	}
}

// has holds that a text stands there now.
func (s *screen) has(t *testing.T, want string) {
	t.Helper()
	if !strings.Contains(s.String(), want) {
		t.Errorf("no %q in:\n%s", want, s)
	}
}

// watch runs the command; settle is how long it waits for an apply.
func (w *world) watch(out, err io.Writer, settle time.Duration, args ...string) int {
	c := newCommand(pace{every: 20 * time.Millisecond, settle: settle, lost: long})
	return c.Run(w.t.Context(), append([]string{"-config-file", w.config}, args...),
		command.Streams{In: strings.NewReader(""), Out: out, Err: err})
}

func (w *world) once(want int, says ...string) {
	w.t.Helper()
	out := newScreen()
	if status := w.watch(out, out, long, "-once", labs.Intel9); status != want {
		w.t.Errorf("status %d, want %d", status, want)
	}
	for _, text := range says {
		out.has(w.t, text)
	}
}

// TestWatch_after_the_provider_was_killed follows a burn from another machine, from its
// middle to the end that nobody reads back, and after an apply has done so.
func TestWatch_after_the_provider_was_killed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.once(Nothing, "no flash job is noted on this host")
	killed, kill := context.WithCancelCause(t.Context())
	release := w.holdBurn(func() { kill(errors.New("killed")) }, nil)
	if err := w.burn(killed, "alice"); err == nil {
		t.Fatal("the killed apply says nothing")
	}
	w.once(Undecided, "burning", "%", "next: read the card back")
	out, status := newScreen(), make(chan int, 1)
	go func() { status <- w.watch(out, out, 0, labs.Intel9) }()
	out.await(t, "burning")
	release()
	if got := <-status; got != Undecided {
		t.Errorf("status %d, want %d", got, Undecided)
	}
	out.has(t, "burned      100%  next: read the card back and verify it")
	if err := w.burn(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	w.once(Nothing, "no flash job is open; the last one, of card "+w.pci.String(), ": verified, verified by a later apply")
}

// TestWatch_of_jobs_that_cannot_be_read holds that silence is no "nothing".
func TestWatch_of_jobs_that_cannot_be_read(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lab.Machine(labs.Intel9).FS.Put(inventory.StateDir+"/jobs", "", 0o600)
	w.once(Undecided, "whether a flash job is open is not known: "+inventory.StateDir+"/jobs is no directory")
}

// TestWatch_beside_the_apply follows a burn that goes well.
func TestWatch_beside_the_apply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	burned, release := w.begin(nil)
	out, status := newScreen(), make(chan int, 1)
	go func() { status <- w.watch(out, out, long, "-json", labs.Intel9) }()
	out.await(t, `"burning"`)
	release()
	if err := <-burned; err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != command.OK {
		t.Errorf("status %d:\n%s", got, out)
	}
	var steps []string
	for line := range strings.Lines(out.String()) {
		var e struct{ Host, Card, Step, Outcome string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Host != labs.Intel9 || e.Card != w.pci.String() {
			t.Errorf("%v in %s", err, line)
		}
		steps = append(steps, e.Step+" "+e.Outcome)
	}
	if steps[0] != "burning running" || steps[len(steps)-1] != "verified verified" {
		t.Errorf("steps %q", steps)
	}
}

// TestWatch_a_burn_that_fails has the flash refuse a write.
func TestWatch_a_burn_that_fails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	burned, release := w.begin(errors.New("broken"))
	out, status := newScreen(), make(chan int, 1)
	go func() { status <- w.watch(out, out, long, labs.Intel9, labs.Xeon2zfs) }()
	out.await(t, "burning")
	out.await(t, labs.Xeon2zfs+": ")
	out.await(t, "; run: terraform-provider-infiniband check -config-file ")
	release()
	if err := <-burned; err == nil {
		t.Error("the apply says nothing")
	}
	if got := <-status; got != command.Unreachable { // of the other host, which is what matters most
		t.Errorf("status %d", got)
	}
	out.has(t, "failed            mstflint ended with status 1: Burning FS2 image failed: Flash write failed")
	out.has(t, "read back: The flash of card")
}

func TestWatch_status(t *testing.T) {
	for _, tt := range []struct {
		all  []int
		want int
	}{
		{nil, Nothing}, {[]int{Nothing, Nothing}, Nothing}, {[]int{Nothing, command.OK}, command.OK},
		{[]int{command.OK, Undecided}, Undecided}, {[]int{Undecided, command.Failed}, command.Failed},
		{[]int{command.Failed, command.Unreachable, command.OK}, command.Unreachable},
	} {
		if got := worst(tt.all); got != tt.want {
			t.Errorf("%v gives %d, want %d", tt.all, got, tt.want)
		}
	}
	for _, wrong := range [][]string{{}, {"-every", "0s", "host"}, {"-nonsense", "host"}} {
		var stderr bytes.Buffer
		if status := Command.Run(t.Context(), wrong, command.Streams{Out: t.Output(), Err: &stderr}); status != command.Usage {
			t.Errorf("%q: status %d, %s", wrong, status, stderr.String())
		}
	}
}
