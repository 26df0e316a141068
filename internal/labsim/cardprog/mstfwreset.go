package cardprog

import (
	"bufio"
	"context"
	"path"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// The bits of MFRL (mstflint 4.21 and register captures): what may be asked for, and what a reset covers.
const (
	levelReset   = 1 << 3
	levelRestart = 1 << 6
	wholeChip    = 1
)

// levels is what the card offers.
func levels(c *labsim.Card) uint32 {
	if c.Config.NoReset {
		return levelRestart
	}
	return levelReset | levelRestart
}

// mstregMFRL prints the register of resets by its name.
func mstregMFRL(p *labsim.Proc, c *labsim.Card) int {
	p.Printf("Sending access register...\n\nField Name                      | Data    \n")
	rule := "=============================================\n"
	p.Printf("%s", rule)
	for _, field := range []struct {
		name  string
		value uint32
	}{{"reset_trigger", levels(c)}, {"reset_type", wholeChip}, {"rst_type_sel", 0}, {"pci_sync_for_fw_update_resp", 0},
		{"pci_sync_for_fw_update_start", 0}, {"pci_rescan_required", 0}} {
		p.Printf("%-32s| 0x%08x\n", field.name, field.value)
	}
	p.Printf("%s", rule)
	return 0
}

// mstfwreset knows -d DEVICE -l 3 [-y] r, which resets the chip of a ConnectX-4 or later below a running host.
func mstfwreset(ctx context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if len(f.Args) != 1 || f.Args[0] != "r" || f.Get("l") != "3" {
		return p.Unknown("reset")
	}
	refuse := func(format string, args ...any) int {
		p.Printf("-E- "+format+"\n", args...)
		return 1
	}
	c, found := findCard(p, f.Get("d"))
	switch {
	case !found || p.UID != 0:
		return refuse("Failed to open device: %s", f.Get("d"))
	case c.Config.Model.Switchable:
		return refuse("Unsupported Device: %s (%s).", f.Get("d"), c.Chip.Family)
	case virtual(p):
		return refuse("The tool is not supported on virtual machines.")
	case running(p, "opensm"):
		return refuse("Please stop \"opensm\" manually and resume operation!.")
	case levels(c)&levelReset == 0:
		return refuse("Reset-level '3' is not supported in the current state of this device.")
	}
	p.HoldOpen(configFile(p, c))
	p.Printf("Minimal reset level for device, %s:\n\n3: Driver restart and PCI reset\n", f.Get("d"))
	p.Printf("Continue with reset?[y/N] ")
	switch line, err := bufio.NewReader(p.Stdin).ReadString('\n'); {
	case f.Has("y"):
		p.Printf("y\n")
	case err != nil:
		return refuse("EOF when reading a line.")
	case strings.TrimSpace(line) != "y":
		return refuse("Aborted by user.")
	}
	return reset(ctx, p, c)
}

// reset goes through the steps. The tool heeds neither INT nor TERM while the link is down; KILL ends it anywhere.
func reset(ctx context.Context, p *labsim.Proc, c *labsim.Card) int {
	m := p.Machine
	p.Ignore(syscall.SIGINT)
	p.Ignore(syscall.SIGTERM)
	fails := m.Faults.Get().ResetFails
	for _, step := range []struct {
		done string
		do   func()
	}{
		{"-I- Sending Reset Command To Fw             -Done\n", func() {}},
		{"-I- Stopping Driver                         -Done\n", func() { m.TakeDriver(c) }},
		{"", func() {
			m.SetLink(c, false)
			if !fails {
				c.Boot()
			}
		}},
		{"-I- Resetting PCI                           -Done\n", func() { m.SetLink(c, true) }},
		{"-I- Starting Driver                         -Done\n", func() { m.GiveDriver(c) }},
	} {
		if m.Faults.StrikeReset(p); ctx.Err() != nil {
			return labsim.SignalStatus(ctx)
		}
		step.do()
		p.Printf("%s", step.done)
	}
	if m.Faults.StrikeReset(p); ctx.Err() != nil {
		return labsim.SignalStatus(ctx)
	}
	if fails {
		p.Printf("-E- Firmware reset failed, retry operation or reboot machine.\n")
		return 1
	}
	p.Printf("-I- FW was loaded successfully.\n")
	return 0
}

// virtual reports what lscpu says by the flag of the processor.
func virtual(p *labsim.Proc) bool { return p.Machine.Config.Virtual }

func running(p *labsim.Proc, name string) bool {
	for _, other := range p.Machine.Processes() {
		if path.Base(other.Args[0]) == name {
			return true
		}
	}
	return false
}
