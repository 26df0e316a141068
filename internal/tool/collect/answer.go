package collect

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
)

// Answer is the script's output, taken apart but not interpreted.
type Answer struct {
	UID              int
	Values           map[string]Value  // first line of small files, by path
	Denied           map[string]bool   // files that are there and could not be read
	Files            map[string]string // whole text files, by path
	Runs             map[string]Run    // what commands printed, by name
	Commands         map[string]bool   // those that were looked for
	Modules          map[string]bool
	Kernel           bool     // the modules of the running kernel are installed
	Rules            []string // paths of all files in /etc/udev/rules.d
	StaleInInitramfs []string // files that are newer than the initial RAM disk, which has copies of them
	NoDisk           []string // files that the initial RAM disk may have copies of, where no such disk was found
	Devices          []Device // PCI functions of makers of InfiniBand cards, as listed by the kernel
	Netdevs          map[string]string
	Jobs             []Job
	Client           string // address of the SSH client; empty if unknown
	Server           string // address of the host that the client has connected to; empty if unknown
	Routes6          []Route6
	// Users are the programs of others that were seen at a card; UsersWhy says why they
	// could not be seen, and is empty if they could.
	Users    []inventory.CardUser
	UsersWhy string
	Network
}

// Value is one line of a file.
type Value struct {
	Text string
	Line int // of the answer, for messages
}

// Run is what one command printed, on both streams.
type Run struct {
	Status int
	Output string
	Line   int // of the answer on which it begins
}

// Device is a PCI function.
type Device struct {
	Address string
	Driver  string
	RDMA    string
	Virtual bool
}

// Route6 is a default route of IPv6 as the kernel's table has it.
type Route6 struct {
	Dev     string
	Gateway netip.Addr // unspecified if the link itself is the way
}

// Job is a job directory.
type Job struct {
	ID      string
	Settled bool
	PIDs    []string // its processes, if it has not ended
	Hidden  string   // why they could not be seen
}

// reader walks through the answer.
type reader struct {
	answer *Answer
	device *Device
	ended  bool

	section string // "file" or "run"; empty outside of sections
	name    string
	run     Run
	text    strings.Builder
}

// Parse takes an answer apart. An answer without its beginning, without its
// end, and a line that has no place in it are errors.
func Parse(output string) (*Answer, error) {
	r := &reader{answer: &Answer{
		Values: map[string]Value{}, Denied: map[string]bool{}, Files: map[string]string{}, Runs: map[string]Run{},
		Commands: map[string]bool{}, Modules: map[string]bool{}, Netdevs: map[string]string{}, UID: -1,
	}}
	begun := false
	for n, line := range tool.Lines(output) {
		if !begun {
			if line != "@begin 1" {
				return nil, tool.Errorf(n, line, `want "@begin 1"`)
			}
			begun = true
			continue
		}
		if r.ended {
			return nil, tool.Errorf(n, line, "a line behind the end")
		}
		if err := r.line(n, line); err != nil {
			return nil, err
		}
	}
	if !r.ended {
		return nil, errors.New("the answer is cut: it has no end mark")
	}
	return r.answer, nil
}

func (r *reader) line(n int, line string) error {
	if r.section != "" {
		return r.content(n, line)
	}
	if line == "" {
		return tool.Errorf(n, line, "an empty line outside of a section")
	}
	rest := line[1:]
	switch line[0] {
	case '=':
		path, value, ok := strings.Cut(rest, "\t")
		if !ok {
			return tool.Errorf(n, line, "a value without its path")
		}
		r.answer.Values[path] = Value{Text: value, Line: n}
		return nil
	case '!':
		r.answer.Denied[rest] = true
		return nil
	case '@':
		word, args, _ := strings.Cut(rest, " ")
		return r.fact(n, line, word, args)
	}
	return tool.Errorf(n, line, "a line that has no place here")
}

// content reads a line of a section or its end.
func (r *reader) content(n int, line string) error {
	if text, ok := strings.CutPrefix(line, "|"); ok {
		r.text.WriteString(text + "\n")
		return nil
	}
	if line != "@." && line != "@.+" {
		return tool.Errorf(n, line, "a line that does not belong to section %q", r.name)
	}
	text := r.text.String()
	if line == "@.+" {
		text = strings.TrimSuffix(text, "\n")
	}
	if r.section == "file" {
		r.answer.Files[r.name] = text
	} else {
		r.run.Output = text
		r.answer.Runs[r.name] = r.run
	}
	r.section = ""
	r.text.Reset()
	return nil
}

