package safety

import (
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/bootrom"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/rollback"
)

// Change is the consent to one change: exactly from this value to that one.
type Change[T comparable] struct{ From, To T }

// CrossFlash names the card and the image of a cross-flash; an empty part is any.
type CrossFlash struct{ Card, Image string }

// Consents are what the argument allow of infiniband_firmware holds. Each is the value
// that is expected, so that it cannot serve another change.
type Consents struct {
	PSIDChange *Change[ib.PSID]
	// PSIDChangeOf narrows it to one card, one image or both.
	PSIDChangeOf CrossFlash
	Downgrade    *Change[ib.FWVersion]
	Branch       *Change[ib.FWVersion]
	Reinstall    string // that version, with other content
	OtherBoard   string // the PSID of an image for a board with another number of ports
	// UnprovenFlash is the version in flash that may be burned over although nothing
	// shows that it has run.
	UnprovenFlash string
	// WithoutCopy allows a burn of a card whose flash nobody can read.
	WithoutCopy rollback.Consent
	// ManagementPath names the interfaces of this card that carry the SSH session or the default route.
	ManagementPath []string
	AfterFailure   []string // the jobs of other cards whose failure says nothing about this one
}

// FirmwareRequest is what infiniband_firmware asks.
type FirmwareRequest struct {
	Consents
	Activation Activation // reboot; host or none leave it to another resource or to the user
	BootROM    bootrom.Choice
}

// FirmwareInput is everything the verdict on a burn depends on.
type FirmwareInput struct {
	Card    CardFacts
	Image   ImageFacts
	Host    HostFacts
	Lab     clash.Facts
	Request FirmwareRequest
	Found   []finding.Finding // on other cards that failed, and on the list of approved images
	// Restore is set if the image is the backup that a destroy burns back.
	Restore *RestoreFacts
	// Backup is nil at plan time. With it, the verdict is the last one before
	// the burn, and the only one that permits it.
	Backup *BackupFacts
}

// RestoreFacts is what is known of a backup that is to be burned back. With it
// in a FirmwareInput, the consents to the PSID and to the version are those of
// the recorded pair: what was put into flash may become what was there before,
// and nothing else.
type RestoreFacts struct {
	Path    string // on the operator's machine
	Missing string // why it cannot be read; empty: it is there
	Damaged string // what is wrong with it; empty: it verifies
	// Unproven says why it is not known to be what was put there; empty: it is.
	Unproven string
	Other    string      // why it is another card's; empty: it is this card's
	Left     ib.Firmware // what was put into flash, the only firmware that may be replaced
}

// GUIDChange is the consent to replace valid GUIDs and MACs: each value of From by the one
// at its place in To, as text.
type GUIDChange struct{ From, To []string }

// allows reports whether the consent names each value of a change and what it becomes, and gives
// none of them another choice. A node and its system image may have one GUID and get two.
func (c GUIDChange) allows(change GUIDChange) bool {
	return slices.Equal(c.pairs(change.From), change.pairs(change.From))
}

// pairs are what becomes of some values, each once.
func (c GUIDChange) pairs(of []string) (all []string) {
	for i := range min(len(c.From), len(c.To)) {
		if slices.Contains(of, c.From[i]) {
			all = append(all, c.From[i]+" "+c.To[i])
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// GUIDRequest is what infiniband_guids asks, completed to all six values; HasX
// says which half is asked for.
type GUIDRequest struct {
	Want              ib.GUIDSet
	HasGUIDs, HasMACs bool
	// BaseGUID and BaseMAC are set if the values were derived from a base.
	BaseGUID ib.GUID
	BaseMAC  ib.MAC
	// OneBase: the card stores one GUID and one MAC. Port 2 has no values of its own.
	OneBase bool
	// UnprovenFlash is the version in flash into which GUIDs may go although nothing shows
	// that it has run.
	UnprovenFlash  string
	ManagementPath []string
	Change         GUIDChange
	Activation     Activation
}

// GUIDInput is everything the verdict on programming GUIDs depends on.
type GUIDInput struct {
	Card    CardFacts
	Host    HostFacts
	Lab     clash.Facts
	Request GUIDRequest
	// Waits says that the card shows other GUIDs in effect than it has in flash.
	Waits  bool
	Backup *BackupFacts
}

// LinkTypeRequest is what infiniband_link_type asks.
type LinkTypeRequest struct {
	Ports          map[int]ib.LinkType
	ManagementPath []string
	// OtherCards are the PCI addresses of the cards of the host that may change with this one.
	OtherCards []string
	// Activation matters only where a restart is what makes a type effective.
	Activation Activation
}

// SettingsInput is everything the verdict on settings in a card's own configuration depends on.
type SettingsInput struct {
	Card  CardFacts
	Host  HostFacts
	Found []finding.Finding // on names and values, and on a card that does not say what it has
	// Writes says that a setting is to be stored, Restarts that one is not in effect.
	Writes, Restarts bool
	ManagementPath   []string
	Activation       Activation
}

// UnnamedPort is a port that a request does not name, after the next boot if the types of
// the card are stored.
type UnnamedPort struct {
	AtBoot ib.LinkType
	// Decides is the setting made elsewhere that decides on it; empty if the stored types do.
	Decides string
}

// LinkTypeParameter is a parameter of the driver that overrides the card's own configuration.
// The zero value is none.
type LinkTypeParameter struct {
	Place string // where the apply writes it
	Has   string // what is set where
}

// LinkTypeInput is everything the verdict on link types depends on.
type LinkTypeInput struct {
	Card    CardFacts
	Host    HostFacts
	Request LinkTypeRequest
	// Current is what each port is now: "ib", "eth", "auto (ib)", "auto (eth)";
	// no entry if the kernel shows no such port.
	Current map[int]string
	// Unnamed are the ports of the card that the request does not name. What is stored
	// is for the whole card.
	Unnamed map[int]UnnamedPort
	// Uses are the interfaces and subnet managers that need InfiniBand on a port, as
	// messages name them.
	Uses map[int][]string
	// Served is whether mstconfig serves the card, which makes the card's own
	// configuration the place of its types.
	Served fact.Bool
	// HasTypes is whether the card's own configuration has link types.
	HasTypes fact.Bool
	// Persisted is what the ports will be after the next boot; no entry where
	// nothing says.
	Persisted map[int]ib.LinkType
	// Decides is the place that decides on each of them.
	Decides map[int]string
	// StaleInitramfs is true if the host's setting is stored and the initial RAM disk has an
	// older copy of it.
	StaleInitramfs fact.Bool
	// Overrides are settings of the host that decide otherwise at the next boot and
	// win over what can be stored.
	Overrides fact.Of[[]string]
	// NotOurs is what somebody else has written in the place where the types would be
	// stored; empty if nothing is in the way.
	NotOurs string
	// Edited is what somebody has written into our file that is written anew; empty if nothing.
	Edited string
	// Parameter is the driver's parameter where it would override types stored in the card.
	Parameter    LinkTypeParameter
	StoredIn     string // place that will make it persistent; empty: none exists
	WhyNotStored string // why none exists
	// PlannedPSID is the PSID that the card will run before this is applied;
	// empty if no change is planned.
	PlannedPSID ib.PSID
}
