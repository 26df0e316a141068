// Package mstflint builds the command lines of mstflint and reads what it
// prints, of the versions 4.6 to 4.36.
//
// It must not run anything and must not decide whether a write is safe. The
// options that remove a safety net of the tool (non-failsafe burns, no
// verification of writes, no device check, VSD or device data from the image,
// clearing the flash semaphore, flash access under running firmware) have no
// way to be asked for here.
package mstflint

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

const program = "mstflint"

// Times are bounds, not expectations. If another program holds the flash semaphore, the
// tool waits about five seconds. Reading 16 MiB of flash through the configuration
// space takes a minute. A burn takes minutes (three are reported for ConnectX-4) and
// must never be cut short.
const (
	queryTimeout = 60 * time.Second
	readTimeout  = 10 * time.Minute
	burnTimeout  = 30 * time.Minute
)

// answerYes is one answer to "Do you want to continue ? (y/n) [n] :". At the
// end of its input the tool takes every further question as refused.
const answerYes = "y\n"

// Query reads the flash of a card; full adds the MIC version and the PRS name.
func Query(pci ib.PCIAddress, full bool) shellcmd.Command {
	return device(pci, append([]string{"q"}, fullWord(full)...)...).WithTimeout(queryTimeout)
}

// Way asks which way the tool takes to the flash, see ThroughFirmware.
func Way(pci ib.PCIAddress) shellcmd.Command {
	return device(pci, "--flashed_version", "q").WithTimeout(queryTimeout)
}

// Verify checks every CRC in the flash of a card.
func Verify(pci ib.PCIAddress) shellcmd.Command {
	return device(pci, "v").WithTimeout(readTimeout)
}

// VerifyImage checks every CRC of an image file on the host.
func VerifyImage(path string) (shellcmd.Command, error) { return image(path, "v") }

// Checksum asks for the digest of the image in flash. GUIDs, MACs, VSD and the CRCs
// over them do not count.
func Checksum(pci ib.PCIAddress) shellcmd.Command {
	return device(pci, "checksum").WithTimeout(readTimeout)
}

// HWQuery asks for hardware id, chip revision and flash part. Only it and "q" give the
// revision without writing.
func HWQuery(pci ib.PCIAddress) shellcmd.Command {
	return device(pci, "hw", "query").WithTimeout(queryTimeout)
}

// ReadImage copies the active image of a card to a file on the host. The tool
// truncates the file before it reads the card, so path must be a new one: an
// earlier backup under that name is lost if the card does not answer.
func ReadImage(pci ib.PCIAddress, path string) (shellcmd.Command, error) {
	if err := checkPath(path); err != nil {
		return shellcmd.Command{}, err
	}
	return device(pci, "ri", path).WithTimeout(readTimeout).Changes(), nil
}

// BurnOptions says what a burn may do beyond replacing firmware by newer
// firmware with the same PSID.
type BurnOptions struct {
	// AllowPSIDChange permits another PSID. The tool still asks.
	AllowPSIDChange bool
	// ImageROM takes the boot ROM of the image, or none if that has none (FS2). Without it the tool puts
	// the ROM of the card into an image without one, and old releases ask.
	ImageROM bool
	// GUIDs, if set, are written with the image, in the same write cycle
	// (ConnectX-3 only; the tool refuses it for later chips). The tool asks.
	GUIDs *ib.GUIDSet
	// Answers is the number of questions that will be answered with yes. The
	// caller derives it from what is known of card and image (see Questions);
	// any question beyond that number ends the run before it writes.
	Answers int
}

// Burn writes an image file on the host into the flash of a card. It never
// passes -y, which would say yes to questions that nobody foresaw.
func Burn(pci ib.PCIAddress, path string, o BurnOptions) (shellcmd.Command, error) {
	if err := checkPath(path); err != nil {
		return shellcmd.Command{}, err
	}
	if o.Answers < 0 {
		return shellcmd.Command{}, fmt.Errorf("invalid number of answers %d", o.Answers)
	}
	var options []string
	if o.AllowPSIDChange {
		options = append(options, "-allow_psid_change")
	}
	if o.ImageROM {
		options = append(options, "-use_image_rom")
	}
	if o.GUIDs != nil {
		guids, err := guidOptions(*o.GUIDs)
		if err != nil {
			return shellcmd.Command{}, err
		}
		options = append(options, guids...)
	}
	// Options come before the command: the tool refuses each that follows it.
	options = append(options, "-i", path, "b")
	return device(pci, options...).
		WithStdin(strings.Repeat(answerYes, o.Answers)).
		WithTimeout(burnTimeout).
		Changes(), nil
}

