package attribute

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// The value types of the provider's attributes.
type (
	// GUIDType is the type of GUID attributes; every spelling that the InfiniBand
	// tools use is accepted.
	GUIDType = TextType[GUIDKind]
	// GUID is a 64-bit identifier, "0xe41d2d0300e44ed0" in canonical form.
	GUID = Text[GUIDKind]
	// MACType is the type of MAC attributes.
	MACType = TextType[MACKind]
	// MAC is a 48-bit hardware address, "e4:1d:2d:e4:4e:d0" in canonical form.
	MAC = Text[MACKind]
	// PSIDType is the type of PSID attributes.
	PSIDType = TextType[PSIDKind]
	// PSID is the board id of a card; case matters.
	PSID = Text[PSIDKind]
	// PCIType is the type of PCI address attributes.
	PCIType = TextType[PCIKind]
	// PCI is a PCI address, "0000:01:00.0" in canonical form.
	PCI = Text[PCIKind]
	// HashType is the type of SHA-256 attributes.
	HashType = TextType[HashKind]
	// Hash is a SHA-256 in hexadecimal, lower case in canonical form.
	Hash = Text[HashKind]
	// PrefixType is the type of interface address attributes.
	PrefixType = TextType[PrefixKind]
	// Prefix is an interface address with its prefix length, "172.16.0.20/24".
	Prefix = Text[PrefixKind]
	// PKeyType is the type of P_Key attributes.
	PKeyType = TextType[PKeyKind]
	// PKey is a partition key, "0x8001" in canonical form: the membership bit set.
	PKey = Text[PKeyKind]
	// DurationType is the type of duration attributes.
	DurationType = TextType[DurationKind]
	// Duration is a length of time, "20m".
	Duration = Text[DurationKind]
	// VersionType is the type of firmware version attributes.
	VersionType = TextType[VersionKind]
	// Version is a firmware version, "2.42.5000" in canonical form.
	Version = Text[VersionKind]
	// CardIDType is the type of card ids.
	CardIDType = TextType[CardIDKind]
	// CardID names a card, "intel9/0000:01:00.0" in canonical form.
	CardID = Text[CardIDKind]
	// ImageIDType is the type of image ids.
	ImageIDType = TextType[ImageIDKind]
	// ImageID names a staged image, host and SHA-256.
	ImageID = Text[ImageIDKind]
)

type (
	GUIDKind     struct{}
	MACKind      struct{}
	PSIDKind     struct{}
	PCIKind      struct{}
	HashKind     struct{}
	PrefixKind   struct{}
	PKeyKind     struct{}
	DurationKind struct{}
	VersionKind  struct{}
	CardIDKind   struct{}
	ImageIDKind  struct{}
)

var (
	_ basetypes.StringTypable                    = TextType[GUIDKind]{}
	_ basetypes.StringValuableWithSemanticEquals = Text[GUIDKind]{}
	_ xattr.ValidateableAttribute                = Text[GUIDKind]{}
	_ function.ValidateableParameter             = Text[GUIDKind]{}
)

func (GUIDKind) Noun() string     { return "a GUID" }
func (MACKind) Noun() string      { return "a MAC address" }
func (PSIDKind) Noun() string     { return "a PSID" }
func (PCIKind) Noun() string      { return "a PCI address" }
func (HashKind) Noun() string     { return "a SHA-256" }
func (PrefixKind) Noun() string   { return "an interface address" }
func (PKeyKind) Noun() string     { return "a P_Key" }
func (DurationKind) Noun() string { return "a duration" }
func (VersionKind) Noun() string  { return "a firmware version" }

func (CardIDKind) Noun() string  { return "the id of a card" }
func (ImageIDKind) Noun() string { return "the id of a firmware image" }

func (GUIDKind) Canonical(s string) (string, error) { return canonical(ib.ParseGUID(s)) }
func (MACKind) Canonical(s string) (string, error)  { return canonical(ib.ParseMAC(s)) }
func (PSIDKind) Canonical(s string) (string, error) { return canonical(ib.ParsePSID(s)) }
func (PCIKind) Canonical(s string) (string, error)  { return canonical(ib.ParsePCIAddress(s)) }

func (VersionKind) Canonical(s string) (string, error) { return canonical(ib.ParseFWVersion(s)) }

func (CardIDKind) Canonical(s string) (string, error) { return canonical(ParseCardName(s)) }

func (ImageIDKind) Canonical(s string) (string, error) { return canonical(ParseImageRef(s)) }

// Means reports whether two ids can name one card at one place: an id without an
// identity can be any card there.
func (CardIDKind) Means(a, b string) bool {
	m, errA := ParseCardName(a)
	n, errB := ParseCardName(b)
	return errA == nil && errB == nil && m.CardRef == n.CardRef && (m.Token == n.Token || m.Token == "" || n.Token == "")
}

// SameCard reports whether the planned id names the card in the state, whose recorded
// identity is who. The card may have moved. An identity in the planned id decides. An
// id that is a place alone may be the card's new place, which the verdict finds out; if
// the state recorded no identity, another place is another card.
func SameCard(state CardID, who types.String, plan CardID) bool {
	s, errS := ParseCardName(state.ValueString())
	p, errP := ParseCardName(plan.ValueString())
	if errS != nil || errP != nil {
		return state.Same(plan)
	}
	recorded, err := ib.ParseIdentity(who.ValueString())
	if err != nil || recorded.Empty() {
		recorded, err = ib.ParseToken(s.Token)
	}
	known := err == nil && !recorded.Empty()
	if p.Token == "" {
		return s.CardRef == p.CardRef || known
	}
	if want, wrong := ib.ParseToken(p.Token); wrong == nil && known {
		if like, _ := ib.Compare(recorded, want); like != ib.Undecided {
			return like == ib.Same
		}
	}
	return state.Same(plan)
}

