package acctest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/network"
)

// Testbed is what labs stand on instead of the simulated lab. The same scenarios
// run on both; one that bends the simulation itself, say replaces
// a program by a liar, is skipped where the programs are real, and says so.
type Testbed interface {
	// Lend takes hosts for one lab, with the cards that they describe. It says
	// what of the description the testbed cannot give, or gives the loan.
	Lend(hosts []labs.Host) (loan Loan, cannot string, err error)
}

// Loan is the hosts of one lab.
type Loan interface {
	KeyFile() string
	KnownHostsFile() string
	// Address is where a host's SSH server listens, and who may log in.
	Address(host string) (ip string, port int, user string)
	Card(host, bdf string) *card.Card
	// Boots counts how often a host was started since it has been the lab's.
	Boots(host string) int
	// Restart takes the power away and gives it back.
	Restart(host string) error
	// Run executes a command as root, by a way of its own that Drop and Sever leave alone.
	Run(ctx context.Context, host, command string) (output string, status int)
	// Print is a fingerprint of what a plan must leave alone, without the cards.
	Print(host string) string
	// Burns counts what wrote to the flash of a host's cards.
	Burns(host string) (images, guids int)
	// Drop breaks all connections to Address.
	Drop(host string)
	// Reboot has the host's system restart and waits until it is back.
	Reboot(host string) error
	// Subnet is the network of the host's IPoIB interface, without the last byte:
	// "172.16.3". The operator is its host 1.
	Subnet(host string) string
	// Jump is the jump host that leads into that network; nil if the operator is in it.
	Jump() map[string]any
	// Operate executes a command on a machine of the operator's that is in that network.
	Operate(ctx context.Context, command string) (output string, status int)
	// Sever takes away the provider's way to Address, or gives it back, as if a cable was out.
	// The cable of the card stays.
	Sever(host string, severed bool) error
	// Unplug takes the cable out of a port of a host's first card.
	Unplug(host string, port int) error
	// Release ends the lab.
	Release()
}

// theTestbed is nil for the simulated lab.
var theTestbed Testbed

// UseTestbed makes labs stand on the testbed, for the whole process. It is
// called before any test, and before any image is built.
func UseTestbed(t Testbed) {
	theTestbed = t
	// Real tools read every sixteen bytes of a flash with some eighty calls.
	card.SmallImages()
}

// stand takes the hosts from the testbed.
func (w *Lab) stand(hosts []labs.Host) {
	w.t.Helper()
	loan, cannot, err := theTestbed.Lend(hosts)
	switch {
	case err != nil:
		w.t.Fatalf("take hosts for the test: %v", err)
	case cannot != "":
		w.t.Skip("not on these hosts: they have no " + cannot)
	}
	w.testbed = loan
	w.t.Cleanup(func() {
		if c, ok := loan.(interface{ Explain(test string) string }); ok && w.t.Failed() {
			w.t.Log(c.Explain(w.t.Name()))
		}
		loan.Release()
	})
	w.Folder = w.t.TempDir()
	if w.Images, err = card.WriteImages(filepath.Join(w.Folder, "images")); err != nil {
		w.t.Fatal(err)
	}
}

// needSimulated ends a test that asks a real host for what only a simulated one has.
func (w *Lab) needSimulated(what string) {
	w.t.Helper()
	if w.testbed != nil {
		w.t.Skip("only in the simulated lab: the scenario " + what)
	}
}

// Machine is a host as the simulated lab holds it.
func (w *Lab) Machine(host string) *labsim.Machine {
	w.t.Helper()
	w.needSimulated("reaches into a simulated host")
	return w.Lab.Machine(host)
}

// Machines are all of them.
func (w *Lab) Machines() []*labsim.Machine {
	w.t.Helper()
	w.needSimulated("reaches into simulated hosts")
	return w.Lab.Machines()
}

// Manage starts a subnet manager that is not the provider's on the first port of
// a host: in the simulated lab nobody's, otherwise a real opensm. It waits until
// the fabric has a master.
func (w *Lab) Manage(host string, priority int) {
	w.t.Helper()
	if w.testbed == nil {
		w.AddSM(&labsim.SM{Port: w.Card(host).Ports[0], Priority: priority})
		return
	}
	// As a service of its own, which ends with the lab.
	w.Run(host, fmt.Sprintf("systemd-run --quiet --unit opensm-by-hand opensm -g $(ibstat -p | head -n 1) -p %d -f "+
		"/var/log/opensm-by-hand.log\n"+
		"for i in $(seq 300); do sminfo -D 0 2>/dev/null | grep -qE '(MASTER|STANDBY)' && exit; sleep 0.1; done; exit 1",
		priority))
}

// Put writes a file on a host.
func (w *Lab) Put(host, path, text string) {
	w.t.Helper()
	if w.testbed == nil {
		w.Machine(host).FS.Put(path, text, 0o644)
		return
	}
	w.Run(host, fmt.Sprintf("mkdir -p %[1]q && cat >%[2]q <<'END OF FILE'\n%[3]sEND OF FILE\nchmod 644 %[2]q",
		filepath.Dir(path), path, text))
}

// Install installs packages of the fabric, which real hosts have.
func (w *Lab) Install(host string, packages ...string) {
	w.t.Helper()
	if w.testbed == nil {
		w.Run(host, "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q "+strings.Join(packages, " "))
		return
	}
	if !slices.Contains(packages, "opensm") {
		return
	}
	// A real host has it, and it was kept from starting.
	w.Run(host, "echo PORTS=ALL >/etc/default/opensm && systemctl enable -q --now opensm.service\n"+
		"for i in $(seq 300); do sminfo -D 0 2>/dev/null | grep -q MASTER && exit; sleep 0.1; done; exit 1")
}

