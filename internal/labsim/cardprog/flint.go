// Package cardprog holds the programs that touch cards: mstflint, mstconfig, lspci
// and the module tools, with the grammar, the order of checks, the texts and the
// exit codes of the real ones (mstflint 4.21 to 4.36, pciutils 3.10, kmod 31).
//
// It must not know about services, networks or SSH, and must not guess: what the
// real tool has and this one lacks is a recorded violation.
package cardprog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// flint is one run of mstflint.
type flint struct {
	ctx     context.Context // one run is one process
	p       *labsim.Proc
	call    *flintCall
	version toolVersion
	stdin   *bufio.Reader

	card  *labsim.Card
	image *card.Image // of -i
	held  bool        // the flash semaphore is ours
}

// toolVersion is major.minor of the installed tool.
type toolVersion struct {
	major, minor int
	text         string
}

func (v toolVersion) atLeast(minor int) bool { return v.major > 4 || v.minor >= minor }

func versionOf(p *labsim.Proc) toolVersion {
	text := p.Machine.Tools["mstflint"]
	parts := strings.Split(text+"..", ".")
	major, _ := strconv.Atoi(parts[0])
	minor, _ := strconv.Atoi(parts[1])
	return toolVersion{major, minor, text}
}

const synopsis = "NAME\n    MstFlint - Flash Interface\n\nSYNOPSIS\n    MstFlint [OPTIONS] <command> [Parameters]\n"

// mstflint is the simulated program.
func mstflint(ctx context.Context, p *labsim.Proc) int {
	if status, answered := askReal(ctx, p); answered {
		return status
	}
	f := &flint{ctx: ctx, p: p, version: versionOf(p), stdin: bufio.NewReader(p.Stdin)}
	call, usage := parseFlint(p.Args[1:])
	if usage != nil {
		p.Errorf("%s", usage.err)
		p.Printf("%s", usage.out)
		if usage.synopsis {
			p.Printf("%s", synopsis)
		}
		return 1
	}
	f.call = call
	if call.has("version") {
		p.Printf("mstflint, mstflint %s, Git SHA Hash: N/A\n", f.version.text)
		return 0
	}
	for name := range call.options {
		if flintUnsimulated[name] {
			return p.Unknown("option " + name)
		}
	}
	return f.dispatch()
}

// deviceOption is -d in all its forms.
var deviceOption = regexp.MustCompile(`^--?d(?:e(?:v(?:i(?:ce?)?)?)?)?(?:=(.*))?$`)

// askReal has whoever runs the real tool answer. He gets nothing that the real one could not open here, nor a name that
// is of no card: on his machine it could be of a real one.
func askReal(ctx context.Context, p *labsim.Proc) (status int, answered bool) {
	if p.Machine.Hooks.Flint == nil || p.UID != 0 || lockedDown(p) {
		return 0, false
	}
	var names []string
	for i, arg := range p.Args[1:] {
		switch m := deviceOption.FindStringSubmatch(arg); {
		case m == nil:
		case strings.Contains(arg, "="):
			names = append(names, m[1])
		case i+2 < len(p.Args):
			names = append(names, p.Args[i+2])
		default:
			return 0, false
		}
	}
	if len(names) == 0 {
		return p.Machine.Hooks.Flint(ctx, p, "", nil)
	}
	c, found := findCard(p, names[0])
	if len(names) > 1 || !found {
		return 0, false
	}
	p.HoldOpen(configFile(p, c))
	return p.Machine.Hooks.Flint(ctx, p, names[0], c)
}

func (f *flint) dispatch() int {
	c := f.call
	if c.has("clear_semaphore") || c.word == "clear_semaphore" {
		if c.has("clear_semaphore") && c.word != "" {
			f.p.Printf("No command is allowed when -clear_semaphore flag is given.\n")
			return 1
		}
		return f.clearSemaphore()
	}
	if c.command.full == "" {
		return f.p.Unknown("command " + c.word)
	}
	if status := f.checkCommand(); status != 0 {
		return status
	}
	defer f.release()
	switch c.command.full {
	case "query":
		return f.query()
	case "verify":
		return f.verify()
	case "burn":
		return f.burn()
	case "ri":
		return f.readImage()
	case "sg":
		return f.setGUIDs()
	case "checksum":
		return f.checksum()
	case "Hw":
		return f.hardware()
	}
	return f.p.Unknown("command " + c.word)
}

