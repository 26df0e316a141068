package port

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// wantsPath is the link that "systemctl enable" makes.
func wantsPath(pci ib.PCIAddress, number int) string {
	return "/etc/systemd/system/multi-user.target.wants/" + UnitName(pci, number)
}

const resourceName = "infiniband_port"

// scriptPath is our own program that sets a port, for the apply and for the boot.
const scriptPath = "/usr/local/sbin/terraform-infiniband-port"

// UnitName is the service that sets a port at boot.
func UnitName(pci ib.PCIAddress, number int) string {
	return fmt.Sprintf("infiniband-port-%s-%d.service", pci, number)
}

// UnitPath is its file.
func UnitPath(pci ib.PCIAddress, number int) string {
	return "/etc/systemd/system/" + UnitName(pci, number)
}

// Exit statuses of script where ibportstate reaches the port by no way.
const (
	staysDisabled = 5
	noLink        = 6
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
const script = `#!/bin/sh
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
ports=/sys/class/infiniband/$device/ports
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
if [ -n "$train" ] && [ "$state" = enable ] && [ -z "$only_up" ]; then
  set_port disable
  sleep 1
fi
set_port "$state"
`

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
	return []string{d.Card.String(), strconv.Itoa(d.Number), state, speed, ext, width}
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
		if !ok || len(words) != 6 || words[2] != "enable" && words[2] != "disable" {
			continue
		}
		understood = true
		d.Enabled = words[2] == "enable"
		base, ext := number(words[3]), number(words[4])
		if ext == extNone {
			ext = 0
		}
		d.Speeds = Speeds(base&baseSpeeds | ext&extSpeeds<<extShift)
		d.Widths = Widths(number(words[5]))
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