// Names are the hosts of the lab.
func (w *Lab) Names() []string {
	var names []string
	for _, h := range w.hosts {
		names = append(names, h.Name)
	}
	return names
}

func (w *Lab) hostSpec(host string) labs.Host {
	w.t.Helper()
	for _, h := range w.hosts {
		if h.Name == host {
			return h
		}
	}
	w.t.Fatalf("the lab has no host %s", host)
	return labs.Host{}
}

// Boots counts how often a host was started.
func (w *Lab) Boots(host string) int {
	if w.testbed != nil {
		return w.testbed.Boots(host)
	}
	return w.Lab.Machine(host).Boots()
}

// Restart takes the power of a host away and gives it back.
func (w *Lab) Restart(host string) {
	w.t.Helper()
	if w.testbed == nil {
		w.Lab.Machine(host).Halt()
		w.Lab.Machine(host).Start()
		return
	}
	if err := w.testbed.Restart(host); err != nil {
		w.t.Fatal(err)
	}
}

// Reboot has the system of a host restart and waits until it is back.
func (w *Lab) Reboot(host string) {
	w.t.Helper()
	var err error
	if w.testbed != nil {
		err = w.testbed.Reboot(host)
	} else {
		m := w.Lab.Machine(host)
		boots := m.Boots()
		m.Reboot()
		err = m.AwaitBoot(w.t.Context(), boots+1)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// Subnet is the network of a host's IPoIB interface, without the last byte.
func (w *Lab) Subnet(host string) string {
	if w.testbed != nil {
		return w.testbed.Subnet(host)
	}
	return "172.16.0"
}

// Sever takes away the way by which the provider reaches a host at its address, or gives it
// back.
func (w *Lab) Sever(host string, severed bool) {
	w.t.Helper()
	if w.testbed == nil {
		w.Lab.Machine(host).Faults.Set(labsim.FaultSpec{Refuse: severed})
		if severed {
			w.Lab.Servers[host].DropAll()
		}
		return
	}
	if err := w.testbed.Sever(host, severed); err != nil {
		w.t.Fatal(err)
	}
}

// Unplug takes the cable out of a port of a host's first card.
func (w *Lab) Unplug(host string, port int) {
	w.t.Helper()
	if w.testbed == nil {
		w.Disconnect(labsim.CardEnd(host, w.PCI(host), port))
		return
	}
	if err := w.testbed.Unplug(host, port); err != nil {
		w.t.Fatal(err)
	}
}

// Firewall has a host drop what comes in by its IPoIB interface, or no more.
func (w *Lab) Firewall(host string, on bool) {
	w.t.Helper()
	if w.testbed == nil {
		network.SetFirewall(w.Lab.Machine(host), on)
		return
	}
	rules := "nft delete table inet benchmark"
	if on {
		rules = "nft 'add table inet benchmark; add chain inet benchmark in { type filter hook input priority 0; }; " +
			"add rule inet benchmark in iifname \"ib*\" drop'"
	}
	w.Run(host, rules)
}

// Over has the operator reach a host by its IPoIB interface, at an address of that;
// with an empty one by its uplink.
func (w *Lab) Over(host, name, address string) {
	if w.testbed != nil {
		w.over = address
		return
	}
	m := w.Lab.Machine(host)
	m.UpdateNetdev("eno1", func(d *labsim.Netdev) { d.SSH = address == "" })
	m.UpdateNetdev(name, func(d *labsim.Netdev) { d.SSH = address != "" })
}

// MACs are those of a host's first card at delivery.
func (w *Lab) MACs(host string) [2]uint64 { return w.hostSpec(host).Cards[0].MACs }

// Burns counts what wrote to the flash of a host: firmware and GUIDs.
func (w *Lab) Burns(host string) (images, guids int) {
	if w.testbed != nil {
		return w.testbed.Burns(host)
	}
	for _, e := range w.Lab.Machine(host).Journal() {
		if len(e.Args) < 2 || filepath.Base(e.Args[0]) != "mstflint" {
			continue
		}
		switch e.Args[len(e.Args)-1] {
		case "b", "burn":
			images++
		case "sg":
			guids++
		}
	}
	return images, guids
}

// LabVariable is the environment variable that says what labs stand on: "testbed", or
// "reallab" for machines with kernels of their own.
const LabVariable = "INFINIBAND_LAB"

// OnKernels reports whether tests are to use machines with kernels of their own.
func OnKernels() bool { return os.Getenv(LabVariable) == "reallab" }

// slotAddress is where the i-th card of a machine with a kernel of its own is.
func slotAddress(i int) string { return fmt.Sprintf("0000:%02x:00.0", i+1) }

// inSlots puts the cards that are described into the slots that such a machine has.
func inSlots(hosts []labs.Host) []labs.Host {
	for _, h := range hosts {
		for i := range h.Cards {
			h.Cards[i].BDF = slotAddress(i)
		}
	}
	return hosts
}

// slowConnect is how long a machine with one emulated processor may take to answer.
const slowConnect = "1m"

// OnTestbed reports whether tests are to use real hosts.
func OnTestbed() bool { return os.Getenv(LabVariable) != "" }