// SameCardThere reports whether an id names the card in the state, at the place where the
// state has it. An id without an identity means any card there: the record says which.
func SameCardThere(state CardID, who types.String, plan CardID) bool {
	return state.Same(plan) && SameCard(state, who, plan)
}

func (HashKind) Canonical(s string) (string, error) {
	low := strings.ToLower(s)
	if len(low) != 64 || strings.Trim(low, "0123456789abcdef") != "" {
		return "", fmt.Errorf("invalid SHA-256 %q: want 64 hexadecimal digits, as sha256sum prints them", s)
	}
	return low, nil
}

func (PrefixKind) Canonical(s string) (string, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return "", fmt.Errorf("invalid interface address %q: want an address with its prefix length, for example "+
			"172.16.0.20/24", s)
	}
	a := p.Addr()
	if a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() {
		return "", fmt.Errorf("invalid interface address %q: %s cannot be an address of an interface", s, a)
	}
	if p.Bits() < a.BitLen()-1 && a.Is4() && p.Masked().Addr() == a {
		return "", fmt.Errorf("invalid interface address %q: %s is the network's own address; give the address of the host",
			s, a)
	}
	return p.String(), nil
}

// pkeyMembership is the full-member bit; IPoIB names children with it set.
const pkeyMembership = 0x8000

func (PKeyKind) Canonical(s string) (string, error) {
	hex, ok := strings.CutPrefix(strings.ToLower(s), "0x")
	v, err := strconv.ParseUint(hex, 16, 16)
	if !ok || err != nil {
		return "", fmt.Errorf("invalid P_Key %q: want 0x and up to 4 hexadecimal digits, for example 0x8001", s)
	}
	if v&^pkeyMembership == 0 {
		return "", fmt.Errorf("invalid P_Key %q: 0x0000 and 0x8000 are not partitions", s)
	}
	return fmt.Sprintf("0x%04x", v|pkeyMembership), nil
}

func (DurationKind) Canonical(s string) (string, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return "", fmt.Errorf("invalid duration %q: want a number with a unit, for example 90s or 20m", s)
	}
	if d <= 0 {
		return "", fmt.Errorf("invalid duration %q: must be positive", s)
	}
	return d.String(), nil
}

func canonical[T fmt.Stringer](v T, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return v.String(), nil
}

// GUIDText returns g in canonical form; a GUID that was never set becomes null.
func GUIDText(g ib.GUID) GUID {
	if g.IsNone() {
		return NullText[GUIDKind]()
	}
	return NewText[GUIDKind](g.String())
}

// GUIDRaw returns g in canonical form, also zero and all ones.
func GUIDRaw(g ib.GUID) GUID { return NewText[GUIDKind](g.String()) }

// MACText returns m in canonical form; a MAC that was never set becomes null.
func MACText(m ib.MAC) MAC {
	if m.IsZero() || m.IsBroadcast() {
		return NullText[MACKind]()
	}
	return NewText[MACKind](m.String())
}

// PSIDText returns p, or null if it is empty.
func PSIDText(p ib.PSID) PSID { return textOrNull[PSIDKind](string(p)) }

// VersionText returns v in canonical form, or null if it is the zero version.
func VersionText(v ib.FWVersion) Version {
	if v == (ib.FWVersion{}) {
		return NullText[VersionKind]()
	}
	return NewText[VersionKind](v.String())
}

// VersionString returns a version that is text already, or null if it is empty.
func VersionString(s string) Version { return textOrNull[VersionKind](s) }

// HashText returns a SHA-256.
func HashText(s string) Hash { return textOrNull[HashKind](s) }

// PCIText returns a PCI address in canonical form.
func PCIText(a ib.PCIAddress) PCI { return NewText[PCIKind](a.String()) }

// PrefixText returns an interface address.
func PrefixText(p netip.Prefix) Prefix { return NewText[PrefixKind](p.String()) }

// PKeyText returns a P_Key, or null if s is empty.
func PKeyText(s string) PKey { return textOrNull[PKeyKind](s) }

// PKeyOf returns the P_Key of a partition, whose bit of full members is set.
func PKeyOf(key uint16) PKey { return NewText[PKeyKind](fmt.Sprintf("0x%04x", key|pkeyMembership)) }

// DurationText returns a duration in its shortest usual form.
func DurationText(s string) Duration { return NewText[DurationKind](s) }

// DurationOf returns the length of a known valid duration, or otherwise fallback.
func DurationOf(v Duration, fallback time.Duration) time.Duration {
	d, err := time.ParseDuration(v.ValueString())
	if err != nil {
		return fallback
	}
	return d
}

// GUIDOf parses a known GUID; null and unknown give zero.
func GUIDOf(v GUID) (ib.GUID, error) {
	if v.IsNull() || v.IsUnknown() {
		return 0, nil
	}
	return ib.ParseGUID(v.ValueString())
}
