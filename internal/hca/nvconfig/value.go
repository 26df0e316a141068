package nvconfig

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Request is what is asked of the settings of a card: values by the names of mstconfig, as its set takes
// them: true, 8, 0xffff, PXE.
type Request struct {
	Host       string
	Card       ib.PCIAddress
	Settings   map[string]string
	Activation safety.Activation
	Consent    []string // interfaces of the card that may go down during the restart
}

// names are the settings that are asked for, in the order in which they are set.
func (q Request) names() []string { return slices.Sorted(maps.Keys(q.Settings)) }

// Functions is how many virtual functions a card offers with these settings; nil if they leave that to others.
func (q Request) Functions() *int64 {
	number, err := strconv.ParseInt(q.Settings["NUM_OF_VFS"], 0, 32)
	switch on, set := q.Settings["SRIOV_EN"]; {
	case set && inventory.ParseSettingValue("False(0)").Is(on):
		number = 0
	case err != nil:
		return nil
	}
	return &number
}

var (
	// x86 is for EXP_ROM_UEFI_x86_ENABLE. What fits cannot be an option of the tool.
	nameForm  = regexp.MustCompile(`^_?[A-Z](?:[A-Z0-9_]|x86)*$`)
	valueForm = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
)

// CheckSetting says what is wrong with a setting, whatever the card is.
func CheckSetting(name, value string) error {
	switch {
	case strings.HasPrefix(name, "LINK_TYPE"):
		return fmt.Errorf("%s belongs to infiniband_link_type, which also knows the driver and what uses the port: "+
			"write the type of the port there", name)
	case !nameForm.MatchString(name):
		return fmt.Errorf("%q is not the name of a setting: want one as mstconfig prints it, such as SRIOV_EN", name)
	case !valueForm.MatchString(value):
		return fmt.Errorf("%s = %q: want one word or number, such as true, 8, 0xffff or PXE", name, value)
	}
	return nil
}

// words are the values of settings that have names, by the database of mstflint 4.21. Those of 4.31 are
// the same. What is not in this list is left to the tool.
var words = map[string][]string{
	"LEGACY_BOOT_PROTOCOL": {"NONE", "PXE", "ISCSI", "PXE_WO_FAIL_ISCSI", "ISCSI_WO_FAIL_PXE"},
	"PCI_WR_ORDERING":      {"per_mkey", "force_relax"},
	"IP_VER":               {"IPv4", "IPv6", "IPv4_IPv6", "IPv6_IPv4"},
	"CQE_COMPRESSION":      {"BALANCED", "AGGRESSIVE"},
	"ROCE_CONTROL":         {"DEVICE_DEFAULT", "ROCE_DISABLE", "ROCE_ENABLE"},
}

// limits are the largest values of settings by the width of their field, in the same database. A card
// may allow less.
var limits = map[string]uint64{"BOOT_PKEY": 0xffff, "BOOT_VLAN": 0xfff, "NUM_OF_VFS": 0xffff}
