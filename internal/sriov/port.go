package sriov

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// LinkStates are the policies of the port of a virtual function, as iproute2 calls them: it follows the port of the
// card, is up, or is down. Cards begin with disable.
func LinkStates() []string { return []string{"auto", "enable", "disable"} }

// Port is what a virtual function has on InfiniBand.
type Port = inventory.VirtualPort

// Derived gives the default GUID of a function from the node GUID of its card: marked as locally administered (bit
// 0x02 of the first byte), with the number of the function from 1 added to the two bytes before the last three, which
// the makers have for no card of their own. So cards whose last three bytes differ share none.
func Derived(card ib.GUID, number int) ib.GUID {
	const local, middle = 1 << 57, 0xffff << 24
	return card&^middle | local | (card+ib.GUID(number+1)<<24)&middle
}

// Complete fills Ports from the arguments and the node GUID of the card; there are none without a link state.
func (q *Request) Complete(card ib.GUID) {
	if q.Ports = nil; q.LinkState == "" {
		return
	}
	for number := range q.Number {
		p := Port{Port: Derived(card, number), LinkState: q.LinkState}
		if given, ok := q.PortGUIDs[number]; ok {
			p.Port = given
		}
		if p.Node = p.Port; q.NodeGUIDs[number] != 0 {
			p.Node = q.NodeGUIDs[number]
		}
		q.Ports = append(q.Ports, p)
	}
}

// derives reports whether a GUID follows from that of the card.
func (q Request) derives() bool { return q.LinkState != "" && len(q.PortGUIDs) < q.Number }

// portsScript gives functions of the card $1 their GUIDs and link states: number, node GUID, port GUID and state of
// each follow. The interface of ib_ipoib is the way to them, and may come late or get another name at a boot. A driver
// reads GUIDs when it is bound; who runs with others is bound anew, and a guest's function is left to the guest
// (https://docs.nvidia.com/networking/display/mlnxofedv24100700/Single+Root+IO+Virtualization+(SR-IOV)). It has no
// quotes and backslashes that a unit would read in its own way.
const portsScript = `cd "/sys/bus/pci/devices/$1" || exit 0; shift; modprobe ib_ipoib; ` +
	`ib() { for dev in net/*; do [ "$(cat "$dev/type")" = 32 ] && dev=${dev##*/} && return; done; return 1; }; ` +
	`set_vf() { tries=0; until ib && ip link set dev "$dev" vf "$@"; do ` +
	`tries=$((tries + 1)); [ "$tries" -lt 30 ] || exit 5; sleep 1; done; }; ` +
	`bare() { echo "$1" | tr -d :; }; ` +
	`while [ "$#" -gt 0 ]; do set_vf "$1" node_guid "$2" port_guid "$3"; set_vf "$1" state "$4"; ` +
	`at=virtfn$1; has="$(cat "$at"/infiniband/*/node_guid) $(cat "$at"/infiniband/*/ports/1/gids/0)"; ` +
	`driver=$(readlink "$at/driver"); case ${driver##*/},$(bare "$has") in ` +
	`mlx5_core,"$(bare "$2") "*"$(bare "$3")") ;; ` +
	`mlx5_core,*) name=$(readlink "$at"); echo "${name##*/}" >"$at/driver/unbind" || exit 6; ` +
	`echo "${name##*/}" >/sys/bus/pci/drivers/mlx5_core/bind || exit 7 ;; esac; shift 4; done`

// told says what a function has.
func told(number int, p Port) string {
	return fmt.Sprintf("%s: node GUID %s, port GUID %s, link state %s", inventory.VirtualFunction(number), p.Node, p.Port,
		p.LinkState)
}

// arguments are those of portsScript for one function.
func arguments(number int, p Port) []string {
	return []string{strconv.Itoa(number), p.Node.Colons(), p.Port.Colons(), p.LinkState}
}

// portsCommand is the line of a unit that gives the functions their ports; empty if there are none.
func portsCommand(pci ib.PCIAddress, all []Port) string {
	if len(all) == 0 {
		return ""
	}
	lines := []string{"\nExecStart=/bin/sh -c '" + strings.ReplaceAll(portsScript, "$", "$$") + "' sh " + pci.String()}
	for number, p := range all {
		lines = append(lines, "  "+strings.Join(arguments(number, p), " "))
	}
	return strings.Join(lines, " \\\n")
}

// portLine is a function of a unit of ours, see unit.
var portLine = regexp.MustCompile(`(?m)^  (\d+) (\S+) (\S+) ([a-z]+)`)

// portsOf reads back what a unit of ours gives to the functions.
func portsOf(text string) (all []Port) {
	for _, m := range portLine.FindAllStringSubmatch(text, -1) {
		node, err1 := ib.ParseGUID(m[2])
		port, err2 := ib.ParseGUID(m[3])
		if number, err3 := strconv.Atoi(m[1]); err1 != nil || err2 != nil || err3 != nil || number != len(all) {
			return nil
		}
		all = append(all, Port{Node: node, Port: port, LinkState: m[4]})
	}
	return all
}
