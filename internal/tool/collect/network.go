package collect

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

// Network is what the answer says of network services.
type Network struct {
	Vias     []Via
	Networkd map[int]NetworkdLink // by number of the interface
	NM       map[int]NMDevice     // by number of the interface
	Undos    map[string]string    // changes of interfaces that were not confirmed, and what became of each
	Saved    []string             // files with definitions that were taken over
}

// Via is a route with a gateway.
type Via struct {
	Dev     string
	To      netip.Prefix
	Gateway netip.Addr
}

// NetworkdLink is what systemd-networkd says of an interface with a file.
type NetworkdLink struct{ State, File string }

// NMDevice is what NetworkManager says of an interface.
type NMDevice struct {
	Managed    bool
	Connection string // UUID of the profile in use
}

func (r *reader) network(i answer.Item, id, value string) error {
	switch i.Word {
	case "via":
		return r.via(i, id, value)
	case "undo":
		if r.answer.Undos == nil {
			r.answer.Undos = map[string]string{}
		}
		r.answer.Undos[id] = value
		return nil
	}
	// networkd and NetworkManager know an interface by its number. A name can change while they are read.
	index, err := strconv.Atoi(id)
	first, second, _ := strings.Cut(value, " ")
	switch {
	case err != nil:
		return i.Errorf("want the number of an interface")
	case i.Word == "nm":
		if r.answer.NM == nil {
			r.answer.NM = map[int]NMDevice{}
		}
		r.answer.NM[index] = NMDevice{Managed: first == "true", Connection: second}
	default:
		if r.answer.Networkd == nil {
			r.answer.Networkd = map[int]NetworkdLink{}
		}
		r.answer.Networkd[index] = NetworkdLink{State: first, File: second}
	}
	return nil
}

// via reads a line of the kernel's tables. For IPv4 the numbers are in the byte order
// of the machine, which is little-endian wherever there is InfiniBand. The mask is a
// number too. For IPv6 the digits are in order, and the length is hexadecimal.
func (r *reader) via(i answer.Item, dev, value string) error {
	words := strings.Fields(value)
	if len(words) != 3 {
		return i.Errorf("want an interface, a destination, its length and a gateway")
	}
	var v Via
	v.Dev = dev
	to, err1 := address(words[0])
	gateway, err2 := address(words[2])
	if err1 != nil || err2 != nil {
		return i.Errorf("want addresses of 8 or 32 hexadecimal digits")
	}
	bits, err := length(words[1])
	if err != nil {
		return i.Errorf("want a netmask or a prefix length")
	}
	v.To, v.Gateway = netip.PrefixFrom(to, bits), gateway
	if !v.To.IsValid() {
		return i.Errorf("the length does not fit the destination")
	}
	r.answer.Vias = append(r.answer.Vias, v)
	return nil
}

func address(digits string) (netip.Addr, error) {
	b, err := hex.DecodeString(digits)
	switch {
	case err != nil:
		return netip.Addr{}, err
	case len(b) == 4:
		return netip.AddrFrom4([4]byte{b[3], b[2], b[1], b[0]}), nil
	case len(b) == 16:
		return netip.AddrFrom16([16]byte(b)), nil
	}
	return netip.Addr{}, hex.ErrLength
}

func length(digits string) (int, error) {
	if len(digits) == 8 {
		b, err := hex.DecodeString(digits)
		if err != nil {
			return 0, err
		}
		// A mask whose ones are not in one run is none that a prefix can say.
		ones, mask := 0, binary.LittleEndian.Uint32(b)
		for mask&(1<<31) != 0 {
			ones, mask = ones+1, mask<<1
		}
		if mask != 0 {
			return 0, hex.ErrLength
		}
		return ones, nil
	}
	bits, err := strconv.ParseUint(digits, 16, 8)
	return int(bits), err
}
