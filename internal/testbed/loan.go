//go:build testbed && linux

package testbed

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// KeyFile is the private key that logs in to every host.
func (s *Loan) KeyFile() string { return s.pool.testbed.KeyFile() }

// KnownHostsFile vouches for the hosts of the loan.
func (s *Loan) KnownHostsFile() string { return filepath.Join(s.dir, "known_hosts") }

// Address is where a host's sshd listens, and who may log in.
func (s *Loan) Address(host string) (ip string, port int, user string) {
	return s.boxes[host].Addr, 22, User
}

// Card is the model of the card in a slot.
func (s *Loan) Card(host, bdf string) *card.Card {
	if d := s.boxes[host].cards()[bdf]; d != nil {
		return d.Card()
	}
	return nil
}

// Boots counts how often a host was started since the loan was lent.
func (s *Loan) Boots(host string) int { return s.boxes[host].Boots() - s.boots[host] + 1 }

// Restart takes the power away and gives it back.
func (s *Loan) Restart(host string) error {
	ctx, cancel := context.WithTimeout(context.Background(), borrowTimeout)
	defer cancel()
	return errors.Join(s.boxes[host].Cut(), s.boxes[host].Boot(ctx))
}

// Run executes a command as root, past the network: in the host's namespaces.
func (s *Loan) Run(ctx context.Context, host, command string) (output string, status int) {
	return result(s.boxes[host].Exec(ctx, command))
}

func result(out string, err error) (output string, status int) {
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return out, exit.ExitCode()
	case err != nil:
		return err.Error(), -1
	}
	return out, 0
}

// errNoFabric is what a scenario learns that needs more than a card.
var errNoFabric = errors.New("testbed: containers have no fabric: machines with kernels have")

// Jump is nil: there is no network behind a host.
func (*Loan) Jump() map[string]any { return nil }

// Subnet is empty: there is no IPoIB interface.
func (*Loan) Subnet(string) string { return "" }

// Operate has no machine on a fabric.
func (*Loan) Operate(context.Context, string) (output string, status int) {
	return result("", errNoFabric)
}

// Sever has no other way to the host that would be left.
func (*Loan) Sever(string, bool) error { return errNoFabric }

// Unplug has no cable.
func (*Loan) Unplug(string, int) error { return errNoFabric }

// Reboot has the system restart, and waits until it is back.
func (s *Loan) Reboot(host string) error {
	ctx, cancel := context.WithTimeout(context.Background(), borrowTimeout)
	defer cancel()
	box := s.boxes[host]
	boots := box.Boots()
	if out, err := box.Exec(ctx, "systemctl reboot"); err != nil {
		return fmt.Errorf("testbed: restart %s: %w: %s", host, err, out)
	}
	for box.Boots() == boots {
		select {
		case <-box.Down():
			return fmt.Errorf("testbed: %s went off instead of restarting:\n%s", host, lastLines(box.Console(), 20))
		case <-ctx.Done():
			return fmt.Errorf("testbed: %s does not restart:\n%s", host, lastLines(box.Console(), 20))
		case <-time.After(20 * time.Millisecond):
		}
	}
	return box.WaitSSH(ctx)
}

// printing lists what a plan must leave alone.
const printing = `
find /etc /usr/local /root /home /var/lib/terraform-provider-infiniband -printf '%p %y %m %s %T@\n' 2>/dev/null | sort
ip -br addr; ip route
head /sys/bus/pci/devices/*/mlx4_port*
`

// Print is a fingerprint of a host without its cards.
func (s *Loan) Print(host string) string {
	ctx, cancel := context.WithTimeout(context.Background(), borrowTimeout)
	defer cancel()
	out, _ := s.Run(ctx, host, printing)
	return out
}

// Burns counts what wrote to the flash of a host's cards. A burn ends with the
// signature of the new image; one that changes nothing but GUIDs and MACs set them.
func (s *Loan) Burns(host string) (images, guids int) {
	for _, d := range s.boxes[host].cards() {
		i, g := d.written()
		images, guids = images+i, guids+g
	}
	return images, guids
}

// Drop breaks all connections to a host: it ends the processes that serve them.
func (s *Loan) Drop(host string) {
	leader, err := s.boxes[host].leader()
	if err != nil {
		return
	}
	for _, p := range processes() {
		if p.name != "sshd" || !p.below(leader) {
			continue
		}
		if q, ok := readProc(p.parent); ok && q.name == "sshd" {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
}
