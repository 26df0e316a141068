package infiniband

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// mtuCodes are the MTU codes of partitions.conf; another number is not
// realizable and leaves the partition without a broadcast group.
var mtuCodes = map[string]int{"1": 256, "2": 512, "3": 1024, "4": 2048, "5": 4096}

const defaultPartition = 0x7fff

// partitionFile is what opensm makes of a partition file; nil of one that is
// not there or has an error.
type partitionFile []labsim.Partition

// readPartitions reads a partitions.conf as opensm 3.3.23 does: a file in error
// is dropped whole.
func (s *state) readPartitions(file string, say func(string)) partitionFile {
	data, err := s.m.FS.ReadFile(file)
	if err != nil {
		return nil
	}
	var list partitionFile
	line := 1
	for _, def := range definitions(string(data)) {
		p, problem := readPartition(def.text)
		if problem != "" {
			say(fmt.Sprintf("PARSE ERROR: line %d: %s", line+def.line, problem))
			say("Partition configuration in error; retrying with default config")
			return nil
		}
		if p.MTU < 0 {
			say("osm_prtn_add_mcgroup: Failed to create MC group with pkey " + fmt.Sprintf("0x%04x", p.Key|0x8000))
			p.MTU = 0
		}
		list = list.merge(p)
	}
	if !slices.ContainsFunc(list, func(p labsim.Partition) bool { return p.Key == defaultPartition }) {
		// Without a rule of its own every port is a limited member but the SM's.
		list = list.merge(labsim.Partition{Key: defaultPartition,
			Members: []labsim.PartitionMember{{Word: "ALL"}, {Word: "SELF", Full: true}}})
	}
	return list
}

// merge adds a definition; one of a known P_Key adds its members to the first.
func (f partitionFile) merge(p labsim.Partition) partitionFile {
	for i := range f {
		if f[i].Key == p.Key {
			f[i].Members = append(f[i].Members, p.Members...)
			if f[i].MTU == 0 {
				f[i].MTU, f[i].Rate = p.MTU, p.Rate
			}
			return f
		}
	}
	return append(f, p)
}

// give has a subnet manager work with the file.
func (f partitionFile) give(sm *labsim.SM) {
	sm.GroupMTU, sm.PKeys, sm.Partitions = 2048, map[uint16]int{}, nil
	if f == nil {
		return
	}
	sm.GroupMTU, sm.Partitions = 0, f
	for _, p := range f {
		if p.Key == defaultPartition {
			sm.GroupMTU = p.MTU
		} else {
			sm.PKeys[p.Key] = p.MTU
		}
	}
}

// keepGroups leaves groups that exist as they are: a running opensm changes
// memberships, not groups.
func (f partitionFile) keepGroups(present []labsim.Partition) partitionFile {
	for i := range f {
		for _, g := range present {
			if g.Key == f[i].Key {
				f[i].MTU, f[i].Rate = g.MTU, g.Rate
			}
		}
	}
	return f
}

type definition struct {
	text string
	line int // lines before it
}

func definitions(body string) []definition {
	var clean strings.Builder
	for _, line := range strings.Split(body, "\n") {
		line, _, _ = strings.Cut(line, "#")
		clean.WriteString(line + "\n")
	}
	var out []definition
	lines := 0
	for _, def := range strings.Split(clean.String(), ";") {
		lead := len(def) - len(strings.TrimLeft(def, " \t\n"))
		if text := strings.TrimSpace(def); text != "" {
			out = append(out, definition{text, lines + strings.Count(def[:lead], "\n")})
		}
		lines += strings.Count(def, "\n")
	}
	return out
}

func readPartition(text string) (p labsim.Partition, problem string) {
	head, members, ok := strings.Cut(text, ":")
	if !ok {
		return p, "no partition definition found"
	}
	words := strings.Split(head, ",")
	name, number, hasKey := strings.Cut(words[0], "=")
	key, err := strconv.ParseUint(strings.TrimSpace(number), 0, 16)
	p.Key, p.Rate = uint16(key)&defaultPartition, 3
	switch {
	case hasKey && err != nil:
		return p, "bad partition definition"
	case !hasKey && strings.TrimSpace(name) == "Default":
		p.Key = defaultPartition
	case !hasKey:
		return p, "the lab wants a P_Key for each partition"
	}
	full := false
	mtu := 2048
	for _, word := range words[1:] {
		flag, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		switch flag {
		case "ipoib":
			p.MTU = mtu
		case "mtu":
			mtu = -1
			if n, ok := mtuCodes[value]; ok {
				mtu = n
			}
		case "rate":
			p.Rate, _ = strconv.Atoi(value)
		case "defmember":
			full = value == "full"
		}
	}
	if p.MTU != 0 {
		p.MTU = mtu
	}
	groups := 0
	for _, line := range strings.Split(members, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "mgid=") { // groups of its own
			members = strings.Replace(members, line, "", 1)
			groups++
		}
	}
	if groups > 0 && strings.TrimSpace(members) == "" {
		return p, ""
	}
	p.Members, problem = readMembers(members, full)
	return p, problem
}

func readMembers(text string, standard bool) (members []labsim.PartitionMember, problem string) {
	for _, word := range strings.Split(text, ",") {
		port, kind, assigned := strings.Cut(strings.TrimSpace(word), "=")
		if port == "" {
			continue
		}
		m := labsim.PartitionMember{Full: standard}
		if assigned {
			// Without allow_both_pkeys "both" is the full key alone.
			m.Full = kind == "full" || kind == "both"
		}
		switch port {
		case "ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF":
			m.Word = port
		default:
			g, err := strconv.ParseUint(port, 0, 64)
			if err != nil {
				return nil, "bad PortGUID"
			}
			m.GUID = g
		}
		members = append(members, m)
	}
	if len(members) == 0 {
		return nil, "bad partition definition"
	}
	return members, ""
}
