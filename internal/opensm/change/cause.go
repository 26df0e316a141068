package change

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sysfs"
)

// Cause names what keeps a port from being served.
type Cause struct {
	Kind  CauseKind
	What  string // one sentence
	Check string // what to look at or to do, whole sentences
}

// CauseKind names a cause.
type CauseKind string

// The causes, from the host to the wire to the fabric.
const (
	CauseEthernet   CauseKind = "link type"
	CauseUMAD       CauseKind = "umad"
	CauseKernel     CauseKind = "kernel"
	CauseCache      CauseKind = "cache"
	CauseNotBound   CauseKind = "not bound"
	CauseNotRunning CauseKind = "not running"
	CauseBackToBack CauseKind = "duplicate GUID, back to back"
	CauseCable      CauseKind = "cable"
	CauseDisabled   CauseKind = "disabled"
	CauseTraining   CauseKind = "training"
	CauseDuplicate  CauseKind = "duplicate GUID"
	CauseZeroGUID   CauseKind = "zero GUID"
	CausePKey       CauseKind = "P_Key"
	CauseOtherSM    CauseKind = "other SM"
	CauseTimeouts   CauseKind = "no answers"
	CauseSM         CauseKind = "SM"
)

// Symptoms are what was seen of a port that is not served.
type Symptoms struct {
	Port    ib.GUID
	Sysfs   sysfs.Port
	Unit    string // of systemd: "active", "activating", "inactive", …
	HasUMAD bool   // the module ib_umad is loaded
	Kernel  string
	Version string // of opensm
	Log     tool.Log
	View    found.View // what the fabric says of its subnet managers
	// Wrong are the ports whose P_Key tables are not what the partitions say.
	Wrong []Mismatch
}

// check tells whether one cause holds, and what to say of it.
type check struct {
	kind  CauseKind
	is    func(Symptoms) bool
	what  func(Symptoms) string
	check string
}

// says is the text of a cause that needs no symptoms.
func says(text string) func(Symptoms) string { return func(Symptoms) string { return text } }

