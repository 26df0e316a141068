package opensm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// DefaultPartition is the name of the partition that every port needs to reach
// the subnet manager; its P_Key is DefaultPKey.
const (
	DefaultPartition = "Default"
	DefaultPKey      = 0x7fff
)

// Membership is how a port belongs to a partition.
type Membership string

// The memberships. A limited member reaches full members only.
const (
	Full    Membership = "full"
	Limited Membership = "limited"
	Both    Membership = "both"
)

// Keywords are the members that stand for many ports; "ALL" for all of them.
var Keywords = []string{"ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF"}

// mtuCodes are the codes of InfiniBand MTUs in bytes (IBA 1.3, table 142).
var mtuCodes = map[int]int{256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}

// RateCodes are the codes of rates in tenths of Gb/s (IBA 1.3, PathRecord.Rate).
// Where two codes have one rate, the one of four lanes is meant.
var RateCodes = map[int]int{25: 2, 50: 5, 100: 3, 200: 6, 300: 4, 400: 7, 600: 8, 800: 9, 1200: 10, 140: 11, 560: 12,
	1120: 13, 250: 15, 1000: 16, 2000: 17, 4000: 21}

// Member is one member of a partition.
type Member struct {
	Port       string // "0xe41d2d0300e44ed1" or a keyword
	Membership Membership
}

// Partition is one definition of a partitions.conf.
type Partition struct {
	Name    string
	PKey    uint16 // without the membership bit; 0: opensm picks one
	Index0  bool
	IPoIB   bool // the broadcast group of IPoIB is made before anybody asks
	MTU     int  // of the group, bytes; 0: opensm's 2048
	Rate    int  // of the group, tenths of Gb/s; 0: opensm's 10 Gb/s
	SL      int  // service level; -1: opensm's 0
	Scope   int  // of the group's address; -1: opensm's 2, the link
	QKey    uint32
	Members []Member // sorted
	Groups  bool     // it makes multicast groups of its own, which are not read
}

// Special reports whether the definition has what a resource cannot say of the groups.
func (p Partition) Special() bool { return p.SL > 0 || p.Scope >= 0 || p.QKey != 0 || p.Groups }

// Sort brings the definitions and their members into the order of the file. A member that is
// there twice is there once.
func Sort(all []Partition) {
	slices.SortFunc(all, func(a, b Partition) int {
		// The default partition first, as every example has it.
		if d := cmp.Compare(rank(a.Name), rank(b.Name)); d != 0 {
			return d
		}
		return cmp.Compare(a.Name, b.Name)
	})
	for i := range all {
		slices.SortStableFunc(all[i].Members, func(a, b Member) int {
			return cmp.Or(cmp.Compare(place(a.Port), place(b.Port)), cmp.Compare(a.Port, b.Port))
		})
		all[i].Members = slices.Compact(all[i].Members)
	}
}

// place puts keywords before ports. If two entries mean one port, the later one counts
// (opensm 3.3.23, tried on ibsim), and an entry of its own is meant as the exception.
func place(port string) int {
	if i := slices.Index(Keywords, port); i >= 0 {
		return i
	}
	return len(Keywords)
}

func rank(name string) int {
	if name == DefaultPartition {
		return 0
	}
	return 1
}

// PartitionsText writes a partitions.conf.
func PartitionsText(header string, all []Partition) string {
	var b strings.Builder
	b.WriteString(header)
	for _, p := range all {
		b.WriteString(p.text())
	}
	return b.String()
}

func (p Partition) text() string {
	head := p.Name
	if p.PKey != 0 {
		head += fmt.Sprintf("=0x%04x", p.PKey)
	}
	words := []string{head}
	if p.Index0 {
		words = append(words, "indx0")
	}
	if p.IPoIB {
		words = append(words, "ipoib")
	}
	flag := func(name string, value int, present bool) {
		if present {
			words = append(words, name+"="+strconv.Itoa(value))
		}
	}
	flag("rate", RateCodes[p.Rate], p.Rate != 0)
	flag("mtu", mtuCodes[p.MTU], p.MTU != 0)
	flag("sl", p.SL, p.SL >= 0)
	flag("scope", p.Scope, p.Scope >= 0)
	if p.QKey != 0 {
		words = append(words, fmt.Sprintf("Q_Key=0x%08x", p.QKey))
	}
	members := make([]string, len(p.Members))
	for i, m := range p.Members {
		members[i] = m.Port + "=" + string(m.Membership)
	}
	return strings.Join(words, ", ") + " : " + strings.Join(members, ", ") + " ;\n"
}

// ParsePartitions reads a partitions.conf, ours or another's. If the file has an error,
// opensm drops all of it and makes every port a full member of one partition. So after
// an error here, nothing of the file is in force.
func ParsePartitions(text string) ([]Partition, error) {
	var clean strings.Builder
	for line := range strings.Lines(text) {
		// The lines stay, so that an error has the number of the file's line.
		line, _, _ = strings.Cut(line, "#")
		clean.WriteString(strings.TrimSpace(line) + "\n")
	}
	var all []Partition
	rest := clean.String()
	for line := 1; strings.TrimSpace(rest) != ""; {
		definition, after, ended := strings.Cut(rest, ";")
		line += strings.Count(definition, "\n") - strings.Count(strings.TrimLeft(definition, " \n"), "\n")
		if !ended {
			return nil, fmt.Errorf("line %d: no ';' ends the definition", line)
		}
		p, err := parsePartition(definition)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		all = append(all, p)
		line += strings.Count(strings.TrimLeft(definition, " \n"), "\n")
		rest = after
	}
	Sort(all)
	return all, nil
}

