package cardprog

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// flintOptions are the options of mstflint 4.21 by long name with the number of
// values each takes. Options that the lab accepts but that would need a part it
// does not model are in flintUnsimulated.
var flintOptions = map[string]int{
	"device": 1, "image": 1, "yes": 0, "no": 0, "guid": 1, "guids": 4, "mac": 1, "macs": 2, "uid": 1, "blank_guids": 0,
	"clear_semaphore": 0, "qq": 0, "flashed_version": 0, "nofs": 0, "override_cache_replacement": 0, "ocr": 0,
	"no_flash_verify": 0, "use_fw": 0, "silent": 0, "vsd": 1, "use_image_ps": 0, "use_image_guids": 0, "use_image_rom": 0,
	"use_dev_rom": 0, "ignore_dev_data": 0, "no_fw_ctrl": 0, "dual_image": 0, "striped_image": 0, "log": 1, "version": 0,
	"allow_psid_change": 0, "help": 0, "allow_rom_change": 0, "low_cpu": 0, "psid": 1, "no_devid_check": 0,
	"skip_ci_req":      0,
	"ignore_crc_check": 0, "use_dev_img_info": 0, "latest_fw": 0,
}

var flintUnsimulated = map[string]bool{
	"use_fw": true, "striped_image": true, "help": true, "psid": true, "latest_fw": true, "no_devid_check": true,
	"ignore_crc_check": true, "use_dev_img_info": true,
}

var flintShort = map[string]string{"d": "device", "i": "image", "y": "yes", "s": "silent", "v": "version", "h": "help"}

// flintCommand describes one command: the name in messages and how many
// parameters it takes.
type flintCommand struct {
	full     string
	min, max int
	device   bool // needs a device
	both     bool // needs device and image
}

var flintCommands = map[string]flintCommand{
	"q": {full: "query", max: 1}, "query": {full: "query", max: 1},
	"v": {full: "verify", max: 1}, "verify": {full: "verify", max: 1},
	"b": {full: "burn", both: true}, "burn": {full: "burn", both: true},
	"ri": {full: "ri", min: 1, max: 1, device: true}, "sg": {full: "sg", max: 2}, "sv": {full: "sv"},
	"checksum": {full: "checksum"}, "cs": {full: "checksum"},
	"hw": {full: "Hw", max: 1, device: true}, "dc": {full: "dc", max: 1}, "dh": {full: "dh", max: 1},
	"clear_semaphore": {full: "clear_semaphore", device: true},
}

// otherCommands are command words of the tool that the lab does not run; they
// still end the options wherever they stand.
var otherCommands = map[string]bool{
	"bb": true, "brom": true, "drom": true, "rrom": true, "ts": true, "e": true, "ww": true, "wwne": true, "wb": true,
	"wbne": true,
	"rw":   true, "rb": true, "swreset": true, "ci": true, "ir": true, "bc": true, "fi": true, "smg": true,
	"set_vpd":   true,
	"reset_cfg": true,
}

// flintCall is a parsed command line.
type flintCall struct {
	options map[string]string
	values  map[string][]string
	word    string
	command flintCommand
	params  []string
}

func (c *flintCall) has(name string) bool { _, ok := c.options[name]; return ok }

// flintUsage is a usage error: text for either stream and whether the synopsis
// follows.
type flintUsage struct {
	out, err string
	synopsis bool
}

// parseFlint follows the tool's parser: the first word of the whole argument vector
// that is a command word counts as the command, an option's value too; options come before the command, one and two
// dashes mean the same, and unambiguous prefixes are accepted.
func parseFlint(argv []string) (*flintCall, *flintUsage) {
	at := -1
	for i := range argv {
		if _, known := flintCommands[argv[i]]; known || otherCommands[argv[i]] {
			at = i
			break
		}
	}
	head := argv
	c := &flintCall{options: map[string]string{}, values: map[string][]string{}}
	if at >= 0 {
		head = argv[:at]
		c.word, c.params = argv[at], argv[at+1:]
		c.command = flintCommands[c.word]
		for _, p := range c.params {
			if strings.HasPrefix(p, "-") {
				return nil, &flintUsage{out: "Specifying options flags after command is not allowed.\n\n", synopsis: true}
			}
		}
	}
	rest, usage := c.parseOptions(head)
	if usage != nil {
		return nil, usage
	}
	switch {
	case c.has("version"), c.has("clear_semaphore"):
		return c, nil
	case len(c.options) == 0:
		return nil, &flintUsage{out: "No options found. \n"}
	case at < 0 && len(rest) > 0:
		return nil, &flintUsage{out: fmt.Sprintf("Invalid command: %s\n", rest[0]), synopsis: true}
	case at < 0:
		return nil, &flintUsage{out: "No command found.\n"}
	}
	return c, nil
}

func (c *flintCall) parseOptions(args []string) (rest []string, usage *flintUsage) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			rest = append(rest, arg)
			continue
		}
		name, value, given := c.lookup(arg)
		if name == "" {
			return nil, &flintUsage{err: fmt.Sprintf("mstflint: unrecognized option `%s'\n", arg), synopsis: true}
		}
		var values []string
		if given {
			values = strings.Split(value, ",")
		}
		for !given && len(values) < flintOptions[name] && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			values, args = append(values, args[0]), args[1:]
		}
		if want := flintOptions[name]; len(values) < want {
			if len(values) == 0 {
				return nil, &flintUsage{err: missingValue(arg), synopsis: true}
			}
			return nil, &flintUsage{out: fmt.Sprintf("Too few arguments. Expected: %d , Received: %d\n-E- Failed to handle "+
				"option %s\n", want, len(values), name)}
		}
		for _, v := range values {
			if isID(name) && !validID(v) {
				return nil, &flintUsage{out: fmt.Sprintf("-E- Invalid Guid/Mac/Uid syntax (%s)  \n-E- Failed to handle option %s\n",
					v, name)}
			}
		}
		c.options[name], c.values[name] = strings.Join(values, ","), values
	}
	return rest, nil
}

// missingValue is getopt's message, which differs for one-letter options.
func missingValue(arg string) string {
	if len(arg) == 2 {
		return "mstflint: option requires an argument -- " + arg[1:] + "\n"
	}
	return fmt.Sprintf("mstflint: option `%s' requires an argument\n", arg)
}

func isID(name string) bool {
	return name == "guid" || name == "guids" || name == "mac" || name == "macs" || name == "uid"
}

func validID(s string) bool {
	_, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X"), 16, 64)
	return err == nil
}

func hexID(s string) uint64 {
	v, _ := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X"), 16, 64)
	return v
}

// lookup resolves an option word to its long name.
func (c *flintCall) lookup(arg string) (name, value string, given bool) {
	word := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	word, value, given = strings.Cut(word, "=")
	if long, ok := flintShort[word]; ok {
		return long, value, given
	}
	if _, ok := flintOptions[word]; ok {
		return word, value, given
	}
	// -d01:00.0 and -iFILE carry the value at once.
	if !strings.HasPrefix(arg, "--") && len(arg) > 2 &&
		(arg[1] == 'd' && strings.Contains(arg, ":") || arg[1] == 'i' && strings.Contains(arg, "/")) {
		return flintShort[arg[1:2]], arg[2:], true
	}
	var matches []string
	for long := range flintOptions {
		if strings.HasPrefix(long, word) {
			matches = append(matches, long)
		}
	}
	sort.Strings(matches)
	if len(matches) == 1 {
		return matches[0], value, given
	}
	return "", "", false
}
