package infiniband

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// stateTeller logs what a manager becomes; complaints are of the partition file, which one
// reads as it becomes master.
func stateTeller(sm *labsim.SM, say, logFile func(string), complaints []string) func(int) {
	standby := false
	return func(st int) {
		if standby && st == labsim.SMMaster { // it looks at the fabric first
			say("Entering DISCOVERING state")
		}
		standby = st == labsim.SMStandby
		switch st {
		case labsim.SMMaster:
			for _, line := range complaints {
				say(line)
			}
			complaints = nil
			foreign, locked := sm.Trouble()
			if foreign != 0 {
				logFile(fmt.Sprintf("0x01 -> smi_rcv_process_get_response: ERR 2F18: Got SM (0,1,1) with sm_key 0x%016x that "+
					"doesn't match our local sm_key. Ignoring SMInfo", foreign))
				say("Found remote SM (0,1,1) with non-matching sm_key")
			}
			say("Entering MASTER state")
			if locked {
				logFile("0x80 -> Errors during initialization")
			} else {
				logFile("0x02 -> SUBNET UP")
			}
		case labsim.SMStandby:
			say("Entering STANDBY state")
		case labsim.SMDiscover:
			logFile("0x01 -> state_mgr_check_master: discovering")
		}
	}
}

// logLines writes lines with the GUID of a port.
func logLines(logFile func(string), lines []string, guid uint64) {
	for _, line := range lines {
		logFile(strings.ReplaceAll(line, "<guid>", fmt.Sprintf("0x%x", guid)))
	}
}

// What the log says before and as a port is bound, and where there is none of the GUID.
var (
	smGreeting = []string{"0x80 -> OpenSM 3.3.23", "0x80 -> OpenSM 3.3.23",
		"0x02 -> osm_vendor_init: 1000 pending umads specified",
	}
	smBound = []string{
		"0x02 -> osm_vendor_bind: Mgmt class 0x81 binding to port GUID <guid>",
		"0x02 -> osm_vendor_bind: Mgmt class 0x03 binding to port GUID <guid>",
		"0x02 -> osm_vendor_bind: Mgmt class 0x04 binding to port GUID <guid>",
		"0x02 -> osm_vendor_bind: Mgmt class 0x21 binding to port GUID <guid>",
		"0x02 -> osm_opensm_bind: Setting IS_SM on port <guid>",
	}
	smUnbound = []string{
		"0x02 -> osm_vendor_bind: Mgmt class 0x81 binding to port GUID <guid>",
		"0x01 -> osm_vendor_open_port: ERR 5422: Unable to find requested CA guid <guid>",
		"0x01 -> osm_vendor_bind: ERR 5424: Unable to open port <guid>",
		"0x01 -> osm_sm_mad_ctrl_bind: ERR 3118: Vendor specific bind failed",
		"0x01 -> osm_sm_bind: ERR 2E10: SM MAD Controller bind failed (IB_ERROR)",
		"0x01 -> perfmgr_mad_unbind: ERR 5405: No previous bind",
		"0x01 -> osm_congestion_control_shutdown: ERR C108: No previous bind",
		"0x01 -> osm_sa_mad_ctrl_unbind: ERR 1A11: No previous bind",
	}
)

// knownKeys is where opensm keeps the M_Keys of the ports that it has set up.
const knownKeys = "/var/cache/opensm/guid2mkey"

func (s *state) readKnownKeys() map[uint64]uint64 {
	known := map[uint64]uint64{}
	data, err := s.m.FS.ReadFile(knownKeys)
	if err != nil {
		return known
	}
	for line := range strings.Lines(string(data)) {
		var guid, key uint64
		if _, err := fmt.Sscanf(line, "0x%x 0x%x", &guid, &key); err == nil {
			known[guid] = key
		}
	}
	return known
}

func (s *state) writeKnownKeys(sm *labsim.SM) {
	var text strings.Builder
	for guid, key := range sm.KnownKeys() {
		_, _ = fmt.Fprintf(&text, "0x%016x 0x%016x\n\n", guid, key)
	}
	s.m.FS.Put(knownKeys, text.String(), 0o600)
}
