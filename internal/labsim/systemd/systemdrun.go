package systemd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// runProperties are the service properties that systemd-run may set here; those
// with false change nothing in the lab.
var runProperties = map[string]bool{
	"RemainAfterExit": true, "StandardOutput": true, "ExecStopPost": false,
	"KillMode": true, "TimeoutStopSec": true, "TimeoutStartSec": false, "RuntimeMaxSec": true, "SendSIGKILL": true,
	"OOMScoreAdjust": false, "OOMPolicy": false, "IgnoreSIGPIPE": false, "UMask": false, "Nice": false,
	"DefaultDependencies": false, "CollectMode": false, "StandardInput": false, "FinalKillSignal": false,
	"KillSignal": true, "SuccessExitStatus": false, "RefuseManualStop": false, "Restart": false,
}

var timerProperties = map[string]bool{"AccuracySec": true, "RemainAfterElapse": true, "Persistent": true,
	"RandomizedDelaySec": true}

// systemdRun starts a transient service, at once or by a timer. The service is
// not a child of the caller: it goes on when the SSH session ends and dies with
// the machine.
func systemdRun(ctx context.Context, p *labsim.Proc, o *labsim.Flags) int {
	if p.UID != 0 {
		p.Errorf("Failed to start transient service unit: Interactive authentication required.\n")
		return 1
	}
	if len(o.Args) == 0 && !o.Has("unit") {
		p.Errorf("Command line to execute required.\n")
		return 1
	}
	s := Of(p.Machine)
	u, rc := s.transientUnit(p, o)
	if rc != 0 {
		return rc
	}
	if o.Has("on-active") {
		return s.runTimer(p, o, u)
	}
	return s.runNow(ctx, p, o, u)
}

func (s *Manager) transientUnit(p *labsim.Proc, o *labsim.Flags) (*unit, int) {
	name := fullName(o.Or("unit", "run-u"+strconv.Itoa(p.PID)))
	u := &unit{
		name: name, desc: o.Or("description", strings.Join(o.Args, " ")), transient: true, collect: o.Has("collect"),
		active: "inactive", sub: "dead", result: "success", invocation: newID(),
		spec: serviceSpec{kind: "simple", main: [][]string{o.Args}, user: "root"},
	}
	for _, prop := range o.All("property") {
		k, v, ok := strings.Cut(prop, "=")
		if _, known := runProperties[k]; !ok || !known {
			p.Machine.Violate("systemd-run: property %q is not simulated", prop)
			p.Errorf("Unknown assignment: %s\n", prop)
			return nil, 1
		}
		if !u.setProperty(k, v) {
			p.Errorf("Failed to parse %s= parameter: %s\n", k, v)
			return nil, 1
		}
	}
	return u, 0
}

func (u *unit) setProperty(k, v string) bool {
	switch k {
	case "RemainAfterExit":
		u.spec.remain = IsYes(v)
	case "StandardOutput":
		u.spec.stdout = v
	default:
		return u.spec.setKill(k, v)
	}
	return true
}

func IsNo(v string) bool { return v == "no" || v == "false" || v == "0" || v == "off" }

func IsYes(v string) bool { return v == "yes" || v == "true" || v == "1" || v == "on" }

// setKill sets how a service is stopped.
func (s *serviceSpec) setKill(k, v string) bool {
	switch k {
	case "KillMode":
		s.killMode = v
		return v == "control-group" || v == "mixed" || v == "process"
	case "SendSIGKILL":
		s.noSigkill = !IsYes(v)
	case "KillSignal":
		sig, ok := signals[strings.TrimPrefix(v, "SIG")]
		s.killSignal = sig
		return ok
	case "RuntimeMaxSec":
		d, err := parseSpan(v)
		s.runtimeMax = d
		return err == nil
	case "TimeoutStopSec":
		d, err := parseSpan(v)
		s.stopTimeout = d
		return err == nil
	}
	return true
}

// taken says whether a unit of that name is loaded; a failed transient unit
// stays so until reset-failed.
func (s *Manager) taken(name string) bool {
	s.mu.Lock()
	_, loaded := s.units[name]
	s.mu.Unlock()
	return loaded || s.loadUnit(name) != nil
}

func (s *Manager) put(u *unit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.units[u.name] = u
}