// fact reads a line that begins with "@".
func (r *reader) fact(n int, line, word, args string) error {
	switch word {
	case "end":
		r.ended = true
	case "file":
		r.section, r.name = word, args
	case "run":
		return r.begin(n, line, args)
	case "kernel-installed":
		r.answer.Kernel = true
	case "uid":
		return r.uid(n, line, args)
	case "users", "user":
		return r.users(n, line, word, args)
	case "ssh":
		r.answer.Client, r.answer.Server, _ = strings.Cut(args, " ")
	case "command", "absent":
		r.answer.Commands[args] = word == "command"
	case "module":
		r.answer.Modules[args] = true
	case "rule", "late", "no-disk", "saved":
		list := map[string]*[]string{
			"rule":    &r.answer.Rules,
			"saved":   &r.answer.Saved,
			"late":    &r.answer.StaleInInitramfs,
			"no-disk": &r.answer.NoDisk,
		}[word]
		*list = append(*list, args)
	default:
		return r.object(n, line, word, args)
	}
	return nil
}

// users reads who uses the cards. Each tool that is run gives one such look; a user
// that any of them saw counts.
func (r *reader) users(n int, line, word, args string) error {
	if word == "users" {
		if args != "" {
			r.answer.UsersWhy = args
		}
		return nil
	}
	u, err := cardusers.ParseUser(args)
	if err != nil {
		return tool.Errorf(n, line, "%v", err)
	}
	if !slices.Contains(r.answer.Users, u) {
		r.answer.Users = append(r.answer.Users, u)
	}
	return nil
}

func (r *reader) uid(n int, line, text string) error {
	uid, err := strconv.Atoi(text)
	if err != nil {
		return tool.Errorf(n, line, "want a number")
	}
	r.answer.UID = uid
	return nil
}

// object reads a line about a device, an interface or a job.
func (r *reader) object(n int, line, word, args string) error {
	id, value, _ := strings.Cut(args, " ")
	switch word {
	case "pci":
		r.answer.Devices = append(r.answer.Devices, Device{Address: id})
		r.device = &r.answer.Devices[len(r.answer.Devices)-1]
		return nil
	case "net":
		r.answer.Netdevs[value] = id
		return nil
	case "route6":
		return r.route6(n, line, id, value)
	case "via", "networkd", "nm", "undo", "cloud":
		return r.network(n, line, word, id, value)
	case "job":
		r.answer.Jobs = append(r.answer.Jobs, Job{ID: id})
		return nil
	case "settled", "process", "hidden":
		if last := len(r.answer.Jobs) - 1; last >= 0 && r.answer.Jobs[last].ID == id {
			r.answer.Jobs[last].set(word, value)
			return nil
		}
	case "driver", "rdma", "virtual":
		if r.device != nil && r.device.Address == id {
			r.device.set(word, value)
			return nil
		}
	}
	return tool.Errorf(n, line, "a fact that has no place here")
}

func (r *reader) route6(n int, line, dev, gateway string) error {
	b, err := hex.DecodeString(gateway)
	if err != nil || len(b) != 16 {
		return tool.Errorf(n, line, "want an interface and a gateway of 32 hexadecimal digits")
	}
	r.answer.Routes6 = append(r.answer.Routes6, Route6{Dev: dev, Gateway: netip.AddrFrom16([16]byte(b))})
	return nil
}

func (j *Job) set(word, value string) {
	switch word {
	case "settled":
		j.Settled = true
	case "process":
		j.PIDs = append(j.PIDs, value)
	case "hidden":
		j.Hidden = value
	}
}

func (d *Device) set(word, value string) {
	switch word {
	case "driver":
		d.Driver = value
	case "rdma":
		d.RDMA = value
	case "virtual":
		d.Virtual = true
	}
}

func (r *reader) begin(n int, line, args string) error {
	status, name, ok := strings.Cut(args, "\t")
	code, err := strconv.Atoi(status)
	if !ok || err != nil {
		return tool.Errorf(n, line, "want a status and a name")
	}
	r.section, r.name, r.run = "run", name, Run{Status: code, Line: n}
	return nil
}
