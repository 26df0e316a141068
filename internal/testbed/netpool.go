//go:build testbed && linux

package testbed

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// suites are the systems whose own network stack is on trial. What such a test
// changes is all over the host, which is therefore made for it and not lent again.
var suites = map[labsim.OS]*Base{labsim.Debian12: &Bookworm, labsim.Debian13: &Trixie}

// find gives a machine for each host that is described: all with a stack of their
// own, or none.
func (y *Pool) find(hosts []labs.Host) ([]*Host, error) {
	if suites[hosts[0].OS] == nil || hosts[0].Stack == "" {
		return y.borrow(len(hosts))
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if err := y.open(); err != nil {
		return nil, err
	}
	var boxes []*Host
	var shared int
	for _, h := range hosts {
		base := suites[h.OS]
		if base == nil {
			return nil, fmt.Errorf("testbed: %s beside a host of Debian: %s", h.OS, h.Name)
		}
		y.built++
		box, err := y.testbed.add(HostConfig{
			Name: fmt.Sprint("net", y.built), Base: base, BDF: h.Cards[0].BDF, Card: h.Cards[0].Config,
			Stack: h.Stack, Wires: []Wire{{Name: "ibp1s0", Port: 1}}, Medium: shared,
		}, y.operator)
		if err != nil {
			return nil, err
		}
		shared = int(box.medium)
		boxes = append(boxes, box)
	}
	return boxes, nil
}

// Subnet is the network of a host's IPoIB interface, without the last byte, which
// all hosts of the loan are on. The operator is host 1 of it.
func (s *Loan) Subnet(host string) string { return s.boxes[host].medium.subnet() }

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

// unplug takes the cable out of the interfaces of a port.
func (h *Host) unplug(port int) error {
	for i, w := range h.wires {
		if w.Port != port {
			continue
		}
		if err := command("ip", "link", "set", h.farEnd(i), "down"); err != nil {
			return err
		}
	}
	return nil
}

// Sever takes the operator's cables to a host out, or plugs them in.
func (s *Loan) Sever(host string, severed bool) error {
	state := map[bool]string{true: "down", false: "up"}[severed]
	box := s.boxes[host]
	cables := []string{"to-" + strconv.Itoa(box.number)}
	for i := range box.wires {
		cables = append(cables, box.farEnd(i))
	}
	for _, c := range cables {
		if err := command("ip", "link", "set", c, state); err != nil {
			return err
		}
	}
	return nil
}
