// Package twin makes a simulated lab of a recording: machines with the systems, cards, files and cables that
// somebody's hosts have reported.
//
// It reads the recording by its documented format, and must not import a parser or a builder of the provider.
// What the recording does not have, it does not guess: it says so.
package twin

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/recording"
)

// Twin is a lab that can be started.
type Twin struct {
	Hosts []labs.Host
	// Missing says what the recording does not have, or the lab does not simulate, a line each.
	Missing []string
	// OneSwitch says that all ports of which no cable is known are on one switch. Only whoever knows the lab can say so.
	OneSwitch bool

	builders map[string]*builder
}

// Of describes the twin of a recording. A host of which nothing is known is left out; without any host there is
// no twin. A card has the flash of the recording. images are files of firmware: a card that had the firmware of one has its bytes.
func Of(rec *recording.Lab, images ...[]byte) (*Twin, error) {
	t := &Twin{builders: map[string]*builder{}}
	for _, h := range rec.Hosts {
		b := &builder{facts: read(h), name: h.Name, missing: &t.Missing, images: images, flashes: h.Flashes}
		if h.Problem != "" {
			b.lacks("a part of its answers: %s", h.Problem)
		}
		if len(b.values) == 0 {
			b.lacks("anything about it, so that it has no machine")
			continue
		}
		host, err := b.host()
		if err != nil {
			return nil, err
		}
		t.Hosts, t.builders[h.Name] = append(t.Hosts, host), b
	}
	if len(t.Hosts) == 0 {
		return nil, errors.New("no host of the recording has answered")
	}
	return t, nil
}

// SetUp makes a machine the recorded one; it belongs into the Setup of the lab's options.
func (t *Twin) SetUp(m *labsim.Machine) {
	if b := t.builders[m.Name]; b != nil {
		m.Lab.RememberLIDs(t.lids())
		b.setUp(m)
		m.Hooks.OnBoot = append(m.Hooks.OnBoot, b.drive, b.mount, b.reach)
	}
}

// Start starts the lab.
func (t *Twin) Start(dir string, options labsim.Options) (*labs.Lab, error) {
	options.Setup = append(options.Setup, t.SetUp)
	lab, err := labs.Start(dir, options, t.Hosts...)
	if err != nil {
		return nil, err
	}
	if err = t.Finish(lab); err != nil {
		lab.Close()
		return nil, err
	}
	return lab, nil
}

// Finish cables the lab, and does what somebody has done on the hosts since their last boot.
func (t *Twin) Finish(lab *labs.Lab) error {
	if err := t.cable(lab); err != nil {
		return err
	}
	for _, h := range t.Hosts {
		t.builders[h.Name].catchUp(lab)
	}
	return nil
}

// catchUp brings modules, names, port types and addresses to where they were.
func (b *builder) catchUp(lab *labs.Lab) {
	m := lab.Machine(b.name)
	for _, module := range b.words["module"] {
		if !m.ModuleLoaded(module) && m.ModuleKnown(module) {
			if err := m.LoadModule(module); err != nil {
				b.lacks("how the module %s was loaded: %v", module, err)
			}
		}
	}
	for _, c := range m.Cards() {
		if rdma := b.rdma(c.Config.BDF); rdma != "" && c.RDMA != "" && c.RDMA != path.Base(rdma) {
			m.RenameRDMA(c, path.Base(rdma))
		}
	}
	if device := b.sshDevice(); device != "" {
		m.UpdateNetdev(device, func(d *labsim.Netdev) { d.SSH = true }) // one of a card, that the boot has made
	}
	b.tellUnsimulated(m)
	script := b.portTypes(m) + b.addresses(m)
	if script == "" {
		return
	}
	var out bytes.Buffer
	if status := lab.Servers[b.name].Run(m.BootContext(), "root", script, strings.NewReader(""), &out, &out); status != 0 {
		b.lacks("how it came to what it shows: %s", strings.TrimSpace(out.String()))
	}
}

