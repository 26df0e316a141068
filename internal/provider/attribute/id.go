package attribute

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// CardRef names one card: a key of the provider's hosts map and a PCI address.
type CardRef struct {
	Host string
	PCI  ib.PCIAddress
}

// String gives the id of the card, "intel9/0000:01:00.0".
func (r CardRef) String() string { return r.Host + "/" + r.PCI.String() }

// ParseCardRef reads the place in the id of a card.
func ParseCardRef(id string) (CardRef, error) {
	name, err := ParseCardName(id)
	return name.CardRef, err
}

// CardName is the id of a card: its place and, in Token, which card it is. Core carries
// it from the plan to the apply, so a saved plan belongs to one card.
type CardName struct {
	CardRef
	Token string // see ib.Identity.Token; empty: the place alone
}

// String gives "intel9/0000:01:00.0/MT1234X00001".
func (n CardName) String() string {
	if n.Token == "" {
		return n.CardRef.String()
	}
	return n.CardRef.String() + "/" + n.Token
}

// ParseCardName reads "host/pci_address" and "host/pci_address/identity"; the
// first slash splits.
func ParseCardName(id string) (CardName, error) {
	host, rest, ok := strings.Cut(id, "/")
	if !ok || host == "" {
		return CardName{}, fmt.Errorf("invalid card id %q: want host/pci_address or host/pci_address/serial, for example "+
			"intel9/0000:01:00.0", id)
	}
	pci, token, _ := strings.Cut(rest, "/")
	addr, err := ib.ParsePCIAddress(pci)
	if err == nil {
		_, err = ib.ParseToken(token)
	}
	if err != nil {
		return CardName{}, fmt.Errorf("invalid card id %q: %w", id, err)
	}
	return CardName{CardRef: CardRef{Host: host, PCI: addr}, Token: token}, nil
}

// PortRef names one port of a host by its GUID, and a P_Key child of it if
// PKey is not empty.
type PortRef struct {
	Host string
	GUID ib.GUID
	PKey string // "0x8001"; empty for the default partition
}

// String gives the id, "intel9/0xe41d2d0300e44ed1" or
// "intel9/0xe41d2d0300e44ed1/0x8001".
func (r PortRef) String() string {
	s := r.Host + "/" + r.GUID.String()
	if r.PKey != "" {
		s += "/" + r.PKey
	}
	return s
}

// ParsePortRef reads "host/port_guid" and "host/port_guid/pkey".
func ParsePortRef(id string) (PortRef, error) {
	parts := strings.Split(id, "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return PortRef{}, fmt.Errorf("invalid port id %q: want host/port_guid, for example intel9/0xe41d2d0300e44ed1", id)
	}
	guid, err := ib.ParseGUID(parts[1])
	if err != nil {
		return PortRef{}, fmt.Errorf("invalid port id %q: %w", id, err)
	}
	ref := PortRef{Host: parts[0], GUID: guid}
	if len(parts) == 3 {
		ref.PKey, err = PKeyKind{}.Canonical(parts[2])
		if err != nil {
			return PortRef{}, fmt.Errorf("invalid port id %q: %w", id, err)
		}
	}
	return ref, nil
}

// Fabrics are the names that the configuration gives to fabrics: those of single ports, and those of all other
// ports of a host.
type Fabrics struct {
	Ports map[ib.GUID]string
	Hosts map[string]string
}

// Of is the name of the fabric of a port; empty if the configuration says none.
func (f Fabrics) Of(port PortRef) string {
	if name, ok := f.Ports[port.GUID]; ok {
		return name
	}
	return f.Hosts[port.Host]
}

// ImageRef names one staged image.
type ImageRef struct {
	Host   string
	SHA256 string
}

// String gives the id, "intel9/" and the hash.
func (r ImageRef) String() string { return r.Host + "/" + r.SHA256 }

// ParseImageRef reads "host/sha256".
func ParseImageRef(id string) (ImageRef, error) {
	host, hash, ok := strings.Cut(id, "/")
	if !ok || host == "" {
		return ImageRef{}, fmt.Errorf("invalid image id %q: want host/sha256, the id of an infiniband_firmware_image", id)
	}
	sum, err := HashKind{}.Canonical(hash)
	if err != nil {
		return ImageRef{}, fmt.Errorf("invalid image id %q: %w", id, err)
	}
	return ImageRef{Host: host, SHA256: sum}, nil
}