func parsePartition(definition string) (Partition, error) {
	head, members, found := strings.Cut(definition, ":")
	if !found {
		return Partition{}, errors.New("no partition definition found: it has no ':'")
	}
	p := Partition{SL: -1, Scope: -1}
	standard := Limited
	for i, word := range strings.Split(head, ",") {
		key, value, assigned := strings.Cut(word, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		var err error
		switch {
		case i == 0:
			err = p.name(key, value, assigned)
		case key == "defmember":
			standard, err = membership(value)
		default:
			err = p.flag(key, value)
		}
		if err != nil {
			return p, fmt.Errorf("partition %q: %w", p.Name, err)
		}
	}
	return p, p.members(members, standard)
}

func (p *Partition) name(name, key string, assigned bool) error {
	p.Name = name
	if !assigned {
		if name == DefaultPartition {
			p.PKey = DefaultPKey
		}
		return nil
	}
	n, err := strconv.ParseUint(key, 0, 16)
	// The top bit is a membership: 0x8001 and 0x0001 are one partition.
	p.PKey = uint16(n) & DefaultPKey
	if err != nil || p.PKey == 0 {
		return fmt.Errorf("%q is no P_Key", key)
	}
	return nil
}

func (p *Partition) flag(key, value string) error {
	switch key {
	case "indx0":
		p.Index0 = true
		return nil
	case "ipoib":
		p.IPoIB = true
		return nil
	}
	number, err := strconv.ParseUint(value, 0, 32)
	if err != nil {
		return fmt.Errorf("unrecognized partition flag %q %q", key, value)
	}
	switch {
	case key == "mtu":
		p.MTU = decode(mtuCodes, int(number))
		return checkName("mtu", value, p.MTU)
	case key == "rate":
		p.Rate = decode(RateCodes, int(number))
		return checkName("rate", value, p.Rate)
	case key == "sl" && number < 16:
		p.SL = int(number)
	case key == "scope" && number < 16:
		p.Scope = int(number)
	case key == "Q_Key":
		p.QKey = uint32(number)
	default:
		return fmt.Errorf("unrecognized partition flag %q %q", key, value)
	}
	return nil
}

func decode(codes map[int]int, code int) int {
	for value, c := range codes {
		if c == code {
			return value
		}
	}
	return 0
}

func checkName(what, value string, decoded int) error {
	if decoded == 0 {
		return fmt.Errorf("%s code %s is not known", what, value)
	}
	return nil
}

func membership(word string) (Membership, error) {
	switch m := Membership(word); m {
	case Full, Limited, Both:
		return m, nil
	}
	return "", fmt.Errorf("%q is no membership: want full, limited or both", word)
}

func (p *Partition) members(text string, standard Membership) error {
	// A line with a group ends with it, and needs no comma (Fedora's and RHEL's file has some).
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "mgid=") {
			p.Groups = true
			text = strings.Replace(text, line, "\n", 1)
		}
	}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		port, kind, assigned := strings.Cut(word, "=")
		m := Member{Port: strings.TrimSpace(port), Membership: standard}
		var err error
		if assigned {
			m.Membership, err = membership(strings.TrimSpace(kind))
		}
		if err == nil && !slices.Contains(Keywords, m.Port) {
			var g ib.GUID
			g, err = ib.ParseGUID(m.Port)
			m.Port = g.String()
		}
		if err != nil {
			return fmt.Errorf("partition %q: %w", p.Name, err)
		}
		p.Members = append(p.Members, m)
	}
	if len(p.Members) == 0 && !p.Groups {
		return fmt.Errorf("partition %q has no members", p.Name)
	}
	return nil
}

// SameGroups reports whether two files make the same multicast groups. When opensm
// reads the file again, it changes memberships but no existing group (3.3.23, tried on
// ibsim).
func SameGroups(a, b []Partition) bool {
	groups := func(all []Partition) map[uint16]Partition {
		found := map[uint16]Partition{}
		for _, p := range all {
			if p.IPoIB {
				p.Members, p.Name = nil, ""
				found[p.PKey] = p
			}
		}
		return found
	}
	before, after := groups(a), groups(b)
	for key, p := range before {
		// A group that is no longer asked for stays until a restart as well.
		if q, there := after[key]; !there || !same(p, q) {
			return false
		}
	}
	return true
}

func same(a, b Partition) bool {
	return a.Index0 == b.Index0 && a.MTU == b.MTU && a.Rate == b.Rate && a.SL == b.SL && a.Scope == b.Scope &&
		a.QKey == b.QKey
}

// KeysOf are the P_Keys with their membership bit that a port has after these
// definitions, sorted; keywords are those that mean the port too. Of several
// entries for a port the last one counts.
func KeysOf(definitions []Partition, port string, keywords ...string) []uint16 {
	var keys []uint16
	for _, p := range definitions {
		kind := Membership("")
		for _, m := range p.Members {
			if m.Port == port || slices.Contains(keywords, m.Port) {
				kind = m.Membership
			}
		}
		switch kind {
		case Limited:
			keys = append(keys, p.PKey)
		case Full, Both:
			// Without allow_both_pkeys "both" gives the full key alone.
			keys = append(keys, p.PKey|0x8000)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
