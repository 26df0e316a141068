package acctest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
)

// Names of the firmware files that every lab has.
const (
	ImageVPI     = "fw-ConnectX3Pro-vpi.bin"
	ImageEN      = "fw-ConnectX3Pro-en.bin"
	ImageOldVPI  = "fw-ConnectX3Pro-vpi-2_36_5000.bin"
	ImageNoFS    = "fw-ConnectX3Pro-vpi-nofs.bin"
	ImageCX3     = "fw-ConnectX3-vpi.bin"
	ImageCorrupt = "fw-ConnectX3Pro-vpi-corrupt.bin"
	ImageShort   = "fw-ConnectX3Pro-vpi-short.bin"
)

// Options configure a lab.
type Options struct {
	Lab   labsim.Options // Speed 0 means 20
	Hosts []labs.Host    // nil means the two hosts of the main scenario
	// Tolerate says that the scenario asks hosts for what the lab does not
	// simulate, on purpose.
	Tolerate bool
	// Simulated says that these are hosts of the simulated lab, whatever others stand on.
	Simulated bool
}

// Lab is a running lab and an operator's machine next to it.
type Lab struct {
	*labs.Lab                      // nil on the testbed
	Folder    string               // of the operator
	Images    map[string]card.File // firmware files by name
	Backups   string               // backup_dir of the operator
	t         testing.TB
	hosts     []labs.Host
	testbed   Loan
	over      string // address by which hosts are reached, see Over
}

// Start makes a lab, which ends with the test. At its end no host may have been
// asked for something that no real one would understand.
func Start(t testing.TB, o Options) *Lab {
	t.Helper()
	if o.Lab.Speed == 0 {
		o.Lab.Speed = 20
	}
	if o.Hosts == nil {
		o.Hosts = labs.TwoHosts()
	}
	if OnKernels() && !o.Simulated {
		o.Hosts = inSlots(o.Hosts)
	}
	w := &Lab{Backups: filepath.Join(t.TempDir(), "firmware-backups"), t: t, hosts: o.Hosts}
	if theTestbed != nil && !o.Simulated {
		w.stand(o.Hosts)
		return w
	}
	w.simulate(o)
	return w
}

// simulate starts the hosts in the simulated lab.
func (w *Lab) simulate(o Options) {
	t := w.t
	t.Helper()
	lab, err := labs.Start(t.TempDir(), o.Lab, o.Hosts...)
	if err != nil {
		t.Fatalf("start the lab: %v", err)
	}
	w.Lab, w.Folder, w.Images = lab, lab.Dir, lab.Images
	t.Cleanup(func() {
		lab.Close()
		for _, m := range lab.Machines() {
			m.Destroy()
		}
		if v := lab.Violations(); len(v) > 0 && !o.Tolerate {
			t.Errorf("hosts were asked for what they do not know:\n%s", strings.Join(v, "\n"))
		}
		// Package testing keeps a parallel test and its cleanups until all of them have ended:
		// thousands of disks and flashes.
		lab, w.Lab = nil, nil
	})
}

// InProcess serves the provider in this process, at a pace that suits the lab.
func InProcess() (tfprotov6.ProviderServer, error) {
	return provider.Server(provider.NewTuned("test", provider.Tuning{Pace: pace, Lost: 30 * time.Second})()), nil
}

// pace is the pause between two looks at a job or a restarting host.
const pace = 40 * time.Millisecond

// Provider is the provider's configuration for all hosts of the lab.
func (w *Lab) Provider() map[string]any {
	hosts := map[string]any{}
	for _, name := range w.Names() {
		hosts[name] = w.Host(name)
	}
	key, known := w.keys()
	return map[string]any{
		"backup_dir": w.Backups,
		"ssh": map[string]any{
			"private_key_file": key, "known_hosts_files": []string{known}, "config_file": "none", "use_agent": false,
		},
		"hosts": hosts,
	}
}

// Host is the entry of one host in the provider's configuration.
func (w *Lab) Host(name string) map[string]any {
	if w.testbed != nil {
		ip, port, user := w.testbed.Address(name)
		entry := map[string]any{"address": ip, "port": port, "user": user,
			"reboot": map[string]any{"allowed": true, "timeout": "2m"}}
		if OnKernels() {
			entry["connect_timeout"], entry["reboot"] = slowConnect, map[string]any{"allowed": true, "timeout": "10m"}
		}
		if w.over != "" {
			entry["address"], entry["port"] = w.over, 22
			if jump := w.testbed.Jump(); jump != nil {
				entry["jump_hosts"] = []any{jump}
			}
		}
		return entry
	}
	addr := w.Servers[name].Addr
	return map[string]any{"address": addr.IP.String(), "port": addr.Port, "user": w.User(name),
		"reboot": map[string]any{"allowed": true}}
}

