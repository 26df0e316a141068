//go:build testbed && linux

package testbed

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/cardprog"
)

// said is what a run of a tool left.
type said struct {
	Out, Err string
	Status   int
}

func (s said) String() string {
	return fmt.Sprintf("status %d\nstdout %q\nstderr %q", s.Status, tail(s.Out), s.Err)
}

// tail shortens the progress of a burn.
func tail(s string) string {
	if len(s) < 2400 {
		return s
	}
	return s[:600] + " … " + s[len(s)-1700:]
}

// deal is one case of the contract: the same flash, command line and answers for
// the real tool and the simulated one.
type deal struct {
	name  string
	card  func() card.Config
	flash func(*card.Card) // changes the flash before the first command
	stdin string
	tool  string // default mstflint
	args  string // behind the tool; @ stands for -d and the card
	then  []string
}

func enCard() card.Config { return secondHand() }

func vpiCard() card.Config {
	c := secondHand()
	c.Image, c.GUIDs = imageVPI(), card.GUIDsFromBase(0xe41d2d0300e44ed0)
	return c
}

// unversionedCard has firmware without a product version: then old releases ask which ROM to take.
func unversionedCard() card.Config {
	c := vpiCard()
	c.Image = card.Build(card.Spec{
		PSID: card.PSIDVPI, Version: [3]uint16{2, 42, 5000}, Date: 0x20170905, Device: 0x1007, HWIDs: []uint32{0x1f7},
		VSD: "n/a", PRS: "testbed.prs", GUIDs: card.PlaceholderGUIDs, MACs: card.PlaceholderMACs, Failsafe: true,
		ChunkLog: 17, Code: smallCode,
	})
	return c
}

// previous is a card with a dead older image in the other slot.
func previousCard() card.Config {
	c := vpiCard()
	c.Previous = smallImage(card.PSIDVPI, [3]uint16{2, 36, 5000}, 0x20160114)
	return c
}

func oldCard() card.Config {
	c := secondHand()
	c.Chip, c.Rev = card.ConnectX3, 1
	c.Image = files()["cx3.bin"]
	return c
}

// flatCard has an image without the two-slot layout.
func flatCard() card.Config {
	c := vpiCard()
	c.Image = files()["flat.bin"]
	return c
}

func wipe(c *card.Card) {
	for a := uint32(0); a < card.FlashSize; a += card.SectorSize {
		_ = c.Flash.Erase(a)
	}
}

// damageCode flips bits of the code, of the image's second sector.
func damageCode(c *card.Card) { _ = c.Flash.Program(card.SectorSize+0x100, make([]byte, 8)) }

// blankGUIDs leaves the card as it came from the board maker: no GUIDs, no MACs,
// and no CRC over them.
func blankGUIDs(c *card.Card) {
	img, err := c.Flash.Active()
	if err != nil {
		panic(err)
	}
	data := append([]byte{}, img.Data...)
	at := bytes.Index(data, guidBytes(img))
	if at < 0 || at+52 > card.SectorSize {
		panic("no GUID section in the first sector")
	}
	for i := range 48 {
		data[at+i] = 0xff
	}
	copy(data[at+48:], []byte{0, 0, 0xff, 0xff})
	data[0x22], data[0x23] = 0xff, 0xff // the CRC over the whole is not set either
	sector := data[:min(len(data), card.SectorSize)]
	_ = c.Flash.Erase(0)
	_ = c.Flash.Program(0, sector)
}

func guidBytes(img *card.Image) []byte {
	var b []byte
	for _, v := range append(append([]uint64{}, img.GUIDs[:]...), img.MACs[:]...) {
		for shift := 56; shift >= 0; shift -= 8 {
			b = append(b, byte(v>>shift))
		}
	}
	return b
}