// SetGUIDs writes the GUIDs and MACs of a ConnectX-3 card, all six at once. If only the
// GUIDs were replaced, the card would keep MACs of another identity, or blank ones. On
// a card that is not blank this burns the present image again into the other half of
// the flash.
func SetGUIDs(pci ib.PCIAddress, guids ib.GUIDSet, answers int) (shellcmd.Command, error) {
	options, err := guidOptions(guids)
	if err != nil {
		return shellcmd.Command{}, err
	}
	if answers < 0 {
		return shellcmd.Command{}, fmt.Errorf("invalid number of answers %d", answers)
	}
	return device(pci, append(options, "sg")...).
		WithStdin(strings.Repeat(answerYes, answers)).
		WithTimeout(burnTimeout).
		Changes(), nil
}

// SetBase writes the GUID and the MAC from which a ConnectX-4 or later counts those of its ports.
// The tool takes no others of such a chip and asks no question. Where firmware writes its own
// flash the tool tells it the two values; past such firmware it wants -ocr, which is not passed.
func SetBase(pci ib.PCIAddress, guid ib.GUID, mac ib.MAC) (shellcmd.Command, error) {
	if guid.IsZero() || mac.IsZero() || mac.IsMulticast() {
		return shellcmd.Command{}, fmt.Errorf("GUID %s and MAC %s: neither may be zero, and the MAC no group address",
			guid, mac)
	}
	return device(pci, "-guid", guid.Hex(), "-mac", mac.Hex(), "sg").WithTimeout(burnTimeout).Changes(), nil
}

// guidOptions spells the set with -guids and -macs, never with -guid: that
// form adds 1, 2 and 3 in 64 bits and wraps without a word. The tool takes
// plain hexadecimal without colons.
func guidOptions(g ib.GUIDSet) ([]string, error) {
	if g.Node.IsZero() || g.Port1.IsZero() || g.SystemImage.IsZero() {
		return nil, errors.New("node, port 1 and system image GUID must not be zero: the tool writes zeros unchecked, and " +
			"the subnet manager ignores such a port")
	}
	if g.MAC1.IsMulticast() || g.MAC2.IsMulticast() {
		return nil, fmt.Errorf("MACs %s and %s: neither may be a group address", g.MAC1, g.MAC2)
	}
	return []string{
		"-guids", g.Node.Hex(), g.Port1.Hex(), g.Port2.Hex(), g.SystemImage.Hex(),
		"-macs", g.MAC1.Hex(), g.MAC2.Hex(),
	}, nil
}

func fullWord(full bool) []string {
	if full {
		return []string{"full"}
	}
	return nil
}

// device gives the full domain:bus:device.function: RDMA names move between
// boots, and names such as lid-5 would reach another machine over the fabric.
func device(pci ib.PCIAddress, rest ...string) shellcmd.Command {
	return shellcmd.New(program, append([]string{"-d", pci.String()}, rest...)...).AsRoot()
}

func image(path string, rest ...string) (shellcmd.Command, error) {
	if err := checkPath(path); err != nil {
		return shellcmd.Command{}, err
	}
	// As root: images are staged where only root reads.
	return shellcmd.New(program, append([]string{"-i", path}, rest...)...).AsRoot().WithTimeout(queryTimeout), nil
}

// checkPath insists on absolute paths: the tool takes any word of its command
// line that equals one of its commands ("b", "q", "cs") as the command.
func checkPath(path string) error {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "\x00\n,") {
		return fmt.Errorf("invalid path %q: want an absolute path without comma and newline", path)
	}
	return nil
}
