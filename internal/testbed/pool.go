//go:build testbed && linux

package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// Pool lends hosts to tests, one test after another: what takes time is the boot,
// and what a test changes is its cards and a few files.
type Pool struct {
	most int // hosts at a time

	mu       sync.Mutex
	back     *sync.Cond
	testbed  *Testbed
	operator ssh.PublicKey
	idle     []*Host
	made     int
	loans    int
}

// NewPool has up to as many hosts at a time; they boot when they are asked for.
func NewPool(most int) *Pool {
	y := &Pool{most: most}
	y.back = sync.NewCond(&y.mu)
	return y
}

// borrowTimeout bounds the boot of a host and what is done to it before a test.
const borrowTimeout = startTimeout + time.Minute

// Lend lends hosts with the cards that are described. What of the description a
// real host cannot have is named instead. The caller releases the loan.
func (y *Pool) Lend(hosts []labs.Host) (loan *Loan, cannot string, err error) {
	for _, h := range hosts {
		if cannot := unreal(h); cannot != "" {
			return nil, cannot, nil
		}
	}
	boxes, err := y.borrow(len(hosts))
	if err != nil {
		return nil, "", err
	}
	s := &Loan{pool: y, boxes: map[string]*Host{}, boots: map[string]int{},
		dir: filepath.Join(y.testbed.Dir, fmt.Sprint("loan", y.next()))}
	for i, h := range hosts {
		s.boxes[h.Name] = boxes[i]
	}
	if err := s.furnish(hosts); err != nil {
		s.Release()
		return nil, "", err
	}
	return s, "", nil
}

func (y *Pool) next() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.loans++
	return y.loans
}

// unreal says what of a described host cannot be had here. Hosts are Debian and say
// Ubuntu, whatever of the three they are to be: what is asked of a card is the same.
func unreal(h labs.Host) string {
	switch {
	case !slices.Contains([]labsim.OS{labsim.Ubuntu, labsim.TrueNAS, labsim.Debian12}, h.OS):
		return fmt.Sprint("such a system: ", h.OS)
	case h.Stack != "":
		return "network stack of their own: machines with kernels have"
	case h.MstflintVersion != "" && h.MstflintVersion != "4.21.0":
		return "other mstflint than 4.21.0"
	case h.Kernel != "":
		return "kernel of its own"
	case len(h.Users) != 1 || !logsIn(h.Users[0]):
		return "users who log in otherwise"
	}
	for _, c := range h.Cards {
		if !slices.Contains([]card.Chip{card.ConnectX3, card.ConnectX3Pro, card.ConnectX4, card.ConnectX5}, c.Chip) {
			return "such a chip: " + c.Chip.Name
		}
	}
	return ""
}

// logsIn reports whether a user can log in here as described: by key, with a sudo that
// may ask for a password.
func logsIn(u labsim.User) bool {
	if u.Sudo == labsim.SudoPassword {
		return !u.NoKey && u.Password != ""
	}
	return !u.NoKey && u.Password == "" && u.Sudo == labsim.SudoNoPasswd
}

// borrow takes hosts, all at once so that nobody waits for the other's.
func (y *Pool) borrow(n int) ([]*Host, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if n > y.most {
		return nil, fmt.Errorf("testbed: %d hosts at a time; the pool has %d", n, y.most)
	}
	if err := y.open(); err != nil {
		return nil, err
	}
	for len(y.idle)+y.most-y.made < n {
		y.back.Wait()
	}
	for len(y.idle) < n {
		y.made++
		h, err := y.testbed.add(HostConfig{Name: fmt.Sprint("pool", y.made),
			Card: card.Config{Chip: card.ConnectX3Pro, Image: card.EN()}}, y.operator)
		if err != nil {
			return nil, err
		}
		y.idle = append(y.idle, h)
	}
	boxes := y.idle[:n:n]
	y.idle = y.idle[n:]
	return boxes, nil
}

func (y *Pool) open() error {
	if y.testbed != nil {
		return nil
	}
	if os.Getenv(insideMark) == "" {
		return errors.New("testbed: the tests of this package do not start with testbed.Main")
	}
	testbed := &Testbed{Hosts: map[string]*Host{}, Dir: filepath.Join(runDir, "pool")}
	operator, err := testbed.writeKey()
	if err != nil {
		return err
	}
	y.testbed, y.operator = testbed, operator
	return nil
}

