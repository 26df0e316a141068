package ib

import (
	"fmt"
	"strings"
)

// PSID is the parameter-set id of a board, 1 to 16 printable ASCII
// characters, case sensitive. It says which firmware image fits the board. The
// empty PSID means "not known" and never equals another one in a decision.
type PSID string

// maxPSID is the room that firmware has for it.
const maxPSID = 16

// ParsePSID accepts 1 to 16 printable ASCII characters without spaces.
// Everything else is refused: mstflint prints what the flash holds as it is,
// escape sequences included. The error therefore quotes it in pure ASCII.
func ParsePSID(s string) (PSID, error) {
	if s == "" {
		return "", fmt.Errorf("invalid PSID %+q: empty", s)
	}
	if len(s) > maxPSID {
		return "", fmt.Errorf("invalid PSID %+q: %d characters, at most %d fit", s, len(s), maxPSID)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return "", fmt.Errorf("invalid PSID %+q: character %d is not printable ASCII", s, i+1)
		}
	}
	return PSID(s), nil
}

// String gives the PSID as it is.
func (p PSID) String() string { return string(p) }

// vendors maps the first three characters to the company that issued the
// board, as far as such PSIDs have been seen in public.
var vendors = map[string]string{
	"MT_": "Mellanox",
	"NVD": "NVIDIA",
	"DEL": "Dell",
	"HP_": "HPE",
	"HPE": "HPE",
	"SUN": "Sun (Oracle)",
	"BL_": "Atos (Bull)",
	"IBM": "IBM",
	"LNV": "Lenovo",
	"ORC": "Oracle",
	"ISL": "Isilon",
	"SM_": "Supermicro",
	"HUA": "Huawei",
}

// Firmware names what a flash holds, an image brings or a card runs.
type Firmware struct {
	PSID PSID
	FW   FWVersion
}

// Vendor names the company behind the three-character prefix, or "" if the
// prefix is not known. Boards of other companies than Mellanox and NVIDIA are
// OEM boards.
func (p PSID) Vendor() string {
	if len(p) < 3 {
		return ""
	}
	return vendors[strings.ToUpper(string(p[:3]))]
}
