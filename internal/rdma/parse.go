package rdma

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

// parts are the items of an answer by their kinds.
type parts struct {
	facts  map[string][]string // what stands behind a fact, by its word
	values map[string]string
	files  map[string]string
	denied map[string]bool
	runs   map[string]answer.Item
}

func parse(output string) (*Facts, error) {
	p := parts{map[string][]string{}, map[string]string{}, map[string]string{}, map[string]bool{},
		map[string]answer.Item{}}
	err := answer.Read(output, func(i answer.Item) error {
		switch i.Word {
		case answer.Value:
			p.values[i.Name] = strings.TrimSpace(i.Text)
		case answer.Denied:
			p.denied[i.Name] = true
		case answer.File:
			p.files[i.Name] = i.Text
		case answer.Run:
			p.runs[i.Name] = i
		default:
			// A word without a name is kept too: that it came is the fact.
			p.facts[i.Word] = append(p.facts[i.Word], i.Name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f := &Facts{Rping: p.facts["rping"] != nil, VRFs: map[string]string{}, Protocols: p.protocols(), Modules: p.modules()}
	p.limits(f)
	f.NFS, f.Port = p.nfs(f.Modules["nfsd"])
	f.Listeners = append(p.iscsi(), append(p.srp(), p.nvmet()...)...)
	f.Unlisted = map[string]string{"target": p.unlisted("target", f.Modules["target_core_mod"]),
		"nvmet": p.unlisted("nvmet", f.Modules["nvmet"])}
	for _, words := range p.facts["vrf"] {
		netdev, vrf, _ := strings.Cut(words, " ")
		f.VRFs[netdev] = vrf
	}
	return f, p.devices(f)
}

func (p parts) limits(f *Facts) {
	f.Root = slices.Contains(p.facts["uid"], "0")
	// POSIX has no ulimit -l. dash, bash and busybox have it; a /bin/sh without it prints nothing.
	f.Memlock = fact.Unknown[string]("its shell has no ulimit -l")
	for _, text := range p.facts["memlock"] {
		if _, err := strconv.Atoi(text); err == nil || text == Unlimited {
			f.Memlock = fact.Known(text)
		}
	}
	for _, words := range p.facts["limit"] {
		w := strings.Fields(words)
		// A program gets the soft limit; "-" is both.
		if len(w) == 3 && w[0] != "root" && w[1] != "hard" && slices.Contains([]string{Unlimited, "infinity", "-1"}, w[2]) {
			f.Raised = true
		}
	}
}

// modules says of each module that matters whether the kernel has it.
// One that is built in has a directory in /sys/module only if it has parameters, so that the list of
// built-in modules has to say the rest.
func (p parts) modules() map[string]fact.Bool {
	missing := fact.Known(false)
	list, asked := p.runs["builtin"]
	switch {
	case p.facts["modules"] == nil:
		missing = fact.Unknown[bool]("/sys/module is not there")
	// Status 1 of grep is an answer: none of them is built in.
	case !asked || list.Status > 1:
		missing = fact.Unknown[bool]("it may be built into the kernel, whose modules.builtin could not be read")
	}
	all := map[string]fact.Bool{}
	for _, name := range []string{"ib_uverbs", "rdma_cm", "rdma_ucm", "rpcrdma", "nfsd", "target_core_mod", "nvmet",
		"nvidia_peermem"} {
		all[name] = missing
	}
	for _, line := range tool.Lines(list.Text) {
		name := strings.TrimSuffix(path.Base(line), ".ko")
		if _, matters := all[name]; matters {
			all[name] = fact.Known(true)
		}
	}
	for _, name := range p.facts["module"] {
		all[name] = fact.Known(true)
	}
	return all
}

// nfs reads portlist, which has lines such as "rdma 20049", one for each family, and none while no server
// runs. The directory is there without it.
func (p parts) nfs(module fact.Bool) (runs fact.Bool, port fact.Of[int]) {
	const directory = "/proc/fs/nfsd"
	list, listed := p.files[directory+"/portlist"]
	if listed || fact.No(module) && !p.denied[directory] {
		return fact.Known(list != ""), fact.Known(rdmaPort(list))
	}
	const why = directory + " could not be read, or no file system is mounted there"
	return fact.Unknown[bool](why), fact.Unknown[int](why)
}

func rdmaPort(list string) int {
	for _, line := range tool.Lines(list) {
		transport, port, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(port); err == nil && transport == "rdma" {
			return n
		}
	}
	return 0
}

// flag reads a file of configfs that has 0 or 1.
func (p parts) flag(file string) fact.Bool {
	switch p.values[file] {
	case "0":
		return fact.Known(false)
	case "1":
		return fact.Known(true)
	}
	return fact.Unknown[bool](file + " could not be read")
}

// iscsi reads portals, as /sys/kernel/config/target/iscsi/IQN/tpgt_1/np/172.16.0.10:3260.
func (p parts) iscsi() []Listener {
	var all []Listener
	for _, portal := range p.facts["portal"] {
		group := path.Dir(path.Dir(portal))
		all = append(all, Listener{Kind: ISCSI, Name: path.Base(path.Dir(group)), Address: path.Base(portal),
			RDMA: p.flag(portal + "/iser"), Enabled: p.flag(group + "/enable")})
	}
	return all
}

// srp reads ports, as /sys/kernel/config/target/srpt/GID/GID.
func (p parts) srp() []Listener {
	var all []Listener
	for _, group := range p.facts["srp"] {
		all = append(all, Listener{Kind: SRP, Name: path.Base(path.Dir(group)), RDMA: fact.Known(true),
			Enabled: p.flag(group + "/enable")})
	}
	return all
}

// nvmet reads ports, each with its transport. One that has no subsystem does not listen.
func (p parts) nvmet() []Listener {
	var all []Listener
	for _, port := range p.facts["port"] {
		var names []string
		for _, words := range p.facts["serves"] {
			if name, ok := strings.CutPrefix(words, port+" "); ok {
				names = append(names, name)
			}
		}
		l := Listener{Kind: NVMeOF, Name: strings.Join(names, ","), Enabled: fact.Known(len(names) > 0),
			Address: p.values[port+"/addr_traddr"] + ":" + p.values[port+"/addr_trsvcid"],
			RDMA:    fact.Unknown[bool](port + "/addr_trtype could not be read")}
		if transport, ok := p.values[port+"/addr_trtype"]; ok {
			l.RDMA = fact.Known(transport == "rdma")
		}
		all = append(all, l)
	}
	return all
}

// unlisted says why the listeners of a part of configfs are not known.
// Without the module there is no directory, and no listener either: that is known.
func (p parts) unlisted(part string, module fact.Bool) string {
	if slices.Contains(p.facts["configfs"], part) || fact.No(module) && !p.denied["/sys/kernel/config/"+part] {
		return ""
	}
	return "/sys/kernel/config/" + part + " could not be read, or no file system is mounted there"
}

// protocols reads rdma.capable_protocols of TrueNAS, such as ["NFS"].
func (p parts) protocols() *fact.Of[[]string] {
	run, asked := p.runs["protocols"]
	if !asked {
		return nil
	}
	var list []string
	f := fact.Unknown[[]string]("midclt call rdma.capable_protocols: " + firstLine(run.Text))
	if run.Status == 0 && json.Unmarshal([]byte(run.Text), &list) == nil {
		f = fact.Known(list)
	}
	return &f
}

func (p parts) devices(f *Facts) error {
	f.Places = map[ib.PCIAddress]Place{}
	for _, words := range p.facts["gpu"] {
		address, driver, _ := strings.Cut(words, " ")
		pci, err := ib.ParsePCIAddress(address)
		if err != nil {
			return fmt.Errorf("a GPU: %w", err)
		}
		f.GPUs = append(f.GPUs, GPU{pci, driver})
	}
	for _, words := range p.facts["place"] {
		address, link, _ := strings.Cut(words, " ")
		pci, err := ib.ParsePCIAddress(address)
		if err != nil {
			return fmt.Errorf("a PCI device: %w", err)
		}
		f.Places[pci] = place(link, p.values["/sys/bus/pci/devices/"+address+"/numa_node"])
	}
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