// drive gives cards the RDMA devices that the host had without a file of a module: of a driver that is built into the
// kernel, or of the machine that a container is on.
func (b *builder) drive(m *labsim.Machine) {
	for _, c := range m.Cards() {
		verbs := c.Config.Model.Verbs
		if b.rdma(c.Config.BDF) == "" || c.RDMA != "" || slices.Contains(b.words["module"], verbs) && m.ModuleKnown(verbs) {
			continue
		}
		var lent []string
		for _, name := range labsim.InfiniBandModules {
			if file := m.ModuleFile(name); !m.FS.Exists(file) {
				m.FS.Put(file, "", 0o644)
				lent = append(lent, file)
			}
		}
		if err := m.LoadModule(verbs); err != nil {
			b.lacks("how the driver %s came to the card %s: %v", verbs, c.Config.BDF, err)
		}
		for _, file := range lent {
			m.FS.Drop(file)
		}
	}
}

// mount shows what the host had mounted: what is made anew at each boot, and storage on the network.
func (b *builder) mount(m *labsim.Machine) {
	if mounts := b.runs["roots"].text + b.runs["mounts"].text; mounts != "" {
		m.FS.Put("/proc/mounts", mounts, 0o444)
	}
}

// reach gives the interface that SSH comes by the recorded addresses, if the boot has given it none: what did so on the
// host is not simulated, and the twin would never answer.
func (b *builder) reach(m *labsim.Machine) {
	d, there := m.Netdev(b.sshDevice())
	if !there || slices.ContainsFunc(d.Addrs, func(p netip.Prefix) bool { return !p.Addr().IsLinkLocalUnicast() }) {
		return
	}
	own, _ := b.netdevs()
	i := slices.IndexFunc(own, func(n labsim.Netdev) bool { return n.Name == d.Name })
	if i < 0 {
		return
	}
	m.UpdateNetdev(d.Name, func(d *labsim.Netdev) { d.Addrs, d.Up = append(d.Addrs, own[i].Addrs...), true })
	b.reached = true
}

// tellUnsimulated says what of the host's files the boot has passed over, and whether nothing of them has brought
// up the interface that SSH comes by.
func (b *builder) tellUnsimulated(m *labsim.Machine) {
	for _, v := range m.Violations() {
		b.tell("the lab does not simulate all of its files: %s", v)
	}
	if b.reached {
		b.tell("nothing that the lab simulates gives %s, by which SSH comes, an address: each boot of the twin gives it the "+
			"recorded ones", b.sshDevice())
	}
}

// portTypes sets the types that ports of a ConnectX-3 have, and would not have by themselves.
func (b *builder) portTypes(m *labsim.Machine) string {
	var script strings.Builder
	for _, bdf := range b.words["pci"] {
		for port := 1; port <= 2; port++ {
			file := fmt.Sprintf("/sys/bus/pci/devices/%s/mlx4_port%d", bdf, port)
			if want := b.values[file]; want != "" && m.FS.Exists(file) && strings.TrimSpace(m.FS.Text(file)) != want {
				fmt.Fprintf(&script, "echo '%s' >%s\n", want, file)
			}
		}
	}
	return script.String()
}

// addresses adds those that no file of the host has.
func (b *builder) addresses(m *labsim.Machine) string {
	var script strings.Builder
	for _, l := range b.links() {
		now, there := m.Netdev(l.Name)
		if !there || now.SSH {
			continue
		}
		for _, a := range l.Addresses {
			text := fmt.Sprintf("%s/%d", a.Local, a.Prefix)
			has := slices.ContainsFunc(now.Addrs, func(p netip.Prefix) bool { return p.String() == text })
			if a.Scope == "global" && !has {
				fmt.Fprintf(&script, "ip addr add %s dev %s\n", text, l.Name)
			}
		}
		if l.up() && !now.Up {
			fmt.Fprintf(&script, "ip link set dev %s up\n", l.Name)
		}
	}
	return script.String()
}
