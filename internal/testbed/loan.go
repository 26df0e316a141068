//go:build testbed && linux

package testbed

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"

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

// Jump is nil: the operator is in every network.
func (s *Loan) Jump() map[string]any { return nil }

// Operate executes a command on the operator's machine, which is this one.
func (s *Loan) Operate(ctx context.Context, command string) (output string, status int) {
	out, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput() //nolint:gosec // of a test
	return result(string(out), err)
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