// files are the images of the contract, below /img on both sides.
func files() map[string][]byte {
	spec := card.Spec{
		PSID: card.PSIDVPI, Version: [3]uint16{2, 42,
			5000}, Product: "02.42.50.00", Date: 0x20170905, Device: 0x1007, HWIDs: []uint32{0x1f7}, VSD: "n/a",
		PRS:   "testbed.prs",
		GUIDs: card.PlaceholderGUIDs, MACs: card.PlaceholderMACs, Failsafe: true, ChunkLog: 17, Code: smallCode,
	}
	flat, cx3, cx3a0, rev := spec, spec, spec, spec
	flat.Failsafe = false
	cx3.Device, cx3.HWIDs, cx3.PSID = 0x1003, []uint32{0x1f5, 0x101f5}, card.PSIDCX3
	cx3a0.Device, cx3a0.HWIDs, cx3a0.PSID = 0x1003, []uint32{0x1f5}, card.PSIDCX3
	rev.HWIDs = []uint32{0x101f7}
	withoutROM, otherROM, unversioned := spec, spec, spec
	withoutROM.NoROM, withoutROM.Version = true, [3]uint16{2, 42, 5800}
	otherROM.ROMSub, otherROM.Version = 900, [3]uint16{2, 42, 5800}
	unversioned.ROMSub, unversioned.Product, unversioned.Version = 900, "", [3]uint16{2, 42, 5800}
	corrupt := append([]byte{}, imageVPI()...)
	corrupt[len(corrupt)/2] ^= 0x40
	all := map[string][]byte{
		"vpi.bin": imageVPI(), "en.bin": imageEN(), "old.bin": smallImage(card.PSIDVPI, [3]uint16{2, 36, 5000}, 0x20160114),
		// In the notation of 2015, older than any in the present one.
		"wide.bin": smallImage(card.PSIDVPI, [3]uint16{2, 1102, 6630}, 0x20150114), "flat.bin": card.Build(flat),
		"cx3.bin": card.Build(cx3), "cx3a0.bin": card.Build(cx3a0), "rev.bin": card.Build(rev), "corrupt.bin": corrupt,
		"norom.bin": card.Build(withoutROM), "rom.bin": card.Build(otherROM), "bare.bin": card.Build(unversioned),
		"short.bin": imageVPI()[:len(imageVPI())/2],
		"text.bin":  []byte("; not an image\n\x00"), "odd.bin": imageVPI()[:len(imageVPI())/2+1], "newer.bin": smallImage(card.PSIDVPI,
			[3]uint16{2, 42, 5700}, 0x20180101),
	}
	maps.Copy(all, gen5Files())
	return all
}

const guidArgs = "-guid 0xe41d2d0300e44ed0 -mac 0xe41d2de44ed0"

