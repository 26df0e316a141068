//go:build reallab && linux

package acctest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/iba7322"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/infinihost3"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
)

// kernels makes machines with kernels of their own what labs stand on.
type kernels struct{}

func init() {
	if !OnKernels() {
		return
	}
	parallel = "3"
	enter = func(run func() int) {
		UseTestbed(kernels{})
		if err := machine.Prepare(context.Background(), atOnce()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(run())
	}
}

// largestLab is how many machines a lab has at most: three hosts and a gate.
const largestLab = 4

// atOnce is what runs at the same time: a lab for each test that may.
func atOnce() machine.Need {
	flag.Parse() // an explicit -parallel counts
	tests, _ := strconv.Atoi(flag.Lookup("test.parallel").Value.String())
	return machine.Need{Machines: tests * largestLab}
}

// All members of the fabric are in both partitions.
const gateKey, otherKey = "0x0001", "0x0002"

// gateManager starts the subnet manager of the gate.
const gateManager = `
systemd-run --quiet --unit opensm-of-the-gate opensm -g $(ibstat -p | head -n 1) -p 1 -P /etc/opensm/gate.conf \
	-f /var/log/opensm-of-the-gate.log
`

// gateScript makes the gate of a machine that has booted.
const gateScript = `modprobe -a ib_umad ib_ipoib
printf 'Default=0x7fff, ipoib: ALL=full;\nlab=` + gateKey + `, ipoib: ALL=full;\nother=` + otherKey + `, ipoib: ALL=full;\n' >/etc/opensm/gate.conf` + gateManager + `
for i in $(seq 100); do [ -e /sys/class/net/ibp1s0 ] && break; sleep 0.2; done
echo connected >/sys/class/net/ibp1s0/mode
ip link set dev ibp1s0 mtu 65520 up
ip addr add ` + kernelSubnet + `.1/24 dev ibp1s0`

// gatePartitions gives the gate an interface in each partition. The kernel names it by the
// key as it is written, here that of a full member.
const gatePartitions = `set -e
for key in 8001 8002; do echo 0x$key >/sys/class/net/ibp1s0/create_child; ip link set dev ibp1s0.$key up; done
ip addr add ` + keySubnet + `.1/24 dev ibp1s0.8001
ip addr add ` + otherSubnet + `.1/24 dev ibp1s0.8002`

const (
	kernelSubnet = "172.16.0"
	keySubnet    = "172.17.0"       // in the partition gateKey
	otherSubnet  = "172.18.0"       // in the partition otherKey
	bootTimeout  = 15 * time.Minute // two cores may be shared
)

// suitesOf are the systems whose kernels there are. What a scenario asks of a card, a port or
// a fabric is the same on Ubuntu and TrueNAS, which are built of Debian.
var suitesOf = map[labsim.OS]string{labsim.Debian12: machine.Bookworm, labsim.Debian13: machine.Trixie,
	labsim.Ubuntu: machine.Bookworm, labsim.TrueNAS: machine.Bookworm}

// mlx4Options are those that scenarios write for the driver. A machine has them on its command line.
const mlx4Options = "/etc/modprobe.d/mlx4.conf"

// Lend boots a machine for each host. One that configures its own network gets a gate
// beside it.
func (kernels) Lend(hosts []labs.Host) (Loan, string, error) {
	var machines []reallab.Host
	for _, h := range hosts {
		m, cannot := kernelOf(h)
		if cannot != "" {
			return nil, cannot, nil
		}
		machines = append(machines, m)
	}
	l := &kernelLoan{}
	if hosts[0].Stack != "" {
		l.gated = true
		m, _ := kernelOf(labs.Server(gate, labsim.Debian12, "192.0.2.1", 16))
		m.Cmdline = portsInfiniBand
		machines = append(machines, m)
	}
	if len(machines) > largestLab {
		return nil, "", fmt.Errorf("a lab of %d machines: largestLab has to say so, by which the host is checked",
			len(machines))
	}
	var err error
	if l.dir, err = os.MkdirTemp("", "reallab"); err != nil {
		return nil, "", err
	}
	cables := directCables(hosts)
	if l.Lab, err = reallab.StartWith(context.Background(), l.dir, machines, reallab.Options{Cables: cables}); err == nil {
		err = l.furnish()
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, l.keep("lab-of-"+machines[0].Name))
		l.Release()
		return nil, "", err
	}
	return l, "", nil
}

