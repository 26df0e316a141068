package hosts

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

// readStorage reads what the host uses over the network: mounts of network file systems,
// iSCSI connections, NVMe over fabrics, and SRP targets.
func readStorage(s *inventory.Snapshot, a *collect.Answer) error {
	if err := readMounts(s, a); err != nil {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(a.Values)) {
		v := a.Values[p].Text
		dir, base := path.Split(p)
		name := path.Base(dir)
		switch {
		case base == "address" && strings.HasPrefix(p, "/sys/class/iscsi_connection/"):
			st := inventory.Storage{Kind: "iscsi", What: name, Server: v, Dev: way(s, a, name, v)}
			if why := boundISCSI(a, name); why != "" {
				st.Dev = fact.Unknown[string](why)
			}
			addStorage(s, st)
		case base == "address" && strings.HasPrefix(p, "/sys/class/nvme/"):
			addStorage(s, inventory.Storage{Kind: "nvme-" + a.Values[dir+"transport"].Text, What: name,
				Server: option(v, "traddr"), Dev: wayOfNVMe(s, a, name, v)})
		case base == "local_ib_device":
			s.Storage = append(s.Storage, inventory.Storage{Kind: "srp", What: name, RDMA: v, Dev: fact.Known("")})
		}
	}
	unreadStorage(s, a)
	return nil
}

// unreadStorage adds the storage of which the kernel did not tell the address. It has none
// for a connection of iSCSI that is being built up again.
func unreadStorage(s *inventory.Snapshot, a *collect.Answer) {
	for _, p := range slices.Sorted(maps.Keys(a.Denied)) {
		dir, base := path.Split(p)
		st := inventory.Storage{What: path.Base(dir), Dev: fact.Unknown[string](p + " could not be read")}
		switch {
		case base == "address" && strings.HasPrefix(p, "/sys/class/iscsi_connection/"):
			st.Kind = "iscsi"
		case base == "address" && strings.HasPrefix(p, "/sys/class/nvme/"):
			st.Kind = "nvme-" + a.Values[dir+"transport"].Text
		case base == "transport" && strings.HasPrefix(p, "/sys/class/nvme/"):
			st.Kind = "nvme"
		case base == "local_ib_device":
			st.Kind = "srp"
		default:
			continue
		}
		s.Storage = append(s.Storage, st)
	}
}

// readMounts reads lines of /proc/mounts; grep has kept those of network file
// systems and ends with 1 if there are none.
func readMounts(s *inventory.Snapshot, a *collect.Answer) error {
	run, asked := a.Runs["mounts"]
	if !asked || run.Status > 1 {
		why := "grep is not installed"
		if asked {
			why = fmt.Sprintf("grep of /proc/mounts ended with status %d", run.Status)
		}
		s.Storage = append(s.Storage, inventory.Storage{Kind: "mounts",
			What: "of network file systems, which could not be read", Dev: fact.Unknown[string](why)})
		return nil
	}
	for n, line := range tool.Lines(run.Output) {
		fields := strings.Fields(line)
		if len(fields) != 6 {
			return in("mounts", tool.Errorf(n, line, "want the six fields of a mount"))
		}
		for _, server := range servers(fields[2], unescape(fields[0]), fields[3]) {
			what := unescape(fields[0])
			addStorage(s, inventory.Storage{Kind: fields[2], What: what, Where: unescape(fields[1]),
				Server: server, Dev: way(s, a, what, server), Protocol: option(fields[3], "proto")})
		}
	}
	return nil
}

// servers gives the servers that a mount names, or an empty one if it has some and names
// none. Those of Lustre, CephFS and GlusterFS that hold the data are not named, and are
// found by those that are.
func servers(kind, source, options string) []string {
	switch {
	case kind == "ceph" && option(options, "mon_addr") != "":
		return withoutPorts(strings.Split(option(options, "mon_addr"), "/"))
	case kind == "ceph":
		monitors, _, _ := strings.Cut(source, ":/")
		return withoutPorts(strings.Split(monitors, ","))
	case kind == "lustre" && strings.HasPrefix(source, "/"):
		return nil // a disk of this host, which is the server
	case kind == "lustre":
		return networkIDs(source)
	case kind == "fuse.glusterfs", kind == "fuse.sshfs":
		return []string{remote(source)}
	case kind == "9p" && slices.Contains([]string{"virtio", "xen"}, option(options, "trans")):
		return nil // of the hypervisor
	case kind == "9p":
		return []string{source}
	}
	return []string{option(options, "addr")}
}

