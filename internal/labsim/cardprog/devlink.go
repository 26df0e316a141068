package cardprog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/ulikunitz/xz"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// devlink is the program of iproute2 for what a driver knows and does of its device: dev info and dev flash. Its texts are those of
// iproute2 6.1 with mlx5_core and mlxfw of Linux 6.1 (captured with an emulated card).
func devlink(ctx context.Context, p *labsim.Proc) int {
	args := p.Args[1:]
	if len(args) < 3 || args[0] != "dev" || !strings.HasPrefix(args[2], "pci/") {
		return p.Unknown("form of devlink")
	}
	c := p.Machine.Card(strings.TrimPrefix(args[2], "pci/"))
	if c == nil || !byMlx5(p, c) {
		return answers(p, "No such device")
	}
	if len(args) == 3 && args[1] == "info" {
		return devlinkInfo(p, c, args[2])
	}
	if len(args) == 5 && args[1] == "flash" && args[3] == "file" {
		return devlinkFlash(ctx, p, c, "/lib/firmware/"+args[4])
	}
	return p.Unknown("form of devlink")
}

// byMlx5 says whether mlx5_core has the card.
func byMlx5(p *labsim.Proc, c *labsim.Card) bool {
	at, err := p.Machine.FS.RealPath(p.Cred(), "/sys/bus/pci/devices/"+c.Config.BDF+"/driver")
	return err == nil && strings.HasSuffix(at, "/mlx5_core")
}

// answers prints what the kernel has refused.
func answers(p *labsim.Proc, text string) int {
	p.Errorf("kernel answers: %s\n", text)
	return 1
}

// devlinkInfo prints what the firmware says of itself: nothing if it has no such registers. Behind an update that did not
// end well, the driver takes all ones for what is stored (captured with Linux 6.1.0-50 of Debian 12).
func devlinkInfo(p *labsim.Proc, c *labsim.Card, name string) int {
	u := c.Update()
	if u == nil {
		return answers(p, "Operation not supported")
	}
	running, next := c.Booted(), c.Booted().Version
	if staged := c.Staged(); staged != nil {
		next = staged.Version
	}
	if outcome, _ := u.Outcome(); outcome != card.UpdateNever && outcome != card.UpdatePending {
		next = [3]uint16{255, 255, 65535}
	}
	p.Printf("%s:\n  driver mlx5_core\n  versions:\n      fixed:\n        fw.psid %s\n", name, running.PSID)
	for _, v := range []struct {
		kind    string
		version [3]uint16
	}{{"running", running.Version}, {"stored", next}} {
		text := card.VersionText(v.version)
		p.Printf("      %s:\n        fw.version %s\n        fw %s\n", v.kind, text, text)
	}
	return 0
}

// driverRefusals are the driver's words for the reasons of the firmware (mlxfw_fsm.c).
var driverRefusals = map[card.Refusal]string{
	card.RefusalDigest: "component hash mismatch", card.RefusalNotApplicable: "component not applicable",
	card.RefusalNotSigned: "component was not signed", card.RefusalPending: "pending reset",
}

// devlinkFlash has the firmware of a card take the image of a package.
func devlinkFlash(ctx context.Context, p *labsim.Proc, c *labsim.Card, file string) int {
	fail := func(text string) int {
		p.Errorf("Error: mlxfw: Firmware flash failed: %s.\n\n", text) // glued to what was shown last
		return 1
	}
	data, err := p.Machine.FS.ReadFile(file)
	u := c.Update()
	switch {
	case err != nil:
		p.Errorf("Error: failed to locate the requested firmware file.\n")
		return 1
	case u == nil:
		return answers(p, "Operation not supported")
	}
	psid, component, err := readMFA2(data)
	if err != nil {
		return fail("Firmware file is not MFA2")
	}
	p.Printf("Initializing firmware flash process")
	v := u.View()
	if v.State != card.UpdateIdle { // it throws nobody out
		return fail("Could not lock the firmware FSM")
	}
	if psid != c.Booted().PSID {
		return fail("Could not find device PSID in MFA2 file")
	}
	return driverSends(ctx, p, u, v.Handle, component, fail)
}