func (s *Manager) runNow(ctx context.Context, p *labsim.Proc, o *labsim.Flags, u *unit) int {
	if s.taken(u.name) {
		p.Errorf("Failed to start transient service unit: Unit %s was already loaded or has a fragment file.\n", u.name)
		return 1
	}
	s.put(u)
	done := make(chan error, 1)
	go func() { done <- s.Start(u.name) }()
	// A oneshot is waited for: start returns when it has ended.
	select {
	case err := <-done:
		if err != nil {
			p.Errorf("%s\n", err.Error())
			return 1
		}
	case <-ctx.Done():
		return labsim.SignalStatus(ctx)
	}
	s.announce(p, o, u)
	return 0
}

func (s *Manager) announce(p *labsim.Proc, o *labsim.Flags, u *unit) {
	if o.Has("quiet") {
		return
	}
	if s.m.OS.System().Systemd < 254 {
		p.Errorf("Running as unit: %s\n", u.name)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Errorf("Running as unit: %s; invocation ID: %s\n", u.name, u.invocation)
}

func (s *Manager) runTimer(p *labsim.Proc, o *labsim.Flags, u *unit) int {
	wait, err := parseSpan(o.Or("on-active", ""))
	if err != nil {
		p.Errorf("Failed to parse timer value: %s\n", o.Or("on-active", ""))
		return 1
	}
	for _, prop := range o.All("timer-property") {
		if k, _, ok := strings.Cut(prop, "="); !ok || !timerProperties[k] {
			return p.Unknown("timer property " + prop)
		}
	}
	base := strings.TrimSuffix(strings.TrimSuffix(u.name, ".service"), ".timer")
	u.name = base + ".service"
	t := &unit{name: base + ".timer", desc: u.desc, transient: true, active: "active", sub: "waiting",
		result: "success", started: s.m.Lab.Clock.Now(), invocation: newID()}
	if s.taken(t.name) || s.taken(u.name) {
		p.Errorf("Failed to start transient timer unit: Unit %s was already loaded or has a fragment file.\n", t.name)
		return 1
	}
	s.put(u)
	boot := s.m.BootContext()
	s.mu.Lock()
	t.timer = s.m.Lab.Clock.AfterFunc(wait, func() {
		if boot.Err() != nil { // the machine went down meanwhile: the timer is gone
			return
		}
		s.mu.Lock()
		delete(s.units, t.name)
		s.mu.Unlock()
		_ = s.Start(u.name)
	})
	s.units[t.name] = t
	s.mu.Unlock()
	if !o.Has("quiet") {
		p.Errorf("Running timer as unit: %s\nWill run service as unit: %s\n", t.name, u.name)
	}
	return 0
}

// parseSpan reads a systemd time span: "90", "90s", "5min", "1h 30min", "500ms".
func parseSpan(text string) (time.Duration, error) {
	units := map[string]time.Duration{
		"": time.Second, "s": time.Second, "sec": time.Second, "ms": time.Millisecond, "m": time.Minute,
		"min": time.Minute, "h": time.Hour, "us": time.Microsecond,
	}
	var total time.Duration
	rest := strings.ReplaceAll(text, " ", "")
	if rest == "" {
		return 0, fmt.Errorf("empty time span")
	}
	for rest != "" {
		n := 0
		for n < len(rest) && (rest[n] >= '0' && rest[n] <= '9' || rest[n] == '.') {
			n++
		}
		k := n
		for k < len(rest) && (rest[k] < '0' || rest[k] > '9') {
			k++
		}
		value, err := strconv.ParseFloat(rest[:n], 64)
		scale, ok := units[rest[n:k]]
		if err != nil || !ok {
			return 0, fmt.Errorf("time span %q", text)
		}
		total += time.Duration(value * float64(scale))
		rest = rest[k:]
	}
	return total, nil
}

// spanText prints a time span as systemctl does.
func spanText(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	m, sec := int(d.Minutes()), d-time.Duration(int(d.Minutes()))*time.Minute
	if m == 0 {
		return strconv.FormatFloat(sec.Seconds(), 'f', -1, 64) + "s"
	}
	return fmt.Sprintf("%dmin %ss", m, strconv.FormatFloat(sec.Seconds(), 'f', -1, 64))
}
