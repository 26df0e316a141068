package collect

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
)

// Answer is the script's output, taken apart but not interpreted.
type Answer struct {
	UID              int
	Values           map[string]Value  // first line of small files, by path
	Denied           map[string]bool   // files that are there and could not be read
	Directories      map[string]bool   // those in places where a configuration file would be
	Files            map[string]string // whole text files, by path
	Runs             map[string]Run    // what commands printed, by name
	Commands         map[string]bool   // those that were looked for
	Modules          map[string]bool
	Kernel           bool     // the modules of the running kernel are installed
	Rules            []string // paths of all files in /etc/udev/rules.d; Files has those that matter here
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
	// Physical is the address of the function that a virtual one is of; empty if that is not
	// known.
	Physical string
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
	Hidden  string   // why they could not be seen (hidepid of /proc); such a job is not taken for ended
}

// reader walks through the answer.
type reader struct {
	answer *Answer
	device *Device
}

// Parse takes an answer apart.
func Parse(output string) (*Answer, error) {
	r := &reader{answer: &Answer{
		Values: map[string]Value{}, Denied: map[string]bool{}, Directories: map[string]bool{},
		Files: map[string]string{}, Runs: map[string]Run{},
		Commands: map[string]bool{}, Modules: map[string]bool{}, Netdevs: map[string]string{}, UID: -1,
	}}
	if err := answer.Read(output, r.take); err != nil {
		return nil, err
	}
	return r.answer, nil
}

func (r *reader) take(i answer.Item) error {
	switch i.Word {
	case answer.Value:
		r.answer.Values[i.Name] = Value{Text: i.Text, Line: i.Line}
	case answer.Denied:
		r.answer.Denied[i.Name] = true
	case answer.File:
		// Before it is kept: what a host says of itself is bounded here once, for all parsers.
		if cost := excess(i.Text); cost != "" {
			return i.Errorf("%s %s", i.Name, cost)
		}
		r.answer.Files[i.Name] = i.Text
	case answer.Run:
		r.answer.Runs[i.Name] = Run{Status: i.Status, Output: i.Text, Line: i.Line}
	default:
		return r.fact(i)
	}
	return nil
}

// No file of a configuration is larger than mostBytes, or nests deeper than mostNested: parsers of
// YAML take the square of the depth, and each object of a host reads its files.
const (
	mostBytes  = 1 << 20
	mostNested = 1000
)

// excess says why a file costs too much to be read; empty if it does not.
func excess(text string) string {
	if len(text) > mostBytes {
		return fmt.Sprintf("has %d bytes; at most %d are read", len(text), mostBytes)
	}
	open := 0
	for line := range strings.Lines(text) {
		items, rest := 0, strings.TrimLeft(line, " ")
		for ; strings.HasPrefix(rest, "- "); items++ {
			rest = strings.TrimLeft(rest[1:], " ")
		}
		// Brackets in strings count too. That errs on the safe side, and no configuration has a thousand.
		for _, c := range rest {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(open-1, 0)
			}
			if items+open > mostNested {
				return fmt.Sprintf("nests more than %d brackets or items; such a file is not read", mostNested)
			}
		}
	}
	return ""
}

func (r *reader) fact(i answer.Item) error {
	switch i.Word {
	case "kernel-installed":
		r.answer.Kernel = true
	case "uid":
		return r.uid(i)
	case "users", "user":
		return r.users(i)
	case "ssh":
		r.answer.Client, r.answer.Server, _ = strings.Cut(i.Name, " ")
	case "command", "absent":
		r.answer.Commands[i.Name] = i.Word == "command"
	case "module":
		r.answer.Modules[i.Name] = true
	case "directory":
		r.answer.Directories[i.Name] = true
	case "rule", "late", "no-disk", "saved":
		list := map[string]*[]string{
			"rule":    &r.answer.Rules,
			"saved":   &r.answer.Saved,
			"late":    &r.answer.StaleInInitramfs,
			"no-disk": &r.answer.NoDisk,
		}[i.Word]
		*list = append(*list, i.Name)
	default:
		return r.object(i)
	}
	return nil
}

// users reads who uses the cards. Each tool that is run gives one such look; a user
// that any of them saw counts.
func (r *reader) users(i answer.Item) error {
	if i.Word == "users" {
		if i.Name != "" {
			r.answer.UsersWhy = i.Name
		}
		return nil
	}
	u, err := cardusers.ParseUser(i.Name)
	if err != nil {
		return i.Errorf("%v", err)
	}
	if !slices.Contains(r.answer.Users, u) {
		r.answer.Users = append(r.answer.Users, u)
	}
	return nil
}

func (r *reader) uid(i answer.Item) error {
	uid, err := strconv.Atoi(i.Name)
	if err != nil {
		return i.Errorf("want a number")
	}
	r.answer.UID = uid
	return nil
}

// object reads a line about a device, an interface or a job.
func (r *reader) object(i answer.Item) error {
	id, value, _ := strings.Cut(i.Name, " ")
	switch i.Word {
	case "pci":
		r.answer.Devices = append(r.answer.Devices, Device{Address: id})
		r.device = &r.answer.Devices[len(r.answer.Devices)-1]
		return nil
	case "net":
		r.answer.Netdevs[value] = id
		return nil
	case "route6":
		return r.route6(i, id, value)
	case "via", "networkd", "nm", "undo":
		return r.network(i, id, value)
	case "job":
		r.answer.Jobs = append(r.answer.Jobs, Job{ID: id})
		return nil
	case "settled", "process", "hidden":
		if last := len(r.answer.Jobs) - 1; last >= 0 && r.answer.Jobs[last].ID == id {
			r.answer.Jobs[last].set(i.Word, value)
			return nil
		}
	case "driver", "rdma", "virtual":
		// The address is repeated on each line, so that lines of two devices that an odd host mixes are an
		// error, not facts of the wrong card.
		if r.device != nil && r.device.Address == id {
			r.device.set(i.Word, value)
			return nil
		}
	}
	return i.Errorf("a fact that has no place here")
}

func (r *reader) route6(i answer.Item, dev, gateway string) error {
	// The kernel's ipv6_route has 32 digits without colons.
	b, err := hex.DecodeString(gateway)
	if err != nil || len(b) != 16 {
		return i.Errorf("want an interface and a gateway of 32 hexadecimal digits")
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
		d.Virtual, d.Physical = true, value
	}
}