// deals are all cases.
func deals() []deal {
	list := []deal{
		{name: "query EN", card: enCard, args: "@ q"},
		{name: "query VPI", card: vpiCard, args: "@ q"},
		{name: "query full", card: vpiCard, args: "@ q full"},
		{name: "query with a dead image", card: previousCard, args: "@ q"},
		{name: "query by short address", card: vpiCard, args: "-d 01:00.0 q"},
		{name: "query by config file", card: vpiCard, args: "-d /sys/bus/pci/devices/0000:01:00.0/config q"},
		{name: "query ConnectX-3", card: oldCard, args: "@ q full"},
		{name: "query an empty flash", card: enCard, flash: wipe, args: "@ q"},
		{name: "query a damaged flash", card: vpiCard, flash: damageCode, args: "@ q"},
		{name: "query blank GUIDs", card: enCard, flash: blankGUIDs, args: "@ q"},
		{name: "query of no device", card: vpiCard, args: "-d 0000:09:00.0 q"},
		{name: "query of a name", card: vpiCard, args: "-d ibp1s0 q"},
		{name: "query of device and image", card: vpiCard, args: "@ -i /img/vpi.bin q"},
		{name: "query with an operand", card: vpiCard, args: "@ q nonsense"},
		{name: "verify", card: vpiCard, args: "@ v"},
		{name: "verify a dead image's card", card: previousCard, args: "@ v"},
		{name: "verify an empty flash", card: enCard, flash: wipe, args: "@ v"},
		{name: "verify a damaged flash", card: vpiCard, flash: damageCode, args: "@ v"},
		{name: "verify blank GUIDs", card: enCard, flash: blankGUIDs, args: "@ v"},
		{name: "verify a flash that is not failsafe", card: flatCard, args: "@ v",
			then: []string{"@ q", "-y @ -i /img/newer.bin b"}},
		{name: "verify device and image", card: vpiCard, args: "@ -i /img/vpi.bin v"},
		{name: "hardware", card: enCard, args: "@ hw query"},
		{name: "hardware ConnectX-3", card: oldCard, args: "@ hw query"},
		{name: "hardware of an empty flash", card: enCard, flash: wipe, args: "@ hw query"},
		{name: "checksum", card: vpiCard, args: "@ checksum"},
		{name: "checksum of a damaged flash", card: vpiCard, flash: damageCode, args: "@ checksum"},
		{name: "read image", card: vpiCard, args: "@ ri /root/out.bin",
			then: []string{"-i /root/out.bin q", "-i /root/out.bin v"}},
		{name: "read image of an empty flash", card: enCard, flash: wipe, args: "@ ri /root/out.bin"},
		{name: "read image of a damaged flash", card: vpiCard, flash: damageCode, args: "@ ri /root/out.bin"},
		{name: "read image into no directory", card: vpiCard, args: "@ ri /nonexistent/out.bin"},
		{name: "read image without a file", card: vpiCard, args: "@ ri"},
		{name: "clear semaphore", card: vpiCard, args: "-clear_semaphore @"},
		{name: "clear semaphore and query", card: vpiCard, args: "-clear_semaphore @ q"},
	}
	list = append(list, burnDeals()...)
	return append(list, guidDeals()...)
}

