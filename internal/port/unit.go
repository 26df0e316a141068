package port

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

const resourceName = "infiniband_port"

// umad is the module through which ibportstate sends.
const umad = "ib_umad"

// scriptPath is our own program that sets a port, for the apply and for the boot.
const scriptPath = "/usr/local/sbin/terraform-infiniband-port"

// UnitName is the service that sets a port at boot.
func UnitName(pci ib.PCIAddress, number int) string {
	return fmt.Sprintf("infiniband-port-%s-%d.service", pci, number)
}

// UnitPath is its file.
func UnitPath(pci ib.PCIAddress, number int) string {
	return systemctl.Units + UnitName(pci, number)
}

// Exit statuses of script where ibportstate reaches the port by no way, where the card is not
// the one to set, and where the script has disabled the port and could not enable it.
const (
	staysDisabled = 5
	noLink        = 6
	otherCard     = 7
	leftDisabled  = 8
)

// script sets one port. ibportstate needs the device and the port by name: it
// otherwise takes the first port with a link, and a disabled port has none
// ("can't open UMAD port ((null):0)"). A link takes new speeds and widths when it
// trains anew, which disabling and enabling the port makes it do; a disabled port
// of one's own can be enabled again because the request never leaves the host.
//
// ibportstate of rdma-core 56.0 to 60.0 opens no port that is down, also by name
// (find_preferred_ports in libibumad; 61.0, 60.1, 59.1, 58.1, 57.2 and 56.3 open it). There
// the link trains by "enable" alone, which asks for Polling, a disabled port is reached
// through another port of its device, and one whose link is not up yet is waited for.
// At boot the driver may come later than the service.
const script = scriptFinds + scriptCompares + scriptSets + scriptTrains

// formerScript and formerComparing are what earlier versions wrote. The first sets whatever
// card is in the slot. Both may leave a port disabled.
const (
	formerScript    = scriptFinds + scriptSets + formerTrains
	formerComparing = scriptFinds + scriptCompares + scriptSets + formerTrains
)

const scriptFinds = `#!/bin/sh
` + platform.Owner + ` Written by infiniband_port.
# $1 PCI address  $2 port  $3 enable or disable
# $4 speeds, $5 extended speeds, $6 widths: numbers of PortInfo, or - to leave them
PATH=/usr/sbin:/usr/bin:/sbin:/bin
pci=$1 port=$2 state=$3 speed=$4 extended=$5 width=$6
left=30 device=
while :; do
  for d in /sys/bus/pci/devices/"$pci"/infiniband/*; do
    [ -e "$d/ports/$port/state" ] && device=${d##*/}
  done
  [ -n "$device" ] && break
  left=$((left - 1))
  if [ "$left" -le 0 ]; then
    echo "no RDMA device of $pci has a port $port" >&2
    exit 3
  fi
  sleep 1
done
`

// scriptCompares is ib.Compare for what a host without a provider can read. The serial number
// decides: GUIDs may have been set anew, or have been given to another card. It can be lost by
// a cross-flash, and some cards have none; there the running node GUID, which every RDMA device
// shows, has to prove the card. lspci reads it, as it does for the collection: both see the same.
const scriptCompares = `# $7 serial number, $8 node GUID of the card to set, or - for what it does not show
# No other card is set that is in the slot now.
serial=${7:--} guid=${8:--} now=
if [ "$serial" != - ]; then
  while read -r key value; do
    case $key in '[SN]') now=${value#*: } ;; esac
  done <<END
$(timeout 20 lspci -vvs "$pci" 2>/dev/null)
END
  case $now in
  *[!A-Za-z0-9._-]* | [Nn][Aa] | [Nn][Oo][Nn][Ee] | [Uu][Nn][Kk][Nn][Oo][Ww][Nn]) now= ;;
  *[!0._-]*) ;;
  *) now= ;; # it was never set
  esac
fi
node=
IFS=: read -r a b c d <"/sys/class/infiniband/$device/node_guid" && node=$a$b$c$d
same=
if [ -n "$now" ]; then
  [ "$now" = "$serial" ] && same=1
elif [ -n "$node" ] && [ "$node" = "$guid" ]; then
  same=1
fi
if [ -z "$same" ]; then
  echo "nothing is set: $pci has the card with serial number ${now:-(not read)}, node GUID $node;" \
    "this is for serial number $serial, node GUID $guid" >&2
  exit 7
fi
`

const scriptSets = `ports=/sys/class/infiniband/$device/ports
only_up=
case $(ibportstate -V 2>&1) in
*' 56.'[0-2] | *' 57.'[01] | *' 58.0' | *' 59.0' | *' 60.0') only_up=1 ;;
esac
physical() { cat "$ports/$port/phys_state"; }
through() {
  by=$1
  shift
  said=$(timeout 20 ibportstate -C "$device" -P "$by" -D 0 "$port" "$@" 2>&1 >/dev/null)
}
set_port() {
  while ! through "$port" "$@"; do
    own=$said
    if [ -z "$only_up" ]; then
      echo "$own" >&2
      exit 4
    fi
    for p in "$ports"/*; do
      [ "${p##*/}" != "$port" ] && through "${p##*/}" "$@" && return
    done
    left=$((left - 1))
    case $(physical) in
    3:*) echo "$own" >&2 && exit 5 ;;
    5:*) [ "$left" -gt 0 ] || { echo "$own" >&2 && exit 4; } ;;
    *) [ "$left" -gt 0 ] || { echo "$own" >&2 && exit 6; } ;;
    esac
    sleep 1
  done
}
train=
if [ "$speed" != - ]; then set_port speed "$speed"; train=1; fi
if [ "$extended" != - ]; then set_port espeed "$extended"; train=1; fi
if [ "$width" != - ]; then set_port width "$width"; train=1; fi
if [ "$state" = enable ] && [ -z "$train" ]; then
  case $(physical) in
  3:* | '') ;; # what cannot be read may be disabled
  *) exit 0 ;;
  esac
fi
`