// withoutPorts takes the ports away from "192.0.2.1:6789" and "[fd00::1]:6789".
func withoutPorts(servers []string) []string {
	hosts := make([]string, len(servers))
	for i, s := range servers {
		hosts[i] = s
		if host, _, err := net.SplitHostPort(s); err == nil {
			hosts[i] = host
		}
	}
	return hosts
}

// networkIDs gives the addresses of "192.0.2.1@o2ib,192.0.2.2@o2ib:192.0.2.3@tcp:/name".
func networkIDs(source string) []string {
	ids, _, _ := strings.Cut(source, ":/")
	addresses := strings.FieldsFunc(ids, func(r rune) bool { return r == ',' || r == ':' })
	for i, id := range addresses {
		addresses[i], _, _ = strings.Cut(id, "@")
	}
	if len(addresses) == 0 {
		return []string{""}
	}
	return addresses
}

// remote gives the host of "user@host:path"; an address of IPv6 is in brackets.
func remote(source string) string {
	if user, rest, ok := strings.Cut(source, "@"); ok && !strings.ContainsAny(user, ":/[") {
		source = rest
	}
	if inside, ok := strings.CutPrefix(source, "["); ok {
		host, _, _ := strings.Cut(inside, "]")
		return host
	}
	host, _, _ := strings.Cut(source, ":")
	return host
}

// way is the interface on the way to a server. If there is no way, the server cannot be
// reached, and no card carries it.
func way(s *inventory.Snapshot, a *collect.Answer, what, server string) fact.Of[string] {
	// Asked for each server in the one collection: a question of its own would be a round trip for each mount.
	run := a.Runs["way "+server]
	switch {
	case server == "":
		return fact.Unknown[string](what + " names no address of its server")
	case run.Status != 0 && strings.Contains(run.Output, "unreachable"):
		return fact.Known("")
	}
	return wayTo(s, a, server, "way "+server)
}

// wayOfNVMe is the interface of a controller whose address is such as
// "traddr=192.0.2.30,trsvcid=4420,host_traddr=192.0.2.20,host_iface=ib0". A connection that is bound
// to an interface uses it whatever the routes say. To one that is bound to an address of
// the host, TCP goes by the routes from there and RDMA by the interface that has it.
func wayOfNVMe(s *inventory.Snapshot, a *collect.Answer, what, address string) fact.Of[string] {
	server, from, iface := option(address, "traddr"), option(address, "host_traddr"), option(address, "host_iface")
	switch {
	case iface != "":
		return fact.Known(iface)
	case from == "":
		return way(s, a, what, server)
	}
	to := wayTo(s, a, server, "way "+server+" from "+from)
	dev, known := to.Get()
	local, err := netip.ParseAddr(from)
	if on := holders(s, local); known && (err != nil || !slices.Equal(on, []string{dev})) {
		return fact.Unknown[string](fmt.Sprintf("%s is bound to %s, which is an address of %s; the way from there is by %s",
			what, from, cmp.Or(strings.Join(on, " and "), "no interface"), dev))
	}
	return to
}

// boundISCSI says why it is not known which interface a connection such as "connection1:0"
// is bound to; empty if it goes by the routes. open-iscsi binds those of an iface of the
// user, whose name is all that the kernel knows, and neither of its own ones. It may set
// no name where it binds to nothing.
func boundISCSI(a *collect.Answer, connection string) string {
	session, _, _ := strings.Cut(strings.TrimPrefix(connection, "connection"), ":")
	file := "/sys/class/iscsi_session/session" + session + "/ifacename"
	iface, read := a.Values[file]
	switch {
	case a.Denied[file]:
		return file + " could not be read"
	case !read || slices.Contains([]string{"default", "iser", "(null)", "<NULL>"}, iface.Text):
		return ""
	}
	return fmt.Sprintf("%s uses the iface %s of open-iscsi, which may bind it to an interface", connection, iface.Text)
}

// addStorage adds what is reached over an interface, if it is known what carries that.
func addStorage(s *inventory.Snapshot, st inventory.Storage) {
	if dev := st.Dev.Or(""); dev != "" && dev != "lo" {
		if why := s.HiddenBelow(dev); why != "" {
			st.Dev = fact.Unknown[string](why)
		}
	}
	// Several servers of one mount are one use of the interface to them.
	if !slices.ContainsFunc(s.Storage, func(other inventory.Storage) bool {
		return other.String() == st.String() && other.Dev == st.Dev
	}) {
		s.Storage = append(s.Storage, st)
	}
}