// Loan is the hosts of one test.
type Loan struct {
	pool  *Pool
	dir   string
	boxes map[string]*Host
	boots map[string]int // before
}

// cleaning takes away what a test, or the provider in it, left on a host.
const cleaning = `
for u in $(systemctl list-units --all --plain --no-legend 'terraform-*' 'infiniband-*' | awk '{print $1}'); do systemctl kill -s KILL "$u"; systemctl stop "$u"; done 2>/dev/null
systemctl reset-failed
rm -rf /var/lib/terraform-provider-infiniband /run/terraform-provider-infiniband /tmp/mstflint_lockfiles /tmp/terraform* \
	/etc/modprobe.d/terraform-infiniband.conf /etc/modules-load.d/terraform-infiniband.conf /etc/sudoers.d/zz-password
`

// passwordRule makes sudo ask the user for a password: of the rules that match, the last one
// of the files in their order counts.
func passwordRule(password string) string {
	quoted := "'" + strings.ReplaceAll(User+":"+password, "'", `'\''`) + "'"
	return "printf '%s\\n' " + quoted + " | chpasswd && echo '" + User +
		" ALL=(ALL:ALL) ALL' >/etc/sudoers.d/zz-password && chmod 440 /etc/sudoers.d/zz-password"
}

// furnish puts the cards in and switches everything on.
func (s *Loan) furnish(hosts []labs.Host) error {
	var known strings.Builder
	errs := make(chan error, len(hosts))
	for _, h := range hosts {
		box := s.boxes[h.Name]
		fmt.Fprintf(&known, "%s %s", box.Addr, ssh.MarshalAuthorizedKey(box.Key))
		go func() { errs <- box.take(h) }()
	}
	var err error
	for range hosts {
		err = errors.Join(err, <-errs)
	}
	for name, box := range s.boxes {
		s.boots[name] = box.Boots()
	}
	return errors.Join(err, writeFile(s.KnownHostsFile(), known.String(), 0o600))
}

// take makes the host what is described, and boots it if it is off.
func (h *Host) take(d labs.Host) error {
	ctx, cancel := context.WithTimeout(context.Background(), borrowTimeout)
	defer cancel()
	for bdf := range h.cards() {
		h.Slot(bdf, nil)
	}
	for i, c := range d.Cards {
		model, err := card.New(c.Config)
		if err != nil {
			return err
		}
		// Hosts of the simulated lab may tell the driver; here the card tells it.
		if strings.Contains(d.Cmdline+d.Files["/etc/modprobe.d/mlx4.conf"], "port_type_array=1,1") {
			model.SetNV(card.NV{LinkType: [2]int{card.LinkIB, card.LinkIB}})
		}
		device := NewDevice(model)
		device.Board = Board{Product: c.Product, PartNumber: c.PartNumber, SerialNumber: c.SerialNumber}
		device.RDMA = strings.TrimSuffix(c.Chip.Driver(), "core") + strconv.Itoa(i)
		if i == 0 {
			h.BDF, h.Device = c.BDF, device
		}
		h.Slot(c.BDF, device)
	}
	if !h.on() {
		if err := h.Boot(ctx); err != nil {
			return err
		}
		// Until then it still writes files of its own. What it thinks of itself in
		// the end is no matter.
		_, _ = h.Exec(ctx, "systemctl is-system-running --wait")
	}
	if out, err := h.Exec(ctx, cleaning); err != nil {
		return fmt.Errorf("testbed: clean %s: %w\n%s", h.Name, err, out)
	}
	if d.Users[0].Sudo == labsim.SudoPassword {
		if out, err := h.Exec(ctx, passwordRule(d.Users[0].Password)); err != nil {
			return fmt.Errorf("testbed: let sudo of %s ask: %w\n%s", h.Name, err, out)
		}
	}
	return nil
}

// Release gives the hosts back.
func (s *Loan) Release() {
	for name, box := range s.boxes {
		s.Drop(name)
		box.Device.Card().Flash.SetHook(nil)
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for _, box := range s.boxes {
		s.pool.idle = append(s.pool.idle, box)
	}
	s.pool.back.Broadcast()
}