// checkCommand is what the tool checks before it opens anything.
func (f *flint) checkCommand() int {
	c, n := f.call, len(f.call.params)
	switch {
	case n > c.command.max && c.command.max > 0 && c.command.min != c.command.max:
		return f.fail("Command \"%s\" requires at most %d arguments, but %d arguments were given", c.command.full,
			c.command.max, n)
	case n > c.command.max, n < c.command.min:
		return f.fail("Command \"%s\" requires %d arguments, but %d arguments were given", c.command.full, c.command.min, n)
	case c.command.both && (!c.has("device") || !c.has("image")):
		return f.fail("Command \"%s\" requires both image and device to be specified.", c.command.full)
	case c.command.both:
		return 0
	case c.command.device && c.has("image"):
		return f.fail("Command \"%s\" requires device, but an image file was given.", c.command.full)
	case c.command.full == "sg" && !c.has("guid") && !c.has("guids") && !c.has("mac") && !c.has("macs") && !c.has("uid"):
		return f.fail("For sg command, Please specify GUIDs / MACs / UID (using command line flags -guid(s) / -mac(s) / " +
			"-uid).")
	case c.has("device") == c.has("image"):
		f.fail("Please specify either Device or Image.")
		if c.command.full == "verify" {
			return f.unopenable()
		}
		return 1
	}
	return 0
}

// fail prints an error the tool's way and returns 1.
func (f *flint) fail(format string, args ...any) int {
	f.p.Printf("-E- "+format+"\n", args...)
	return 1
}

// findCard resolves a device name to a card.
func findCard(p *labsim.Proc, name string) (*labsim.Card, bool) {
	bdf := strings.TrimPrefix(name, "pciconf-")
	if strings.HasPrefix(name, "/sys/bus/pci/devices/") {
		bdf = strings.TrimSuffix(strings.TrimPrefix(name, "/sys/bus/pci/devices/"), "/config")
	}
	if strings.HasPrefix(name, "mlx4_") || strings.HasPrefix(name, "mlx5_") {
		target, err := p.Machine.FS.RealPath(p.Cred(), "/sys/class/infiniband/"+name+"/device")
		if err != nil {
			return nil, false
		}
		bdf = target[strings.LastIndex(target, "/")+1:]
	}
	if strings.Count(bdf, ":") == 1 {
		bdf = "0000:" + bdf
	}
	c := p.Machine.Card(bdf)
	return c, c != nil && p.Machine.HasLink(c)
}

// configFile is the file by which a tool reaches a card, as /proc names it.
func configFile(p *labsim.Proc, c *labsim.Card) string {
	file := "/sys/bus/pci/devices/" + c.Config.BDF + "/config"
	if dir, err := p.Machine.FS.RealPath(vfs.Root, "/sys/bus/pci/devices/"+c.Config.BDF); err == nil {
		file = dir + "/config"
	}
	return file
}

// badDeviceName says whether a name is of no form that the tool parses.
func badDeviceName(name string) bool {
	return !strings.Contains(name, ":") && !strings.HasPrefix(name, "/sys/")
}

// openDevice finds the card and takes the flash semaphore. what is how the
// message begins.
func (f *flint) openDevice() int {
	name := f.call.options["device"]
	c, found := findCard(f.p, name)
	switch {
	case !found && badDeviceName(name):
		f.p.Errorf("Unable to parse device name %s\nUnable to parse device name %s\n", name, name)
		return f.fail("Cannot open Device: %s. Invalid argument. MFE_CR_ERROR", name)
	case !found && f.call.command.full == "Hw":
		return f.fail("Failed to open Device: No such file or directory. MFE_CR_ERROR")
	case !found:
		return f.fail("Cannot open Device: %s. No such file or directory. MFE_CR_ERROR", name)
	case f.p.UID != 0:
		return f.fail("Cannot open Device: %s. Permission denied. MFE_CR_ERROR", name)
	case lockedDown(f.p):
		return f.fail("Cannot open Device: %s. Operation not permitted. MFE_CR_ERROR", name)
	case !c.HasFlash(): // MT25208, QLogic: the tool knows neither
		return f.fail("Cannot open Device: %s. Operation not supported. MFE_CR_ERROR", name)
	case f.version.atLeast(30) && !f.version.atLeast(35) && c.Config.Model.Switchable:
		// Reported for real ConnectX-3 cards with 4.30 to 4.33.
		return 128 + int(syscall.SIGSEGV)
	}
	f.p.HoldOpen(configFile(f.p, c))
	if !c.TakeSemaphore() {
		// The tool tries 1,024 times, and in giving up it frees what it never had.
		c.Flash.Disturb()
		c.ReleaseSemaphore()
		return f.fail("Can not obtain Flash semaphore-E- Cannot open Device: %s. Can not obtain Flash semaphore. You can "+
			"run \"flint -clear_semaphore -d <device>\" to force semaphore unlock. See help for details.", name)
	}
	c.Flash.Disturb() // of a burn whose semaphore another program has freed
	f.card, f.held = c, true
	f.cacheWarning()
	return 0
}