// option finds a value in "a=1,b=2".
func option(list, name string) string {
	for o := range strings.SplitSeq(list, ",") {
		if v, ok := strings.CutPrefix(o, name+"="); ok {
			return v
		}
	}
	return ""
}

// unescape undoes the octal escapes of /proc/mounts. Linux 5.17 and newer escape the # as well.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`).Replace(s)
}

// services are those whose sockets the collection looks for, by port.
// In hexadecimal, as the kernel's tables have them: 2049, 445, 3260, 4420.
var services = map[string]string{"0801": "NFS", "01BD": "SMB", "0CBC": "iSCSI", "1144": "NVMe over TCP"}

// states of a socket in the kernel's tables.
const (
	tcpEstablished = "01"
	tcpListen      = "0A"
)

// readServers reads lines of /proc/net/tcp and tcp6: number, local address and port,
// remote address and port, state, … Only services that listen count, and connections of
// the host to itself do not.
func readServers(s *inventory.Snapshot, a *collect.Answer) error {
	run, ok := a.Runs["sockets"]
	switch {
	case !ok:
		s.Servers = fact.Unknown[[]inventory.Server]("the host has no grep, which looks for their sockets")
		return nil
	case run.Status > 1: // 1: no line
		s.Servers = fact.Unknown[[]inventory.Server](fmt.Sprintf("the tables of sockets could not be read, grep ended with "+
			"status %d: %s", run.Status, firstLine(run.Output)))
		return nil
	}
	listens, clients := map[string]bool{}, map[string]int{}
	for n, line := range tool.Lines(run.Output) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			return in("sockets", tool.Errorf(n, line, "want the columns of /proc/net/tcp"))
		}
		_, port, _ := strings.Cut(fields[1], ":")
		remote, _, _ := strings.Cut(fields[2], ":")
		local, _, _ := strings.Cut(fields[1], ":")
		name, known := services[port]
		switch {
		case !known:
			return in("sockets", tool.Errorf(n, line, "a port that was not looked for"))
		case fields[3] == tcpListen:
			listens[name] = true
		// A connection of the host with itself ends with it and loses nobody's work.
		case fields[3] == tcpEstablished && remote != local:
			clients[name]++
		}
	}
	var servers []inventory.Server
	for _, name := range slices.Sorted(maps.Keys(listens)) {
		servers = append(servers, inventory.Server{Name: name, Clients: clients[name]})
	}
	s.Servers = fact.Known(servers)
	return nil
}

// readUPS reads "upsc NAME ups.status". There is no power supply to ask on a host
// without upsc, or on one that configures none and has no daemon. A configured one that
// does not answer is unknown, unless another one is on battery.
func readUPS(s *inventory.Snapshot, a *collect.Answer) error {
	why := unlistedUPS(a)
	var found []inventory.UPS
	for _, run := range slices.Sorted(maps.Keys(a.Runs)) {
		name, ok := strings.CutPrefix(run, "ups ")
		if !ok {
			continue
		}
		u, unread := ups(name, a.Runs[run])
		switch {
		case unread != "":
			why = unread
		case u.Says("OB") || u.Says("LB"):
			found = append(found, u)
		}
	}
	s.Battery = fact.Known(found)
	if len(found) == 0 && why != "" {
		s.Battery = fact.Unknown[[]inventory.UPS](why)
	}
	return nil
}

// unlistedUPS says why there may be power supplies that were not asked.
func unlistedUPS(a *collect.Answer) (why string) {
	if list, asked := a.Runs["ups-list"]; asked && list.Status != 0 &&
		!strings.Contains(list.Output, "Connection refused") {
		why = fmt.Sprintf("upsc -l ended with status %d: %s", list.Status, firstLine(list.Output))
	}
	for _, file := range []string{"/etc/nut/upsmon.conf", "/etc/ups/upsmon.conf"} {
		if a.Denied[file] {
			why = file + " could not be read"
		}
	}
	return why
}

// ups reads what one power supply says, or why that is not known.
func ups(name string, run collect.Run) (u inventory.UPS, why string) {
	// A line about SSL may stand before the status.
	lines := strings.Split(strings.TrimSpace(run.Output), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	u = inventory.UPS{Name: name, Status: last}
	switch {
	case run.Status != 0:
		why = fmt.Sprintf("upsc %s ended with status %d: %s", name, run.Status, last)
	case !u.Says("OL") && !u.Says("OB") && !u.Says("LB") && !u.Says("BYPASS"):
		why = fmt.Sprintf("%s does not say whether it is on line: %q", name, last)
	}
	return u, why
}
