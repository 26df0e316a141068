package labs

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// Named are the labs that can be started by name; each has an example lab-NAME.
var Named = map[string]func() []Host{
	"crossflash": TwoHosts, "point-to-point": PointToPoint, "qlogic": QLogic, "gpu": GPU, "oem": OEM,
}

// Managers are the hosts that run the subnet manager in the example of each lab.
var Managers = map[string]string{
	"crossflash": Intel9, "point-to-point": "debian1", "qlogic": "ubuntu-pc", "gpu": "r730a", "oem": "dl360a",
}

// Names are the names of the labs in order.
func Names() []string { return slices.Sorted(maps.Keys(Named)) }

// CrossFlashCard is an entry of the variable "cards" of examples/lab-crossflash.
type CrossFlashCard struct {
	PCIAddress string `json:"pci_address"`
	BaseMAC    string `json:"base_mac"`
	Port       int    `json:"port"`
	Address    string `json:"address"`
}

// CrossFlashCards are the cards of TwoHosts as the example names them.
func CrossFlashCards() map[string]CrossFlashCard {
	return map[string]CrossFlashCard{
		Intel9:   {"0000:01:00.0", "e4:1d:2d:e4:4e:d0", 1, "172.16.0.20/24"},
		Xeon2zfs: {"0000:04:00.0", "e4:1d:2d:e4:4e:e0", 2, "172.16.0.10/24"}, // ibs4d1
	}
}

// PointToPoint describes two Debian hosts with an InfiniHost III Ex each and one
// cable between them: no switch, ifupdown.
func PointToPoint() []Host {
	hosts := []Host{
		distribution("debian1", labsim.Debian12, "192.0.2.31", 0),
		distribution("debian2", labsim.Debian13, "192.0.2.32", 1),
	}
	for i := range hosts {
		node := 0x0002c90200298e00 + uint64(i)*8
		hosts[i].Cards = []labsim.CardConfig{labsim.WithoutFlash("0000:01:00.0", labsim.MTHCA(), [3]uint16{5, 3, 0},
			"MT_9230000001",
			[4]uint64{node, node + 1, node + 2, node + 3})}
		hosts[i].Cards[0].Product = "InfiniHost III Ex"
	}
	hosts[0].Direct = hosts[1].Name
	return hosts
}

// QLogic describes a PC with Ubuntu and one with Arch, each with a QLE7340, and
// one cable between them.
func QLogic() []Host {
	hosts := []Host{
		distribution("ubuntu-pc", labsim.Ubuntu, "192.0.2.41", 0),
		distribution("arch-pc", labsim.Arch, "192.0.2.42", 1),
	}
	for i := range hosts {
		guid := 0x0011750000791fec + uint64(i)*0x10
		hosts[i].Modules, hosts[i].Packages = true, []string{"rdma-core"}
		hosts[i].Cards = []labsim.CardConfig{labsim.WithoutFlash("0000:01:00.0", labsim.QIB(), [3]uint16{}, "",
			[4]uint64{guid, guid, 0, guid})}
	}
	hosts[0].Direct = hosts[1].Name
	return hosts
}

// GPU describes three RHEL servers with a one-port ConnectX-4 each on an unmanaged
// QDR switch.
func GPU() []Host {
	hosts := []Host{
		distribution("r720", labsim.RHEL9, "192.0.2.51", 0),
		distribution("r730a", labsim.RHEL10, "192.0.2.52", 1),
		distribution("r730b", labsim.RHEL10, "192.0.2.53", 2),
	}
	for i := range hosts {
		hosts[i].Cards = ConnectX4("", "192.0.2.1", i).Cards
		own := card.CX4Spec(card.PSIDCX4, [3]uint16{12, 28, 2006})
		own.Signed, own.Flags = true, card.FlagControlled // as such cards are bought: it writes its own flash
		hosts[i].Cards[0].Image = card.BuildTOC(own)
		hosts[i].Cards[0].BDF, hosts[i].Cards[0].Product = "0000:81:00.0", "CX455A - ConnectX-4 QSFP28"
		hosts[i].Packages, hosts[i].Switch = []string{"rdma-core"}, IS5022
	}
	return hosts
}

// OEM describes two servers with an HP 544+FLR-QSFP each: a ConnectX-3 Pro with
// HP's firmware, which speaks InfiniBand as it is. Both ports are cabled.
func OEM() []Host {
	hosts := []Host{
		distribution("dl360a", labsim.Ubuntu, "192.0.2.61", 0),
		distribution("dl360b", labsim.Ubuntu, "192.0.2.62", 1),
	}
	for i := range hosts {
		mac := 0x248a07a1b200 + uint64(i)*0x10
		model := labsim.MLX4()
		model.Subsystem = 0x103c
		hosts[i].Modules, hosts[i].Packages = true, []string{"rdma-core"}
		hosts[i].Cards = []labsim.CardConfig{{
			BDF: "0000:04:00.0", Model: model, SubsystemID: 0x22f5,
			Product: "HP InfiniBand FDR/Ethernet 10Gb/40Gb 2-port 544+FLR-QSFP Adapter", PartNumber: "764285-B21",
			SerialNumber: fmt.Sprintf("IL2550X%04d", i),
			Config: card.Config{
				Chip: card.ConnectX3Pro, Image: card.HP(), GUIDs: card.GUIDsFromBase(card.GUIDFromMAC(mac)), MACs: [2]uint64{mac,
					mac + 1},
			},
		}}
	}
	hosts[0].Direct = hosts[1].Name
	return hosts
}

// IS5022 is the eight-port unmanaged QDR switch.
const IS5022 = "IS5022"

func distribution(name string, os labsim.OS, address string, i int) Host {
	h := ubuntu(name, address, i)
	h.OS, h.Modules = os, false
	return h
}
