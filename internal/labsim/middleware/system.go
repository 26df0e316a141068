package middleware

import (
	"strings"
	"time"
)

var systemMethods = map[string]method{
	"core.ping":      {role: "-", call: func(*Server, []any) (any, error) { return "pong", nil }},
	"system.boot_id": {role: "-", call: func(s *Server, _ []any) (any, error) { return s.sys.BootID(), nil }},
	"system.version": {call: func(s *Server, _ []any) (any, error) { return "TrueNAS-" + s.opts.Version, nil }},
	"system.state":   {role: "SYSTEM_GENERAL_READ", call: func(s *Server, _ []any) (any, error) { return s.state(), nil }},
	"system.reboot": {role: fullAdmin, job: true, call: (*Server).reboot, params: []field{
		{name: "reason", kind: kindString, required: true, minLen: 1},
		{name: "options", kind: kindModel, model: "SystemRebootOptions", fields: []field{
			{name: "delay", kind: kindInt, nullable: true},
		}},
	}},
	"system.advanced.config": {role: "SYSTEM_ADVANCED_READ", call: func(s *Server, _ []any) (any, error) {
		return s.advancedConfig(), nil
	}},
	"system.advanced.update": {role: "SYSTEM_ADVANCED_WRITE", call: (*Server).advancedUpdate, params: []field{
		{name: "data", kind: kindModel, required: true, model: "SystemAdvancedUpdate", fields: []field{
			{name: "kernel_extra_options", kind: kindString},
		}},
	}},
}

func (s *Server) state() string {
	switch {
	case s.mem.stopping:
		return "SHUTTING_DOWN"
	case s.mem.ready:
		return "READY"
	}
	return "BOOTING"
}

func (s *Server) reboot(args []any) (any, error) {
	reason, _ := args[0].(string)
	delay := intOr(asMap(args[1]), "delay", 0)
	s.sys.AfterFunc(time.Duration(delay)*time.Second, func() {
		s.sys.Reboot(reason)
	})
	return nil, nil // null is the answer
}

// Shutdown is the middleware's part of an orderly shutdown, whoever asked for it.
func (s *Server) Shutdown() {
	s.mu.Lock()
	s.mem.stopping = true
	s.mu.Unlock()
	s.RunInitTasks("SHUTDOWN")
}

func (s *Server) advancedConfig() *Object {
	return Obj("id", 1, "advancedmode", false, "autotune", false, "kdump_enabled", false, "boot_scrub", 7,
		"consolemenu", true, "consolemsg", false, "debugkernel", false, "fqdn_syslog", false,
		"motd", "Welcome to TrueNAS", "login_banner", "", "powerdaemon", false, "serialconsole", false,
		"serialport", "ttyS0", "anonstats_token", "", "serialspeed", "9600", "overprovision", nil,
		"traceback", true, "uploadcrash", true, "anonstats", true, "sed_user", "USER", "sysloglevel", "F_INFO",
		"syslogservers", []any{}, "syslog_audit", false, "isolated_gpu_pci_ids", []any{},
		"kernel_extra_options", s.db.kernelOptions)
}

// advancedUpdate rewrites the boot loader's configuration at once; the running
// kernel keeps its command line until the next boot.
func (s *Server) advancedUpdate(args []any) (any, error) {
	data := asMap(args[0])
	v, ok := data["kernel_extra_options"].(string)
	if !ok {
		return s.advancedConfig(), nil
	}
	if errs := checkKernelOptions(v); len(errs) > 0 {
		return nil, errs
	}
	s.db.kernelOptions = v
	s.sys.SetBootArgs(v)
	return s.advancedConfig(), nil
}

const kernelAttr = "system_advanced_update.kernel_extra_options"

func checkKernelOptions(v string) ValidationErrors {
	var errs ValidationErrors
	for _, bad := range []string{"\n", `"`} {
		if strings.Contains(v, bad) {
			shown := strings.ReplaceAll(bad, "\n", `\n`)
			errs = append(errs, invalidField(kernelAttr, "'"+shown+"' is an invalid character and not allowed")...)
		}
	}
	if strings.Contains(v, "systemd.unified_cgroup_hierarchy") {
		errs = append(errs, invalidField(kernelAttr, "Modifying systemd.unified_cgroup_hierarchy is not allowed")...)
	}
	if isUnbalanced(v) {
		errs = append(errs, invalidField(kernelAttr, "Invalid syntax")...)
	}
	return errs
}

// isUnbalanced stands for grub-script-check: GRUB_CMDLINE_LINUX_DEFAULT="… v"
// breaks on an odd number of quotes, on a backquote and on a command
// substitution left open.
func isUnbalanced(v string) bool {
	return strings.Count(v, `"`)%2 == 1 || strings.Count(v, "`")%2 == 1 ||
		strings.Count(v, "$(") != strings.Count(v, ")") && strings.Contains(v, "$(")
}