func burnDeals() []deal {
	return []deal{
		{name: "burn other PSID", card: enCard, args: "@ -i /img/vpi.bin b"},
		{name: "burn other PSID, -y", card: enCard, args: "-y @ -i /img/vpi.bin b"},
		{name: "burn other PSID, EOF", card: enCard, args: "-allow_psid_change @ -i /img/vpi.bin b"},
		{name: "burn other PSID, --no", card: enCard, args: "--no -allow_psid_change @ -i /img/vpi.bin b"},
		{name: "burn other PSID, answered n", card: enCard, stdin: "n\n", args: "-allow_psid_change @ -i /img/vpi.bin b"},
		{name: "burn other PSID, answered y", card: enCard, stdin: "y\n", args: "-allow_psid_change @ -i /img/vpi.bin b",
			then: []string{"@ q", "@ v"}},
		{name: "burn other PSID, answered YES", card: enCard, stdin: "YES\n", args: "-allow_psid_change @ -i /img/vpi.bin b"},
		{name: "burn other PSID, consent and -y", card: enCard, args: "-y -allow_psid_change @ -i /img/vpi.bin b"},
		{name: "burn same version, EOF", card: vpiCard, args: "@ -i /img/vpi.bin b"},
		{name: "burn same version, answered y", card: vpiCard, stdin: "y\n", args: "@ -i /img/vpi.bin b"},
		{name: "burn same version, --no", card: vpiCard, args: "--no @ -i /img/vpi.bin b"},
		{name: "burn newer", card: vpiCard, args: "@ -i /img/newer.bin b", then: []string{"@ q"}},
		{name: "burn over a dead image", card: previousCard, args: "@ -i /img/newer.bin b", then: []string{"@ q", "@ v"}},
		{name: "burn without ROM", card: vpiCard, args: "@ -i /img/norom.bin b", then: []string{"@ q", "@ v", "@ checksum"}},
		{name: "burn without ROM, of the image", card: vpiCard, args: "-use_image_rom @ -i /img/norom.bin b",
			then: []string{"@ q", "@ v", "@ checksum", "@ -i /img/rom.bin -y b", "@ q"}},
		{name: "burn another ROM", card: vpiCard, args: "@ -i /img/rom.bin b", then: []string{"@ q", "@ checksum"}},
		{name: "burn another ROM without product versions", card: unversionedCard, args: "@ -i /img/bare.bin b", then: []string{"@ q", "@ v"}},
		{name: "burn another ROM, of the image", card: unversionedCard, args: "-use_image_rom @ -i /img/bare.bin b",
			then: []string{"@ q", "@ v", "@ checksum"}},
		{name: "burn a ROM where only the card has a product version", card: vpiCard, args: "@ -i /img/bare.bin b",
			then: []string{"@ q"}},
		{name: "burn twice", card: vpiCard, args: "@ -i /img/newer.bin b", then: []string{"-y @ -i /img/vpi.bin b", "@ q"}},
		{name: "burn older, EOF", card: vpiCard, args: "@ -i /img/old.bin b"},
		{name: "burn older, -y", card: vpiCard, args: "-y @ -i /img/old.bin b"},
		{name: "burn of an older notation, -y", card: vpiCard, args: "-y @ -i /img/wide.bin b",
			then: []string{"@ q", "@ -i /img/vpi.bin b"}},
		{name: "burn older and other PSID, one y", card: enCard, stdin: "y\n",
			args: "-allow_psid_change @ -i /img/old.bin b"},
		{name: "burn older and other PSID, two y", card: enCard, stdin: "y\ny\n",
			args: "-allow_psid_change @ -i /img/old.bin b"},
		{name: "burn silently", card: enCard, args: "-s -y -allow_psid_change @ -i /img/vpi.bin b"},
		{name: "burn for another chip", card: enCard, args: "-y -allow_psid_change @ -i /img/cx3.bin b"},
		{name: "burn for another revision", card: enCard, args: "-y -allow_psid_change @ -i /img/rev.bin b"},
		{name: "burn ConnectX-3 A0 on A1", card: oldCard, args: "-y @ -i /img/cx3a0.bin b"},
		{name: "burn non-failsafe", card: enCard, args: "-y -allow_psid_change @ -i /img/flat.bin b"},
		{name: "burn corrupt", card: enCard, args: "-y -allow_psid_change @ -i /img/corrupt.bin b"},
		{name: "burn short", card: enCard, args: "-y -allow_psid_change @ -i /img/short.bin b"},
		{name: "burn text", card: enCard, args: "-y -allow_psid_change @ -i /img/text.bin b"},
		{name: "burn odd length", card: enCard, args: "-y -allow_psid_change @ -i /img/odd.bin b"},
		{name: "burn no file", card: enCard, args: "-y -allow_psid_change @ -i /img/none.bin b"},
		{name: "burn no image given", card: enCard, args: "-y @ b"},
		{name: "burn onto an empty flash", card: enCard, flash: wipe, args: "-y @ -i /img/vpi.bin b"},
		{name: "burn onto a damaged flash", card: vpiCard, flash: damageCode, args: "-y @ -i /img/newer.bin b"},
		{name: "burn onto blank GUIDs", card: enCard, flash: blankGUIDs, args: "-y -allow_psid_change @ -i /img/vpi.bin b"},
		{name: "burn with the image's identity", card: enCard,
			args: "-y -allow_psid_change -use_image_guids -use_image_ps @ -i /img/vpi.bin b", then: []string{"@ q"}},
		{name: "burn with GUIDs, EOF", card: vpiCard, args: guidArgs + " @ -i /img/newer.bin b"},
		{name: "burn with GUIDs", card: enCard, args: "-y -allow_psid_change " + guidArgs + " @ -i /img/vpi.bin b",
			then: []string{"@ q"}},
	}
}

