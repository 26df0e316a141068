// Package sriov keeps the virtual functions of a card that mlx5_core drives, their number and on InfiniBand their GUIDs
// and link states: now, and at every boot.
//
// It must not import Terraform.
package sriov

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// Request is what the configuration asks for. Consent are the addresses of functions in use that may be removed.
type Request struct {
	Host    string
	Card    ib.PCIAddress
	Number  int
	Consent []string
	// LinkState is that of the ports of all functions; empty to leave ports and GUIDs alone. The GUIDs are by the number
	// of the function, from 0, and those that are left out have defaults.
	LinkState            string
	NodeGUIDs, PortGUIDs map[int]ib.GUID
	Ports                []Port // what follows from these and the card, see Complete
}

// Name says which card it is, for a sentence.
func (q Request) Name() string { return q.Host + "/" + q.Card.String() }

// Announce says what an apply does to a card that has so many functions.
func (q Request) Announce(now int) string {
	text := "writes " + unitPath(q.Card) + "; enables " + UnitName(q.Card)
	if q.LinkState != "" {
		text += "; sets GUIDs and link states as in ports"
	}
	if now == q.Number {
		return text
	}
	anew := ""
	if now > 0 {
		anew = ", all made anew"
	}
	return fmt.Sprintf("number: %d -> %d%s; %s", now, q.Number, anew, text)
}

// UnitName is the service that makes the functions at boot.
func UnitName(pci ib.PCIAddress) string { return "infiniband-vfs-" + pci.String() + ".service" }

func unitPath(pci ib.PCIAddress) string { return systemctl.Units + UnitName(pci) }

// unit is the text of the service. The driver may come later than the service; an empty slot has nothing to
// wait for. The kernel takes the number that a card has already, and no other but from 0 (sriov_numvfs_store of
// drivers/pci/iov.c): no boot removes functions.
func unit(pci ib.PCIAddress, number int, ports []Port) string {
	return platform.OwnedHeader("infiniband_virtual_functions") + fmt.Sprintf(`[Unit]
Description=Make virtual functions of %[2]s as Terraform configured it
After=systemd-modules-load.service
Before=libvirtd.service virtqemud.service pve-guests.service

[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=90
ExecStart=/bin/sh -c 'cd %[1]s || exit 0; until [ -e driver ]; do sleep 1; done; echo %[3]d >sriov_numvfs'%[4]s

[Install]
WantedBy=multi-user.target
`, "/sys/bus/pci/devices/"+pci.String(), pci, number, portsCommand(pci, ports))
}

// numberOf reads back what a unit of ours makes; 0 if it makes none.
func numberOf(text string) int {
	_, after, _ := strings.Cut(text, "done; echo ")
	// Up to the blank: the line goes on with the file.
	word, _, _ := strings.Cut(after, " ")
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// words say how many functions are there now and at boot.
func words(now, boot int) string {
	if now == boot {
		return strconv.Itoa(now)
	}
	return fmt.Sprintf("%d, at boot %d", now, boot)
}
