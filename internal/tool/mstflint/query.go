package mstflint

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Image is what "mstflint q" prints about a flash or an image file. Fields that
// the tool did not print are zero.
type Image struct {
	Type           string // "FS2", "FS3", "FS4", "FS5"
	FW             ib.FWVersion
	RunningFW      ib.FWVersion // zero unless the card runs another version than its flash holds
	ReleaseDate    string       // day.month.year as printed, "5.9.2017"
	ProductVersion string       // as printed: "02.42.50.00", "rel-14_18_2030"
	ROMs           []ROM
	DeviceID       uint16 // PCI device id that the image is for; FS2 only
	PSID           ib.PSID
	OrigPSID       ib.PSID // PSID at manufacturing, FS3 and later, only if it differs
	SecurityAttrs  string  // "N/A", "secure-fw", …; FS3 and later
	UpdateMethod   string  // "fw_ctrl" or "Legacy"; FS3 and later, full query

	// FS2 (ConnectX-3): the identity, and whether it was never set.
	GUIDs      ib.GUIDSet
	BlankGUIDs bool
	VSD        string

	// FS3 and later: the base of the identity.
	BaseGUID            ib.GUID
	BaseMAC             ib.MAC
	GUIDCount, MACCount int
	DeviceVSD           string
	OrigBaseGUID        ib.GUID
	OrigBaseMAC         ib.MAC
	Warnings            []string // "-W-" lines, without the mark
	OtherVendor         bool     // PSID and VSD are withheld: the image is not of the chip's vendor

	seen    map[string]bool // labels read so far
	lastKey string
}

// ROM is an expansion ROM inside an image.
type ROM struct {
	Type    string // "PXE", "UEFI", "CLP"
	Version string
	CPU     string
}

// String gives the ROM as the tool prints it.
func (r ROM) String() string {
	s := "type=" + r.Type + " version=" + r.Version
	if r.CPU != "" {
		s += " cpu=" + r.CPU
	}
	return s
}

// keyLine is "Key:   value". The label column has been 21 and 23 wide and
// publishers of captures collapse blanks, so columns mean nothing.
var keyLine = regexp.MustCompile(`^([^:]+):\s*(.*?)\s*$`)

// ParseQuery reads the output of Query and QueryImage. Unknown lines are
// ignored: tools from 4.29 on end an FS2 query with lines made of
// uninitialized memory. A known line with an unreadable value, a repeated one,
// and a missing image type, version or identity are errors; the first two are
// *tool.LineError.
func ParseQuery(output string) (Image, error) {
	img := Image{seen: map[string]bool{}}
	for n, line := range tool.Lines(output) {
		if err := img.line(n, line); err != nil {
			return Image{}, err
		}
	}
	return img, img.complete()
}

// ThroughFirmware reports whether the running firmware answered Way. A query cannot tell: on the
// direct way it prints the update method that the image in flash names (4.21).
func ThroughFirmware(output string) bool {
	for _, line := range tool.Lines(output) {
		if kind, is := strings.CutPrefix(line, "Image type:"); is {
			return strings.TrimSpace(kind) == "FSCTRL"
		}
	}
	return false
}

func (img *Image) line(n int, line string) error {
	text := strings.TrimSpace(line)
	switch {
	case text == "":
		return nil
	case strings.Contains(text, "-E- "):
		return tool.Errorf(n, text, "the tool reports an error")
	case strings.HasPrefix(text, "-W- "):
		img.warning(strings.TrimPrefix(text, "-W- "))
		return nil
	// Its lines have the same labels and tell of all cards.
	case strings.HasPrefix(text, "Device #"), strings.HasPrefix(text, "Querying Mellanox devices"):
		return tool.Errorf(n, text, "this is the list of mlxfwmanager, not a query of mstflint")
	case img.lastKey == "Rom Info" && isROM(text):
		// Further ROMs stand alone below the first, indented.
		return img.addROM(text, n)
	}
	m := keyLine.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	return img.pair(n, text, strings.TrimSpace(m[1]), m[2])
}

// pair reads a label with its value.
func (img *Image) pair(n int, text, key, value string) error {
	img.lastKey = key
	parse, known := queryKeys[key]
	if !known {
		return nil
	}
	if img.seen[key] {
		return tool.Errorf(n, text, "second line %q", key)
	}
	img.seen[key] = true
	if key == "Rom Info" {
		if value == notAvailable {
			return nil
		}
		return img.addROM(value, n)
	}
	if err := parse(img, value); err != nil {
		return tool.Errorf(n, text, "%v", err)
	}
	return nil
}

