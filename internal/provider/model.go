package provider

import (
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

const (
	modeManage  = "manage"
	modeObserve = "observe"

	unreachableError = "error"
	unreachableKeep  = "keep"
)

type model struct {
	BackupDir   types.String `tfsdk:"backup_dir"`
	Approved    types.String `tfsdk:"approved_images"`
	Mode        types.String `tfsdk:"mode"`
	Unreachable types.String `tfsdk:"unreachable"`
	CardsAtOnce types.Int64  `tfsdk:"cards_at_once"`
	Reboot      types.Object `tfsdk:"reboot"`
	SSH         types.Object `tfsdk:"ssh"`
	Hosts       types.Map    `tfsdk:"hosts"`
	Fabrics     types.Map    `tfsdk:"fabrics"`
	NodeNames   types.Map    `tfsdk:"node_name_map"`
}

// defaults are the values of a host that sets none of its own.
func (m *model) defaults() map[string]attr.Value {
	all := map[string]attr.Value{"mode": m.Mode, "unreachable": m.Unreachable, "reboot": m.Reboot}
	maps.Copy(all, m.SSH.Attributes())
	return all
}

// fabrics are the names of fabrics by port and by host. What is not known yet is not said.
func (m *model) fabrics() attribute.Fabrics {
	f := attribute.Fabrics{Ports: map[ib.GUID]string{}, Hosts: map[string]string{}}
	for name, members := range m.Fabrics.Elements() {
		set, _ := members.(types.Set)
		for _, member := range set.Elements() {
			text := attribute.StringOf(member)
			if guid, err := ib.ParseGUID(text); err == nil {
				f.Ports[guid] = name
			} else if text != "" {
				f.Hosts[text] = name
			}
		}
	}
	return f
}

// nodeNames are the names of nodes by their GUIDs.
func (m *model) nodeNames() map[ib.GUID]string {
	names := map[ib.GUID]string{}
	for text, name := range m.NodeNames.Elements() {
		if guid, err := ib.ParseGUID(text); err == nil && attribute.StringOf(name) != "" {
			names[guid] = attribute.StringOf(name)
		}
	}
	return names
}

// settings reads the attributes of an ssh block or of a host entry, with those
// of another one behind them; null means that it is set in neither.
type settings struct{ own, defaults map[string]attr.Value }

func (s settings) find(name string) attr.Value {
	for _, attrs := range []map[string]attr.Value{s.own, s.defaults} {
		if v, ok := attrs[name]; ok && !v.IsNull() {
			return v
		}
	}
	return nil
}

// pending reports whether any value is not known yet.
func (s settings) pending() bool {
	for _, v := range s.own {
		if holdsUnknown(v) {
			return true
		}
	}
	for name, v := range s.defaults {
		if own, ok := s.own[name]; (!ok || own.IsNull()) && holdsUnknown(v) {
			return true
		}
	}
	return false
}

func holdsUnknown(v attr.Value) bool {
	if v.IsUnknown() {
		return true
	}
	switch c := v.(type) {
	case types.List:
		for _, e := range c.Elements() {
			if holdsUnknown(e) {
				return true
			}
		}
	case types.Object:
		for _, e := range c.Attributes() {
			if holdsUnknown(e) {
				return true
			}
		}
	}
	return false
}

func (s settings) text(name string) string { return attribute.StringOf(s.find(name)) }

// secret is text that may also come from the environment.
func (s settings) secret(name string, variable auth.Variable) string {
	if v := s.text(name); v != "" {
		return v
	}
	return variable.Value()
}

func (s settings) number(name string) int {
	v, ok := s.find(name).(types.Int64)
	if !ok {
		return 0
	}
	return int(v.ValueInt64())
}

func (s settings) flag(name string) *bool {
	v, ok := s.find(name).(types.Bool)
	if !ok {
		return nil
	}
	return v.ValueBoolPointer()
}

// list is nil if the setting is absent and empty if the list is.
func (s settings) list(name string) []string {
	v, ok := s.find(name).(types.List)
	if !ok {
		return nil
	}
	out := make([]string, 0, len(v.Elements()))
	for _, e := range v.Elements() {
		if text, isText := e.(types.String); isText {
			out = append(out, text.ValueString())
		}
	}
	return out
}

func (s settings) duration(name string) time.Duration {
	d, err := time.ParseDuration(s.text(name))
	if err != nil {
		return 0 // absent; the attribute validated itself
	}
	return d
}

// transport builds the configuration of the transport.
func (s settings) transport() sshhost.Config {
	cfg := s.hop()
	cfg.Passphrase = s.secret("passphrase", auth.EnvPassphrase)
	cfg.Password = s.secret("password", auth.EnvPassword)
	jumps, ok := s.find("jump_hosts").(types.List)
	if !ok {
		return cfg
	}
	cfg.Jumps = make([]sshhost.Config, 0, len(jumps.Elements()))
	for _, e := range jumps.Elements() {
		if jump, isObject := e.(types.Object); isObject {
			cfg.Jumps = append(cfg.Jumps, settings{own: jump.Attributes()}.hop())
		}
	}
	return cfg
}

// hop builds the configuration of one host on the way. What the environment holds is
// for the host itself: another machine must not be shown its password.
func (s settings) hop() sshhost.Config {
	return sshhost.Config{
		Address: s.text("address"), Port: s.number("port"), User: s.text("user"),
		PrivateKey: s.text("private_key"), PrivateKeyFile: s.text("private_key_file"), Certificate: s.text("certificate"),
		Passphrase:   s.text("passphrase"),
		Password:     s.text("password"),
		SudoPassword: s.secret("sudo_password", auth.EnvSudoPassword),
		UseAgent:     s.flag("use_agent"),
		AgentSocket:  s.text("agent_socket"), AgentIdentity: s.text("agent_identity"),
		IdentitiesOnly:  s.flag("identities_only"),
		ConnectAttempts: s.number("connect_attempts"),
		HostKeys:        s.list("host_keys"), KnownHostsFiles: s.list("known_hosts_files"),
		HostKeyPolicy: knownhosts.Policy(s.text("host_key_policy")), RecordFile: s.text("known_hosts_record"),
		Become: sshconfig.Become(s.text("become")), SSHConfigFile: s.text("config_file"),
		ConnectTimeout: s.duration("connect_timeout"), CommandTimeout: s.duration("command_timeout"),
		KeepaliveInterval: s.duration("keepalive_interval"),
		Observe:           s.text("mode") == modeObserve,
		GiveUpEarly:       s.text("unreachable") == unreachableKeep,
	}
}

// policy is the part of a host's configuration that resources need.
func (s settings) policy() session.HostConfig {
	cfg := session.HostConfig{Observe: s.text("mode") == modeObserve,
		Keep: s.text("unreachable") == unreachableKeep}
	restart, ok := s.find("reboot").(types.Object)
	if !ok || restart.IsNull() {
		return cfg
	}
	r := settings{own: restart.Attributes()}
	if allowed := r.flag("allowed"); allowed != nil {
		cfg.RebootAllowed = *allowed
	}
	cfg.Reboot = reboot.Policy{
		Timeout: r.duration("timeout"), DrainCommands: r.list("drain_commands"), ResumeCommands: r.list("resume_commands"),
		Around: r.list("drain_around"), Interrupts: r.list("interrupts"),
	}
	return cfg
}