// kernelOf is the machine that is described. What of it cannot be had is named instead.
func kernelOf(h labs.Host) (m reallab.Host, cannot string) {
	m = reallab.Host{Name: h.Name, Suite: suitesOf[h.OS], Stack: h.Stack, Cmdline: h.Cmdline}
	files := maps.Clone(h.Files)
	if strings.Contains(files[mlx4Options], "port_type_array=1,1") {
		m.Cmdline = portsInfiniBand
		delete(files, mlx4Options)
	}
	switch {
	case m.Suite == "":
		return m, fmt.Sprint("such a system: ", h.OS)
	case h.Kernel != "" || len(files) > 0 || h.MstflintVersion != "":
		return m, "kernel, files or tools of their own"
	case len(h.Users) != 1 || h.Users[0].Sudo != labsim.SudoNoPasswd || h.Users[0].NoKey:
		return m, "users who log in otherwise"
	}
	for _, c := range h.Cards {
		if !emulated(c.Chip) {
			return m, "such a card: " + c.Chip.Name
		}
		m.Slots = append(m.Slots, reallab.Slot{Card: c.Config,
			Board: registers.Board{Product: c.Product, PartNumber: c.PartNumber, SerialNumber: c.SerialNumber}})
	}
	return m, ""
}

// emulated reports whether there is a card of a chip for machines with kernels of their own.
func emulated(c card.Chip) bool {
	mellanox := []card.Chip{card.ConnectX3, card.ConnectX3Pro, card.ConnectX4}
	return slices.Contains(mellanox, c) || infinihost3.Is(c.PCIDevice) || iba7322.Is(c.PCIDevice)
}

// directCables are those between hosts that have no switch. Without one a lab has a switch.
func directCables(hosts []labs.Host) (all []reallab.Cable) {
	ports := map[string]int{}
	for _, h := range hosts {
		ports[h.Name] = portsOf(h)
	}
	for _, h := range hosts {
		for n := range min(portsOf(h), ports[h.Direct]) {
			all = append(all, reallab.Cable{{Node: h.Name, Port: n + 1}, {Node: h.Direct, Port: n + 1}})
		}
	}
	return all
}

// portsOf is how many ports the first card of a host has.
func portsOf(h labs.Host) int {
	switch {
	case len(h.Cards) == 0:
		return 0
	case h.Cards[0].Model == nil: // as the simulated lab has it
		return h.Cards[0].Chip.Ports
	}
	return h.Cards[0].Model.Ports
}

// kernelLoan is the machines of one lab.
type kernelLoan struct {
	*reallab.Lab
	dir   string
	gated bool
}

// furnish waits for all machines and makes the gate.
func (l *kernelLoan) furnish() error {
	var known strings.Builder
	for name, m := range l.Machines {
		if err := l.await(name); err != nil {
			return err
		}
		key, err := m.HostKey()
		if err != nil {
			return err
		}
		fmt.Fprintf(&known, "[127.0.0.1]:%d %s", l.Uplinks[name].Port, key)
		if name != gate {
			fmt.Fprintf(&known, "%s.* %s", kernelSubnet, key)
		}
	}
	if err := os.WriteFile(l.KnownHostsFile(), []byte(known.String()), 0o600); err != nil || !l.gated {
		return err
	}
	if out, status := l.Operate(context.Background(), gateScript); status != 0 {
		return fmt.Errorf("make the gate: status %d: %s", status, out)
	}
	return nil
}

// await waits until a machine lets its operator in.
func (l *kernelLoan) await(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), bootTimeout)
	defer cancel()
	return l.Await(ctx, name)
}

func (l *kernelLoan) KnownHostsFile() string {
	return filepath.Join(l.dir, "known_hosts_of_the_provider")
}