// queryKeys are the labels that are read, each once.
var queryKeys = map[string]func(*Image, string) error{
	"Image type":            parseType,
	"FW Version":            func(i *Image, v string) error { return setVersion(&i.FW, v) },
	"FW Version(Running)":   parseRunning,
	"FW Release Date":       func(i *Image, v string) error { i.ReleaseDate = v; return nil },
	"Product Version":       func(i *Image, v string) error { i.ProductVersion = v; return nil },
	"Rom Info":              nil, // its lines go on below it
	"Device ID":             parseDeviceID,
	"GUIDs":                 parseGUIDs,
	"MACs":                  parseMACs,
	"VSD":                   func(i *Image, v string) error { i.VSD = v; return nil },
	"Device VSD":            func(i *Image, v string) error { i.DeviceVSD = v; return nil },
	"PSID":                  func(i *Image, v string) error { return setPSID(&i.PSID, v) },
	"Orig PSID":             func(i *Image, v string) error { return setPSID(&i.OrigPSID, v) },
	"Security Attributes":   func(i *Image, v string) error { i.SecurityAttrs = v; return nil },
	"Default Update Method": func(i *Image, v string) error { i.UpdateMethod = v; return nil },
	"Base GUID":             func(i *Image, v string) error { return setBaseGUID(&i.BaseGUID, &i.GUIDCount, v) },
	"Base MAC":              func(i *Image, v string) error { return setBaseMAC(&i.BaseMAC, &i.MACCount, v) },
	"Orig Base GUID":        func(i *Image, v string) error { return setBaseGUID(&i.OrigBaseGUID, nil, v) },
	"Orig Base MAC":         func(i *Image, v string) error { return setBaseMAC(&i.OrigBaseMAC, nil, v) },
}

func (img *Image) complete() error {
	switch {
	case !img.seen["Image type"]:
		return errors.New(`no line "Image type": this is not the output of a query`)
	case !img.seen["FW Version"]:
		return errors.New(`no line "FW Version"`)
	case img.Type == "FS2" && (!img.seen["GUIDs"] || !img.seen["MACs"]):
		return errors.New(`no lines "GUIDs" and "MACs" in a query of an FS2 image`)
	case img.Type != "FS2" && (!img.seen["Base GUID"] || !img.seen["Base MAC"]):
		return fmt.Errorf(`no lines "Base GUID" and "Base MAC" in a query of an %s image`, img.Type)
	case !img.seen["PSID"] && !img.OtherVendor:
		return errors.New(`no line "PSID", and no word on why`)
	}
	return nil
}

func (img *Image) warning(text string) {
	img.Warnings = append(img.Warnings, text)
	if strings.HasPrefix(text, "GUIDs/MACs values and their CRC are not set") {
		img.BlankGUIDs = true
	}
	if strings.HasPrefix(text, "Not a Mellanox FW image") {
		img.OtherVendor = true
	}
}

func parseType(img *Image, value string) error {
	switch value {
	case "FS2", "FS3", "FS4", "FS5":
		img.Type = value
		return nil
	}
	// FSCTRL, which Way gives, is the way to a flash and not what is in it.
	return errors.New("want image type FS2, FS3, FS4 or FS5")
}

func setVersion(to *ib.FWVersion, value string) error {
	v, err := ib.ParseFWVersion(value)
	if err != nil {
		return err
	}
	*to = v
	return nil
}

// notAvailable is what the tool prints for what it does not know.
const notAvailable = "N/A"

func parseRunning(img *Image, value string) error {
	if value == notAvailable {
		return nil
	}
	return setVersion(&img.RunningFW, value)
}

func setPSID(to *ib.PSID, value string) error {
	if value == "" || value == notAvailable {
		return nil
	}
	p, err := ib.ParsePSID(value)
	if err != nil {
		return err
	}
	*to = p
	return nil
}

func parseDeviceID(img *Image, value string) error {
	v, err := strconv.ParseUint(value, 10, 16)
	if err != nil {
		return errors.New("want a decimal PCI device id below 65536")
	}
	img.DeviceID = uint16(v)
	return nil
}

// romField is one "name=value" of a ROM line.
var romField = regexp.MustCompile(`(\w+)=(\S+)`)

func isROM(text string) bool {
	return strings.HasPrefix(text, "type=") || strings.HasPrefix(text, "version_id=")
}

func (img *Image) addROM(text string, n int) error {
	var rom ROM
	for _, m := range romField.FindAllStringSubmatch(text, -1) {
		switch m[1] {
		case "type":
			rom.Type = m[2]
		case "version", "version_id":
			rom.Version = m[2]
		case "cpu":
			rom.CPU = m[2]
		}
	}
	if rom.Type == "" {
		return tool.Errorf(n, text, `want "type=… version=…"`)
	}
	img.ROMs = append(img.ROMs, rom)
	return nil
}
