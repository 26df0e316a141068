package labs

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// gen5Base is the first GUID of the lab's ConnectX-4 and ConnectX-5 cards.
const gen5Base = 0xec0d9a030076eae0

// ConnectX4 describes a host with one ConnectX-4 that runs 12.28.2006, the i-th of
// its lab. Its user is ops, with password-less sudo.
func ConnectX4(name, address string, i int) Host {
	return laterChip(name, address, i, card.ConnectX4, card.CX4(card.PSIDCX4, [3]uint16{12, 28, 2006}))
}

// ConnectX5 is ConnectX4 with one ConnectX-5 that runs 16.35.4030.
func ConnectX5(name, address string, i int) Host {
	return laterChip(name, address, i, card.ConnectX5, card.CX5([3]uint16{16, 35, 4030}))
}

func laterChip(name, address string, i int, chip card.Chip, image []byte) Host {
	h := ubuntu(name, address, i)
	guid := gen5Base + uint64(i)*16
	h.Cards = []labsim.CardConfig{{
		BDF: "0000:01:00.0", Product: chip.Name + " EDR QSFP28", PartNumber: "MCX455A-ECAT",
		SerialNumber: fmt.Sprintf("MT1712X%05d", i),
		Config: card.Config{Chip: chip, Image: image, GUIDs: [4]uint64{guid},
			MACs: [2]uint64{guid>>40<<24 | guid&0xffffff}},
	}}
	return h
}