// keys are the files of the operator's key and of the hosts' keys.
func (w *Lab) keys() (key, known string) {
	if w.testbed != nil {
		return w.testbed.KeyFile(), w.testbed.KnownHostsFile()
	}
	return w.KeyFile(), w.KnownHostsFile()
}

// Workspace is an operator who has not applied anything yet. When a walk ends,
// the connections of its provider break, as those of a process that ends do.
func (w *Lab) Workspace() *Workspace {
	ws := NewWorkspace(InProcess, w.Provider())
	ws.Ended = w.DropAll
	return ws
}

// DropAll breaks all connections to all hosts.
func (w *Lab) DropAll() {
	if w.testbed != nil {
		for _, name := range w.Names() {
			w.testbed.Drop(name)
		}
		return
	}
	for _, s := range w.Servers {
		s.DropAll()
	}
}

// PCI is the address of the first card of a host.
func (w *Lab) PCI(host string) string { return w.hostSpec(host).Cards[0].BDF }

// Card is the first card of a host, the thing itself. On the testbed
// it is not connected to anything.
func (w *Lab) Card(host string) *labsim.Card {
	if w.testbed != nil {
		return labsim.UnpluggedCard(w.testbed.Card(host, w.PCI(host)), w.hostSpec(host).Cards[0])
	}
	return w.Lab.Machine(host).Card(w.PCI(host))
}

// Flash is the firmware that a card's flash holds.
func (w *Lab) Flash(host string) card.Firmware {
	w.t.Helper()
	img, err := w.Card(host).Flash.Active()
	if err != nil {
		w.t.Fatalf("the card of %s holds no whole image: %v", host, err)
	}
	return img.Firmware()
}

// Run executes a shell command as root on a host's console.
func (w *Lab) Run(host, command string) string {
	w.t.Helper()
	out, status := w.Try(host, command)
	if status != 0 {
		w.t.Fatalf("%s on %s ended with %d:\n%s", command, host, status, out)
	}
	return out
}

// Try is Run for a command that may fail.
func (w *Lab) Try(host, command string) (string, int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if w.testbed != nil {
		return w.testbed.Run(ctx, host, command)
	}
	var out bytes.Buffer
	status := w.Servers[host].Run(ctx, "root", command, strings.NewReader(""), &out, &out)
	return out.String(), status
}

// Image is the path of one of the lab's firmware files.
func (w *Lab) Image(name string) string { return w.Images[name].Path }

// Count gives how many programs ended on a host whose arguments hold all words.
func (w *Lab) Count(host string, words ...string) int {
	n := 0
	for _, e := range w.Machine(host).Journal() {
		if containsAll(strings.Join(e.Args, " "), words) {
			n++
		}
	}
	return n
}

// Print is a fingerprint of everything about a host that a plan must leave
// alone: flash, boots, files, interfaces, ports and modules.
func (w *Lab) Print(host string) string {
	var b strings.Builder
	if w.testbed != nil {
		for _, c := range w.hostSpec(host).Cards {
			model := w.testbed.Card(host, c.BDF)
			fmt.Fprintf(&b, "card %s: %d flash operations, %v\n", c.BDF, model.Flash.Operations(), model.Running())
		}
		fmt.Fprintf(&b, "boots %d\n%s", w.testbed.Boots(host), w.testbed.Print(host))
		return b.String()
	}
	m := w.Lab.Machine(host)
	for _, c := range m.Cards() {
		fmt.Fprintf(&b, "card %s: %d flash operations, %v\n", c.Config.BDF, c.Flash.Operations(), c.Running())
		for _, p := range c.Ports {
			v := p.View()
			fmt.Fprintf(&b, "port %d: %s %t %d\n", p.Number, v.LinkType, v.Auto, v.GUID)
		}
	}
	fmt.Fprintf(&b, "boots %d, modules %v\n", m.Boots(), m.Modules())
	for _, d := range m.Netdevs() {
		fmt.Fprintf(&b, "%s up %t mtu %d mode %s %v\n", d.Name, d.Up, d.MTU, d.Mode, d.Addrs)
	}
	for _, dir := range []string{"/etc", "/usr/lib", "/var/lib", "/root", "/home"} {
		printFiles(&b, m.FS, dir)
	}
	return b.String()
}

func printFiles(b *strings.Builder, files *vfs.FS, dir string) {
	entries, err := files.ReadDir(vfs.Root, dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name := dir + "/" + e.Name()
		switch {
		case e.IsDir():
			printFiles(b, files, name)
		case e.Mode()&os.ModeSymlink != 0:
			fmt.Fprintf(b, "%s -> \n", name)
		default:
			data, _ := files.ReadFile(name)
			fmt.Fprintf(b, "%s %v %x\n", name, e.Mode(), sha256.Sum256(data))
		}
	}
}