func driverSends(ctx context.Context, p *labsim.Proc, u *card.Update, handle uint32, component []byte,
	fail func(string) int) int {
	do := func(what card.Instruction, size int) bool {
		status, err := u.Do(what, card.OwnerDriver, handle, uint32(size))
		return status == card.AccessDone && err == nil && u.View().Refusal == card.RefusalNone
	}
	why := func() int {
		text := driverRefusals[u.View().Refusal]
		if text == "" {
			text = "general error"
		}
		u.Do(card.InstructionCancel, card.OwnerDriver, handle, 0)  //nolint:errcheck // the update has failed already
		u.Do(card.InstructionRelease, card.OwnerDriver, handle, 0) //nolint:errcheck // as above
		return fail(text)
	}
	if !do(card.InstructionLock, 0) {
		return fail("Could not lock the firmware FSM")
	}
	p.Printf("\n[1] Updating component")
	if !do(card.InstructionUpdate, len(component)) {
		return why()
	}
	for u.View().State == card.UpdateInitialize {
	}
	p.Printf("\n[1] Downloading component")
	for at := 0; at < len(component); at += 128 {
		if u.Send(handle, uint32(at), component[at:min(at+128, len(component))]) != card.AccessDone {
			return why()
		}
	}
	p.Printf("\n[1] Verifying component")
	if !do(card.InstructionVerify, 0) {
		return why()
	}
	p.Printf("\nActivating image")
	if !do(card.InstructionActivate, 0) {
		return why()
	}
	do(card.InstructionRelease, 0)
	p.Printf("\nFirmware flash done\n")
	return labsim.SignalStatus(ctx)
}

var errNoMFA2 = errors.New("no MFA2 package")

// readMFA2 takes the one image out of a package, as the kernel does: descriptors first, and the block where the first
// of them says. Only what a package for one board needs is known.
func readMFA2(data []byte) (psid string, component []byte, err error) {
	const head = "MLNX.MFA2.XZ.00!"
	if !bytes.HasPrefix(data, []byte(head)) {
		return "", nil, errNoMFA2
	}
	var at, packed, size, begin, length uint32
	for rest := data[len(head):]; len(rest) >= 4 && rest[0] == 0 && (at == 0 || uint32(len(data)-len(rest)) < at); {
		n := int(binary.BigEndian.Uint16(rest[2:]))
		filled := (n + 3) &^ 3
		if len(rest) < 4+filled {
			return "", nil, errNoMFA2
		}
		body := rest[4 : 4+n]
		switch {
		case rest[1] == 0x02 && n == 28:
			at, packed, size = be(body, 4), be(body, 8), be(body, 16)
		case rest[1] == 0x04 && n == 16:
			begin, length = be(body, 8), be(body, 12)
			if binary.BigEndian.Uint16(body[2:]) != 1 { // the driver takes the identifier for the index
				return "", nil, errNoMFA2
			}
		case rest[1] == 0x2a:
			psid = string(body)
		case rest[1] != 0x01 && rest[1] != 0x22:
			return "", nil, errNoMFA2
		}
		rest = rest[4+filled:]
	}
	if uint64(at)+uint64(packed) != uint64(len(data)) {
		return "", nil, errNoMFA2
	}
	component, err = unpack(data[at:], size, begin, length)
	return psid, component, err
}

// unpack gives the image in a block of components, of which size bytes are to be there. What a package calls the begin
// of a component is that of a magic before its length bytes (mlxfw_mfa2_file_component_get).
func unpack(packed []byte, size, begin, length uint32) ([]byte, error) {
	const magic = "#BIN.COMPONENT!#"
	r, err := xz.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(r)
	if err != nil || len(content) != int(size) || uint64(begin)+uint64(len(magic))+uint64(length) > uint64(len(content)) {
		return nil, errNoMFA2
	}
	component, found := bytes.CutPrefix(content[begin:], []byte(magic))
	if !found {
		return nil, errNoMFA2
	}
	return component[:length], nil
}

func be(b []byte, at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