func guidDeals() []deal {
	return []deal{
		{name: "set GUIDs, EOF", card: enCard, args: guidArgs + " @ sg"},
		{name: "set GUIDs, --no", card: enCard, args: "--no " + guidArgs + " @ sg"},
		{name: "set GUIDs, answered y", card: enCard, stdin: "y\n", args: guidArgs + " @ sg", then: []string{"@ q", "@ v"}},
		{name: "set GUIDs, -y", card: vpiCard, args: "-y -guid 0002c90300112230 @ sg", then: []string{"@ q"}},
		{name: "set GUIDs over a dead image", card: previousCard, args: "-y -guid 0002c90300112230 @ sg",
			then: []string{"@ q"}},
		{name: "set MAC only", card: vpiCard, args: "-y -mac 0002c9112230 @ sg", then: []string{"@ q"}},
		{name: "set all four GUIDs", card: vpiCard, args: "-y -guids 1 2 3 4 -macs 2 4 @ sg", then: []string{"@ q"}},
		{name: "set GUIDs that wrap", card: vpiCard, args: "-y -guid 0xfffffffffffffffe @ sg", then: []string{"@ q"}},
		{name: "set GUIDs of blank", card: enCard, flash: blankGUIDs, args: guidArgs + " @ sg", then: []string{"@ q", "@ v"}},
		{name: "set only GUIDs of blank", card: enCard, flash: blankGUIDs, args: "-guid 0xe41d2d0300e44ed0 @ sg",
			then: []string{"@ q"}},
		{name: "set a multicast MAC", card: vpiCard, args: "-y -mac 0x0102030405aa @ sg"},
		{name: "set a long MAC", card: vpiCard, args: "-y -mac 0x10002030405aa @ sg"},
		{name: "set a UID", card: vpiCard, args: "-y -uid 1 @ sg"},
		{name: "set nothing", card: vpiCard, args: "-y @ sg"},
		{name: "set three positional GUIDs", card: vpiCard, args: "-y @ sg 1 2 3"},
		{name: "set three GUIDs", card: vpiCard, args: "-y -guids 1 2 3 @ sg"},
		{name: "set a GUID with colons", card: vpiCard, args: "-y -guid 0002:c903 @ sg"},
		{name: "set GUIDs of an empty flash", card: enCard, flash: wipe, args: "-y " + guidArgs + " @ sg"},
		{name: "set GUIDs of a damaged flash", card: vpiCard, flash: damageCode, args: "-y " + guidArgs + " @ sg"},
		{name: "set GUIDs in a blank way", card: vpiCard, args: "-y " + guidArgs + " @ sg nocrc"},
	}
}

// heldDeals are apart: the real tool tries 1,024 times to get a semaphore,
// and in giving up frees it.
func heldDeals() []deal {
	held := func(c *card.Card) { c.TakeSemaphore() }
	return []deal{
		{name: "query while the semaphore is held", card: vpiCard, flash: held, args: "@ q", then: []string{"@ q"}},
		{name: "a semaphore that is cleared", card: vpiCard, flash: held, args: "-clear_semaphore @", then: []string{"@ q"}},
		{name: "burn while the semaphore is held", card: enCard, flash: held,
			args: "-y -allow_psid_change @ -i /img/vpi.bin b"},
	}
}

// configHelp is how the help of mstconfig begins.
const configHelp = "    NAME:\n        mstconfig\n"

// known are the differences that are meant to be, by case.
var known = map[string]string{}

// TestContract_simulated_mstflint_is_the_real_one runs every case through both
// tools and compares what they print, how they end, and the flash afterwards.
func TestContract_simulated_mstflint_is_the_real_one(t *testing.T) {
	t.Parallel()
	contract(t, "contract", deals())
}

func TestContract_of_a_held_semaphore(t *testing.T) {
	t.Parallel()
	contract(t, "held", heldDeals())
}

func contract(t *testing.T, name string, list []deal) {
	t.Helper()
	b := start(t, HostConfig{Name: name, Card: secondHand()})
	box := b.Hosts[name]
	for name, data := range files() {
		if err := box.Put("/img/"+name, data); err != nil {
			t.Fatal(err)
		}
	}
	differ := 0
	for _, d := range list {
		t.Run(d.name, func(t *testing.T) {
			if !compare(t, box, d) {
				differ++
			}
		})
	}
	t.Logf("%d cases, %d differ", len(list), differ)
}