func (l *kernelLoan) Address(host string) (ip string, port int, user string) {
	return "127.0.0.1", l.Uplinks[host].Port, machine.User
}

func (l *kernelLoan) Card(host, bdf string) *card.Card {
	for i, c := range l.Cards[host] {
		if bdf == slotAddress(i) {
			return c.Model
		}
	}
	return nil
}

func (l *kernelLoan) Boots(host string) int { return l.Machines[host].Boots() }

func (l *kernelLoan) Restart(host string) error {
	l.Machines[host].Cut()
	l.Drop(host)
	if err := l.Machines[host].Start(context.Background()); err != nil {
		return err
	}
	return l.await(host)
}

func (l *kernelLoan) Reboot(host string) error {
	boots := l.Boots(host)
	_, _ = l.Lab.Run(context.Background(), host, "systemctl reboot") // the connection may end first
	for end := time.Now().Add(bootTimeout); l.Boots(host) == boots; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%s does not restart:\n%s", host, l.Machines[host].Console(30))
		}
	}
	return l.await(host)
}

// Run goes over SSH as the provider does, past the uplink that Drop and Sever break.
func (l *kernelLoan) Run(ctx context.Context, host, command string) (output string, status int) {
	out, err := l.Lab.Run(ctx, host, command)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return out, exit.ExitCode()
	case err != nil:
		return err.Error(), -1
	}
	return out, 0
}

// Print leaves out what a kernel changes by itself.
func (l *kernelLoan) Print(host string) string {
	out, _ := l.Run(context.Background(), host, `
find /etc /usr/local /root /home /var/lib/terraform-provider-infiniband -printf '%p %y %m %s %T@\n' 2>/dev/null | sort
ip -br addr; ip route
head /sys/bus/pci/devices/*/mlx4_port?`)
	return out
}

func (l *kernelLoan) Burns(host string) (images, guids int) {
	for _, c := range l.Cards[host] {
		i, g := c.Written()
		images, guids = images+i, guids+g
	}
	return images, guids
}

func (l *kernelLoan) Drop(host string) { l.Uplinks[host].Drop() }

func (l *kernelLoan) Subnet(string) string { return kernelSubnet }

func (l *kernelLoan) Jump() map[string]any {
	return map[string]any{"address": "127.0.0.1", "port": l.Uplinks[gate].Port, "user": machine.User,
		"connect_timeout": slowConnect}
}

func (l *kernelLoan) Operate(ctx context.Context, command string) (output string, status int) {
	return l.Run(ctx, gate, command)
}

// Sever breaks the uplink, by which the provider comes in. The cable of the card stays.
func (l *kernelLoan) Sever(host string, severed bool) error {
	l.Uplinks[host].Sever(severed)
	return nil
}

func (l *kernelLoan) Unplug(host string, port int) error {
	if port != 1 {
		return fmt.Errorf("port %d of %s has no cable", port, host)
	}
	l.Cards[host][0].Cable.Pull()
	return nil
}

// replug puts the cable of Unplug in again.
func (l *kernelLoan) replug(host string) {
	l.Cards[host][0].Cable.Plug()
}

// Explain is what a failed test shows: the last lines that each machine has printed, and
// where all of them are.
func (l *kernelLoan) Explain(test string) string {
	var b strings.Builder
	for name, m := range l.Machines {
		fmt.Fprintf(&b, "console of %s (%v):\n%s\n", name, m.Err(), m.Console(30))
	}
	return b.String() + l.keep(test)
}

// keep keeps the logs, which Release deletes, and says where.
func (l *kernelLoan) keep(name string) string {
	kept, err := reallab.KeepLogs(l.dir, name)
	if err != nil {
		return fmt.Sprintf("The logs of the machines and cards were not kept: %v", err)
	}
	return "The whole logs of the machines and cards are in " + kept
}

func (l *kernelLoan) Release() {
	if l.Lab != nil {
		if err := l.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "reallab: the end of a lab:", err)
		}
	}
	_ = os.RemoveAll(l.dir)
}
