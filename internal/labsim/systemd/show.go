package systemd

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// showOrder is the order in which systemctl prints properties, whatever order
// they were asked in.
var showOrder = []string{
	"Type", "Restart", "NextElapseUSecRealtime", "NextElapseUSecMonotonic", "LastTriggerUSec", "MainPID", "ControlPID",
	"RemainAfterExit", "Result", "ExecMainStartTimestamp", "ExecMainStartTimestampMonotonic", "ExecMainExitTimestamp",
	"ExecMainExitTimestampMonotonic", "ExecMainPID", "ExecMainCode", "ExecMainStatus", "Id", "Names", "PartOf",
	"Description", "LoadState", "ActiveState", "SubState", "FragmentPath", "UnitFileState", "StateChangeTimestamp",
	"ActiveEnterTimestamp", "ActiveEnterTimestampMonotonic", "InactiveEnterTimestamp", "ConditionResult",
	"NeedDaemonReload",
	"Transient", "InvocationID",
}

// timerOnly are properties that only timers have; services do not print them.
var timerOnly = map[string]bool{"NextElapseUSecRealtime": true, "NextElapseUSecMonotonic": true,
	"LastTriggerUSec": true}

var serviceOnly = map[string]bool{
	"Type": true, "Restart": true, "MainPID": true, "ControlPID": true, "RemainAfterExit": true,
	"ExecMainStartTimestamp": true, "ExecMainStartTimestampMonotonic": true, "ExecMainExitTimestamp": true,
	"ExecMainExitTimestampMonotonic": true, "ExecMainPID": true, "ExecMainCode": true, "ExecMainStatus": true,
}

func show(_ context.Context, p *labsim.Proc, o *labsim.Flags, names []string) int {
	s := Of(p.Machine)
	asked := map[string]bool{}
	for _, v := range o.All("property") {
		for _, k := range strings.Split(v, ",") {
			asked[k] = true
		}
	}
	if len(asked) == 0 || len(names) == 0 {
		return p.Unknown("show without --property or unit")
	}
	for k := range asked {
		if !slices.Contains(showOrder, k) {
			p.Machine.Violate("systemctl show: property %s is not simulated", k)
		}
	}
	for i, n := range s.resolve(names) {
		if i > 0 {
			p.Printf("\n")
		}
		s.showUnit(p, n, asked, o.Has("value"))
	}
	return 0
}

func (s *Manager) showUnit(p *labsim.Proc, name string, asked map[string]bool, bare bool) {
	props := s.properties(name)
	for _, k := range showOrder {
		switch {
		case !asked[k], timerOnly[k] && path.Ext(name) != ".timer", serviceOnly[k] && path.Ext(name) != ".service":
		case bare:
			p.Printf("%s\n", props[k])
		default:
			p.Printf("%s=%s\n", k, props[k])
		}
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// properties describes a unit; one that does not exist is not-found and
// inactive with a result of success.
func (s *Manager) properties(name string) map[string]string {
	fileState, masked := s.fileState(name), s.Masked(name)
	u := s.unit(name)
	props := map[string]string{
		"Id": name, "Names": name, "Description": name, "LoadState": "not-found", "ActiveState": "inactive",
		"SubState": "dead", "Result": "success", "MainPID": "0", "ControlPID": "0", "ExecMainPID": "0", "ExecMainCode": "0",
		"ExecMainStatus": "0", "ExecMainStartTimestampMonotonic": "0", "ExecMainExitTimestampMonotonic": "0",
		"ActiveEnterTimestampMonotonic": "0", "Type": "simple", "Restart": "no", "RemainAfterExit": "no",
		"Transient": "no", "ConditionResult": "no", "NeedDaemonReload": "no", "UnitFileState": fileState,
	}
	if masked {
		props["LoadState"] = "masked"
	}
	if u == nil {
		return props
	}
	fresh := s.loadUnit(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !masked {
		props["LoadState"] = "loaded"
	}
	for k, v := range map[string]string{
		"Description": u.desc, "ActiveState": u.active, "SubState": u.sub, "Result": u.result, "Type": u.spec.kind,
		"MainPID": strconv.Itoa(u.mainPID), "ExecMainPID": strconv.Itoa(u.mainPID), "ExecMainCode": strconv.Itoa(u.code),
		"ExecMainStatus": strconv.Itoa(u.status), "RemainAfterExit": yesNo(u.spec.remain), "Transient": yesNo(u.transient),
		"ExecMainStartTimestamp": timestamp(u.started), "ExecMainStartTimestampMonotonic": monotonic(s, u.started),
		"ExecMainExitTimestamp": timestamp(u.exited), "ExecMainExitTimestampMonotonic": monotonic(s, u.exited),
		"ActiveEnterTimestamp": timestamp(u.started), "ActiveEnterTimestampMonotonic": monotonic(s, u.started),
		"StateChangeTimestamp": timestamp(u.started), "InactiveEnterTimestamp": timestamp(u.exited),
		"ConditionResult": yesNo(!u.started.IsZero()), "InvocationID": u.invocation,
	} {
		props[k] = v
	}
	if u.timer != nil {
		due := u.timer.Due()
		props["NextElapseUSecMonotonic"] = spanText(due.Sub(s.m.BootTime()))
		props["NextElapseUSecRealtime"] = ""
	}
	if u.file != nil {
		props["FragmentPath"] = u.file.Path
		props["PartOf"] = strings.Join(u.file.Values["Unit.PartOf"], " ")
		props["NeedDaemonReload"] = yesNo(fresh != nil && fmt.Sprint(fresh.Values) != fmt.Sprint(u.file.Values))
	} else if u.transient {
		props["FragmentPath"] = "/run/systemd/transient/" + name
	}
	return props
}

func catUnits(_ context.Context, p *labsim.Proc, _ *labsim.Flags, names []string) int {
	s := Of(p.Machine)
	for _, n := range names {
		f := s.loadUnit(n)
		if f == nil {
			p.Errorf("No files found for %s.\n", n)
			return 1
		}
		data, err := p.Machine.FS.ReadFile(f.Path)
		if err != nil {
			return p.Fail(1, "%v", err)
		}
		p.Printf("# %s\n%s", f.Path, data)
	}
	return 0
}