const formerTrains = `if [ -n "$train" ] && [ "$state" = enable ] && [ -z "$only_up" ]; then
  set_port disable
  sleep 1
fi
set_port "$state"
`

// scriptTrains goes on with a signal that is caught. One that was ignored would be ignored by
// ibportstate too, and timeout could not end it. A "disable" that failed may have arrived.
const scriptTrains = `if [ -n "$train" ] && [ "$state" = enable ] && [ -z "$only_up" ]; then
  # Whatever happens, the port must not stay disabled.
  trap : HUP INT TERM
  own=
  through "$port" disable || own=${said:-ibportstate gave no answer}
  sleep 1
  case ${own:+$(physical)} in
  '' | 3:*) ;;
  *) echo "$own" >&2 && exit 4 ;;
  esac
  for pause in 1 2 4 8 0; do
    through "$port" enable && exit 0
    sleep "$pause"
  done
  echo "${said:-ibportstate gave no answer}" >&2
  case $(physical) in
  3:* | '') exit 8 ;;
  *) exit 4 ;;
  esac
fi
set_port "$state"
`

// cardName is what tells a card from others at boot.
type cardName struct {
	serial string // empty: not known
	guid   ib.GUID
}

// nameOf is what names the card of a port. A serial number of other characters would be taken
// apart by systemd, and a GUID that many cards have names none.
func nameOf(c *inventory.Card) cardName {
	n := cardName{serial: c.Serial.Or("")}
	if (ib.Identity{Serial: n.serial}).Token() != n.serial {
		n.serial = ""
	}
	if ib.UniqueGUID(c.NodeGUID) {
		n.guid = c.NodeGUID
	}
	return n
}

// names reports whether the script takes the card now for the one that n names.
func (n cardName) names(now cardName) bool {
	// As scriptCompares: where both have a serial number it alone decides.
	if n.serial != "" && now.serial != "" {
		return n.serial == now.serial
	}
	return n.guid != 0 && n.guid == now.guid
}

func (n cardName) String() string {
	if n.serial != "" {
		return "serial number " + n.serial
	}
	return "node GUID " + n.guid.String()
}

func (n cardName) arguments() []string {
	if n == (cardName{}) {
		return nil // as earlier versions wrote
	}
	guid := "-"
	if n.guid != 0 {
		guid = n.guid.Hex()
	}
	return []string{cmp.Or(n.serial, "-"), guid}
}

// parseName reads what arguments gives.
func parseName(words []string) (n cardName) {
	if len(words) != 2 {
		return n
	}
	if words[0] != "-" {
		n.serial = words[0]
	}
	n.guid, _ = ib.ParseGUID(words[1])
	return n
}

// arguments are those of the script. A port without extended speeds takes none.
func arguments(d Request, extended bool) []string {
	state, speed, ext, width := "disable", "-", "-", "-"
	if d.Enabled {
		state = "enable"
	}
	if d.Speeds != 0 {
		speed = strconv.Itoa(d.Speeds.base())
		if extended {
			ext = strconv.Itoa(d.Speeds.extendedBits())
		}
	}
	if d.Widths != 0 {
		width = strconv.Itoa(int(d.Widths))
	}
	return append([]string{d.Card.String(), strconv.Itoa(d.Number), state, speed, ext, width}, d.card.arguments()...)
}

// unit is the text of the service. opensm comes after it: a port that is
// disabled while opensm starts has no SM.
func unit(d Request, extended bool) string {
	return platform.OwnedHeader(resourceName) + fmt.Sprintf(`[Unit]
Description=Set InfiniBand port %d of %s as Terraform configured it
After=rdma-hw.target systemd-modules-load.service
Before=opensm.service
ConditionPathExists=%s

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=%s %s

[Install]
WantedBy=multi-user.target
`, d.Number, d.Card, scriptPath, scriptPath, strings.Join(arguments(d, extended), " "))
}

// settingOf reads back what a unit of ours asks for; false if it was edited beyond
// recognition.
func settingOf(text string) (d Request, understood bool) {
	for line := range strings.Lines(text) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="+scriptPath+" ")
		words := strings.Fields(command)
		if !ok || len(words) != 6 && len(words) != 8 || words[2] != "enable" && words[2] != "disable" {
			continue
		}
		understood = true
		d.Enabled = words[2] == "enable"
		base, ext := number(words[3]), number(words[4])
		// "None of the extended ones" is written by a number of its own: 0 would be "no change".
		if ext == extNone {
			ext = 0
		}
		d.Speeds = Speeds(base&baseSpeeds | ext&extSpeeds<<extShift)
		d.Widths = Widths(number(words[5]))
		d.card = parseName(words[6:])
	}
	return d, understood
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 31 {
		return 0
	}
	return n
}
