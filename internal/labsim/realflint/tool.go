//go:build linux

package realflint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
)

// Tool is the mstflint of this machine.
type Tool struct {
	Version string

	path string
	dir  string // with a directory for each host, which is /tmp for the program

	mu    sync.Mutex
	runs  int
	cards map[*card.Card]*function
}

var versionText = regexp.MustCompile(`mstflint (\d+\.\d+\.\d+)`)

// Find finds mstflint on PATH, and runs it once as it will be run for the hosts. Its files are kept below dir.
func Find(ctx context.Context, dir string) (*Tool, error) {
	path, err := exec.LookPath("mstflint")
	if err != nil {
		return nil, errors.New("mstflint is not on PATH; install the package mstflint")
	}
	t := &Tool{path: path, dir: dir, cards: map[*card.Card]*function{}}
	var out bytes.Buffer
	r := run{tmp: dir, tool: path, args: []string{"mstflint", "-v"}, stdin: strings.NewReader(""), stdout: &out, stderr: &out}
	status, err := r.inOwnMounts(ctx)
	switch m := versionText.FindStringSubmatch(out.String()); {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("an emulated card needs mounts of its own: run this as root, or behind \"unshare -rm\": %w", err)
	case err != nil:
		return nil, fmt.Errorf("an emulated card needs FUSE (modprobe fuse) and /sys: %w", err)
	case m == nil:
		return nil, fmt.Errorf("%s -v ends with status %d and says no version: %s", path, status, strings.TrimSpace(out.String()))
	default:
		t.Version = m[1]
	}
	return t, nil
}

// SetUp has the tool answer on a machine; it belongs into the Setup of the lab's options.
func (t *Tool) SetUp(m *labsim.Machine) {
	m.Hooks.Flint = t.answer
	if m.Tools["mstflint"] != "" {
		m.Tools["mstflint"] = t.Version // that of the package's other programs, too
	}
}

// function is a card on the bus. It outlives runs of the tool, as semaphores do.
type function struct {
	mu    sync.Mutex
	card  *card.Card
	regs  *registers.Registers
	space *registers.Function
	boots int
}

// functionOf is the one of a card.
func (t *Tool) functionOf(c *card.Card) *function {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.cards[c]
	if f == nil {
		f = &function{card: c, regs: registers.Of(c)}
		t.cards[c] = f
	}
	return f
}

// powered is the configuration space since the card's last boot.
func (f *function) powered() *registers.Function {
	if boots := f.card.Boots(); f.space == nil || f.boots != boots {
		f.regs.Reset()
		f.space, f.boots = f.regs.NewFunction(), boots
	}
	return f.space
}

// access is what one run of the tool reaches of a card. Once the power has gone, it is deaf.
type access struct {
	*function
	ctx  context.Context // one run is one process
	deaf bool
}

func (a *access) isDeaf() bool {
	a.deaf = a.deaf || errors.Is(context.Cause(a.ctx), labsim.ErrPowerCut)
	return a.deaf
}

// Read implements fusetree.Registers.
func (a *access) Read(off int64, size int) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.isDeaf() {
		return bytes.Repeat([]byte{0xff}, size)
	}
	return a.powered().Read(off, size)
}

// Write implements fusetree.Registers.
func (a *access) Write(_ uint32, off int64, data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.isDeaf() {
		a.deaf = errors.Is(a.powered().Write(off, data), card.ErrPowerLost)
	}
}

// answer runs the tool for a process of a host; see labsim.Hooks.
func (t *Tool) answer(ctx context.Context, p *labsim.Proc, device string, c *labsim.Card) (status int, answered bool) {
	if c != nil && !Emulates(c.Config) {
		return 0, false
	}
	t.mu.Lock()
	t.runs++
	s := staging{proc: p, tmp: t.dir + "/" + p.Machine.Name, run: fmt.Sprintf("run%d", t.runs)}
	t.mu.Unlock()
	fail := func(err error) (int, bool) {
		return p.Fail(1, "the lab cannot run the real program: %v", err), true
	}
	if err := os.MkdirAll(s.tmp, 0o700); err != nil {
		return fail(err)
	}
	args, err := s.arguments(device, c)
	defer s.remove()
	if err != nil {
		return fail(err)
	}
	out, errOut := &renamed{w: p.Stdout, names: s.shown}, &renamed{w: p.Stderr, names: s.shown}
	r := run{tmp: s.tmp, tool: t.path, args: args, stdin: p.Stdin, stdout: out, stderr: errOut}
	if c != nil {
		r.cards = map[string]*access{c.Config.BDF: {function: t.functionOf(c.Card), ctx: ctx}}
	}
	status, err = r.inOwnMounts(ctx)
	if err = errors.Join(err, out.flush(), errOut.flush()); err == nil {
		err = s.takeBack()
	}
	if down := labsim.SignalStatus(ctx); down != 0 && errors.Is(context.Cause(ctx), labsim.ErrPowerCut) {
		return down, true
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		return fail(err)
	}
	return status, true
}