// checks run in order; the first that holds is the cause. What keeps opensm from
// running comes before what the port shows: without an SM the port shows only that.
var checks = []check{
	{CauseEthernet, func(s Symptoms) bool { return s.Sysfs.LinkLayer == "Ethernet" },
		says("the port is in Ethernet mode."), "Set it to \"ib\" with infiniband_link_type."},
	// The class 129 (0x81) is that of directed routes: without it opensm can address nothing.
	{CauseKernel, func(s Symptoms) bool { return s.Log.NoClass != "" },
		func(s Symptoms) string {
			return fmt.Sprintf("the kernel refuses opensm its management class %s (\"Unable to register class %s\"): Linux %s "+
				"and opensm %s do not work together.",
				s.Log.NoClass, s.Log.NoClass, s.Kernel, s.Version)
		}, "Boot the GA kernel of the release, or install an opensm with the fix (linux-rdma/opensm issue 37)."},
	// opensm reads its cache before it binds. It ends with FATAL if a file was half written, and its unit starts
	// it again and again.
	{CauseCache, func(s Symptoms) bool { return s.Log.Cache != "" },
		func(s Symptoms) string {
			return "a cache file of opensm is damaged (" + s.Log.Cache +
				"), for example by a power cut, and opensm does not start."
		}, "Move the directory away and start opensm again. Ports may get other LIDs, and open connections may break: " +
			"systemctl stop UNIT; mv /var/cache/opensm /var/cache/opensm.damaged; mkdir /var/cache/opensm; systemctl start " +
			"UNIT. A standby that runs meanwhile keeps the fabric."},
	{CauseBackToBack, func(s Symptoms) bool { return s.Log.BackToBack },
		says("both ends of the cable have the same GUID, and opensm ends at once."),
		"Give one of the cards GUIDs of its own with infiniband_guids."},
	// A unit that was skipped for want of the device has no log at all.
	{CauseUMAD, func(s Symptoms) bool { return s.Log.NoUMAD != "" || !s.HasUMAD && s.Unit != "active" },
		says("opensm cannot open the port: the module ib_umad is not loaded, or its device /dev/infiniband/umad* is not " +
			"there."),
		"Load it (modprobe ib_umad) and look at the kernel's log; systemd skips the unit without a message while the " +
			"device is missing."},
	// Two opensm on one port: the kernel gives the management classes to the first.
	{CauseNotBound, func(s Symptoms) bool { return s.Log.CannotBind && !s.Sysfs.IsSM },
		says("opensm cannot bind to the port: another opensm holds it, or no port of the host has this GUID."),
		"Look for another one (pgrep -a opensm) and stop it. opensm ends with status 0 here, so that systemd calls it a " +
			"success."},
	{CauseNotRunning, func(s Symptoms) bool { return s.Unit != "active" },
		func(s Symptoms) string { return fmt.Sprintf("opensm does not run: its unit is %q.", s.Unit) },
		"Look at the log. opensm ends with status 0 even when it fails."},
	// From here on opensm runs, and the port says what is wrong (IBA, PortInfo.PortPhysicalState).
	{CauseCable, func(s Symptoms) bool { return s.Sysfs.Physical == "Polling" || s.Sysfs.Physical == "Sleep" },
		says("the port has no link: nothing answers at the other end of the cable."),
		"Check the cable, that the other end is on, and that it is in InfiniBand mode: a port in Ethernet mode never " +
			"answers an InfiniBand port."},
	{CauseDisabled, func(s Symptoms) bool { return s.Sysfs.Physical == "Disabled" },
		says("the port is switched off."), "Enable it with infiniband_port or ibportstate, or reload the driver."},
	{CauseTraining, func(s Symptoms) bool { return s.Sysfs.Physical != "LinkUp" },
		func(s Symptoms) string {
			return fmt.Sprintf("the link is not trained: it stays in %s.", s.Sysfs.Physical)
		},
		"Check the cable and the port of the switch; a cable of another speed or a worn plug can cause this. The state " +
			"should not last."},
	// opensm logs a duplicate at each sweep, and never comes to configure a port. exit_on_fatal does not end it.
	{CauseDuplicate, func(s Symptoms) bool { return s.Log.Duplicated || len(s.View.Duplicates()) > 0 },
		func(s Symptoms) string {
			return "two nodes of the fabric have one GUID" + describeGUIDs(append(s.Log.Duplicate, s.View.Duplicates()...)) +
				"; opensm starts its discovery over and over (ERR 0D01), and every port of the fabric stays as it is."
		}, "Give one of them GUIDs of its own with infiniband_guids. Cards that were burned from one image with GUIDs have " +
			"the same."},
	{CauseZeroGUID, func(s Symptoms) bool { return s.Port.IsZero() || s.Log.ZeroGUID && !s.Log.SubnetUp },
		says("a card of the fabric has the GUID 0 and cannot be addressed (ERR 0D16)."),
		"Set its GUIDs with infiniband_guids; a burn that does not keep the GUIDs of the card causes this."},
	{CauseNotBound, func(s Symptoms) bool { return !s.Sysfs.IsSM },
		says("opensm runs without being bound to the port."),
		"Look at the log for \"Error from osm_opensm_bind\"."},
	// Only the master configures ports, and it has to reach this one.
	{CauseOtherSM, func(s Symptoms) bool { return fact.Yes(s.View.Ruled) && s.View.Master.GUID != s.Port },
		func(s Symptoms) string {
			return fmt.Sprintf("the subnet manager on port %s rules the fabric with priority %d and has not configured this "+
				"port.", s.View.Master.GUID, s.View.Master.Priority)
		}, "Look at that subnet manager. One on a switch may hold keys that keep new hosts out. One that hangs keeps its " +
			"role."},
	{CausePKey, func(s Symptoms) bool { return len(s.Wrong) > 0 }, describeTables,
		"Look at the log for messages about the partition file. If the file has one error, opensm " +
			"ignores all of it, and every port is a full member of the default partition only. Check with " +
			"systemctl cat UNIT whether opensm is started with another file, and whether another subnet " +
			"manager has configured the ports."},
	{CauseTimeouts, func(s Symptoms) bool { return s.Log.Timeouts > 0 && !s.Log.SubnetUp },
		says("nodes of the fabric do not answer the subnet manager in time, so that its discovery does not end."),
		"Look in the log for the directed route of the queries that ended with IB_TIMEOUT: the node at its end, or a cable " +
			"on the way, is bad."},
	{CauseSM, func(Symptoms) bool { return true },
		says("opensm is bound to the port and does not bring the fabric up."),
		"Look at its log, and at sminfo on this host."},
}

// findCause gives the first cause that holds.
func findCause(s Symptoms) Cause {
	for _, c := range checks {
		if c.is(s) {
			return Cause{Kind: c.kind, What: c.what(s), Check: strings.ReplaceAll(c.check, "UNIT", tool.Unit(s.Port))}
		}
	}
	return Cause{} // the last check always holds
}

// describeGUIDs names the first one, which is enough to look for it.
func describeGUIDs(all []ib.GUID) string {
	if len(all) == 0 {
		return ""
	}
	return ", " + all[0].String()
}

// describeTables names the ports whose tables are wrong, at most a few.
func describeTables(s Symptoms) string {
	const most = 5
	var words []string
	for _, m := range s.Wrong[:min(most, len(s.Wrong))] {
		words = append(words, m.String())
	}
	if more := len(s.Wrong) - most; more > 0 {
		words = append(words, fmt.Sprintf("and %d ports more", more))
	}
	text := strings.Join(words, ". ") + "."
	if s.Log.Partitions != "" {
		text += " opensm says: " + strings.TrimSuffix(s.Log.Partitions, ".") + "."
	}
	return text
}