// lockedDown says whether the kernel lets no program at a PCI device (Linux security_locked_down,
// LOCKDOWN_PCI_ACCESS: EPERM).
func lockedDown(p *labsim.Proc) bool {
	modes, _ := p.Machine.FS.ReadFile("/sys/kernel/security/lockdown")
	return len(modes) > 0 && !strings.Contains(string(modes), "[none]")
}

// release frees the semaphore, unless the process was killed outright.
func (f *flint) release() {
	if f.held && !killedHard(f.ctx) {
		f.card.ReleaseSemaphore()
	}
	f.held = false
}

// killedHard says whether nothing can clean up any more.
func killedHard(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	var s *labsim.SignalError
	if !errors.As(context.Cause(ctx), &s) {
		return true
	}
	// The tool catches none of these.
	return s.Signal == syscall.SIGKILL || s.Signal == syscall.SIGSEGV || s.Signal == syscall.SIGBUS
}

func (f *flint) clearSemaphore() int {
	name := f.call.options["device"]
	c, found := findCard(f.p, name)
	switch {
	case !found:
		return f.fail("Failed to open Device: No such file or directory. MFE_CR_ERROR")
	case f.p.UID != 0:
		return f.fail("Failed to open Device: Permission denied. MFE_CR_ERROR")
	}
	if !c.TakeSemaphore() {
		f.p.Printf("-E- Can not obtain Flash semaphoreWarning: Taking flash lock even though semaphore is set.\n-E- Can " +
			"not obtain Flash semaphore")
	}
	c.ReleaseSemaphore()
	return 0
}

// openImage reads and parses the file of -i. prefix is "Cannot open Image" or the
// like for what fails at opening.
func (f *flint) openImage() (img *card.Image, openErr string, parseErr error) {
	name := f.call.options["image"]
	data, err := f.p.ReadFile(name)
	if err != nil {
		var errno syscall.Errno
		text := err.Error()
		if errors.As(err, &errno) {
			text = strings.ToUpper(errno.Error()[:1]) + errno.Error()[1:]
		}
		return nil, fmt.Sprintf("Can not open file \"%s\" - %s", name, text), nil
	}
	img, parseErr = card.Parse(data)
	var align *card.AlignError
	if errors.As(parseErr, &align) {
		return nil, fmt.Sprintf("Image size should be 4-bytes aligned. Make sure file %s is in the right format (binary "+
			"image)", name), nil
	}
	var cut *card.TOCReadError
	if errors.As(parseErr, &cut) && f.call.command.full == "burn" {
		return nil, "", nil
	}
	var format *card.FormatError
	if errors.As(parseErr, &format) {
		return nil, format.Error(), nil
	}
	return img, "", parseErr
}

// ask is a yes/no question; aborted is the exit status after a no.
func (f *flint) ask(aborted int) int {
	f.p.Printf("\n Do you want to continue ? (y/n) [n] : ")
	switch {
	case f.call.has("yes"):
		f.p.Printf("y\n")
		return 0
	case f.call.has("no"):
		f.p.Printf("n\n")
		return aborted
	}
	answer, _ := f.stdin.ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	if answer == "y" || answer == "yes" {
		return 0
	}
	if status := labsim.SignalStatus(f.ctx); status != 0 {
		return status
	}
	f.fail("Aborted by user")
	return aborted
}