func compare(t *testing.T, box *Host, d deal) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := d.card()
	model, err := card.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Exec(ctx, "rm -rf /tmp/mstflint_lockfiles /root/out.bin"); err != nil {
		t.Fatal(err)
	}
	box.Device.Insert(model)
	m := simulatedMachine(t, c)
	sim := m.Card(DefaultBDF).Card
	if d.flash != nil {
		d.flash(model)
		d.flash(sim)
	}
	var wrong []string
	tool := cmp.Or(d.tool, "mstflint")
	for i, args := range append([]string{d.args}, d.then...) {
		argv := append([]string{tool}, strings.Fields(strings.ReplaceAll(args, "@", "-d "+DefaultBDF))...)
		stdin := d.stdin
		if i > 0 {
			stdin = ""
		}
		want := realRun(ctx, t, box, stdin, argv)
		got := simulatedRun(ctx, m, stdin, argv)
		// The help that follows a wrong command line is the vendor's text; the
		// simulated tool leaves it out.
		want.Out, _, _ = strings.Cut(want.Out, configHelp)
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s\nreal      %s\nsimulated %s", strings.Join(argv, " "), want, got))
		}
	}
	if a, b := model.NextNV(), sim.NextNV(); a != b {
		wrong = append(wrong, fmt.Sprintf("the configuration of the next boot differs: real %v, simulated %v", a, b))
	}
	if a, b := model.Flash.Dump(), sim.Flash.Dump(); !bytes.Equal(a, b) {
		wrong = append(wrong, "the flash differs afterwards: "+where(a, b))
	}
	if v := m.Violations(); len(v) > 0 {
		wrong = append(wrong, fmt.Sprintf("the simulated tool does not know: %q", v))
	}
	switch why, expected := known[d.name]; {
	case expected && len(wrong) == 0:
		t.Errorf("no difference any more; expected one because %s", why)
	case !expected && len(wrong) > 0:
		t.Error(strings.Join(wrong, "\n"))
	}
	return len(wrong) == 0
}

// where tells the parts of a flash that differ, by sector.
func where(genuine, sim []byte) string {
	var list []string
	for a := 0; a < len(genuine); a += card.SectorSize {
		if x, y := genuine[a:a+card.SectorSize], sim[a:a+card.SectorSize]; !bytes.Equal(x, y) {
			i := 0
			for x[i] == y[i] {
				i++
			}
			list = append(list, fmt.Sprintf("0x%x real %x simulated %x", a+i, x[i:min(i+16, len(x))], y[i:min(i+16, len(y))]))
		}
	}
	if len(list) > 4 {
		list = append(list[:4], fmt.Sprintf("and %d sectors more", len(list)-4))
	}
	return strings.Join(list, "; ")
}

func simulatedMachine(t *testing.T, c card.Config) *labsim.Machine {
	t.Helper()
	l := labsim.New(labsim.Options{Setup: []func(*labsim.Machine){cardprog.Install}})
	m, err := l.AddMachine(labsim.Config{Name: "host", OS: labsim.TrueNAS, MstflintVersion: "4.21.0",
		Cards: []labsim.CardConfig{{BDF: DefaultBDF, Config: c}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files() {
		m.FS.Put("/img/"+name, string(data), 0o600)
	}
	m.FS.PutDir("/root", 0o700, 0, 0)
	return m
}

func simulatedRun(ctx context.Context, m *labsim.Machine, stdin string, argv []string) said {
	var out, errOut bytes.Buffer
	status := m.Exec(ctx, &labsim.Proc{Args: argv, User: "root", Stdin: strings.NewReader(stdin), Stdout: &out,
		Stderr: &errOut})
	return said{out.String(), errOut.String(), status}
}

func realRun(ctx context.Context, t *testing.T, box *Host, stdin string, argv []string) said {
	t.Helper()
	pid, err := box.leader()
	if err != nil {
		t.Fatal(err)
	}
	// No shell in between, so that the streams stay apart.
	cmd := exec.CommandContext(ctx, "nsenter",
		append([]string{"--target", strconv.Itoa(pid), "--mount", "--ipc", "--net", "--"}, argv...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C"}
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return said{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}
