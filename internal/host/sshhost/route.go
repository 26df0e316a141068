package sshhost

import (
	"context"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// Stop is one machine on the way to a host, with what is used there, for a person
// who wants to know. The host itself is the last stop.
type Stop struct {
	Name    string // as it was asked for
	Address string // host:port as dialled
	User    string
	Proxy   string   // the program of a ProxyCommand; empty for none
	Origins []Origin // of its settings

	// What the connection has shown; empty before.
	HostKey string // kind and fingerprint
	Vouched string // what makes it known: a line of a file, host_keys, or a record that was just made
	Login   string // the key or password that was accepted
	Notes   []string
}

// Origin says where a setting comes from.
type Origin struct {
	Setting string // as ssh_config calls it
	Value   string
	Source  string // file:line; "given" for the provider's configuration or a command line; "default"
}

// The sources that are no file.
const (
	SourceGiven   = "given"
	SourceDefault = "default"
)

// proof is what one handshake has shown of one machine.
type proof struct{ hostKey, vouched, login string }

// Route is the way to the host as it is configured, without a connection. ssh is asked
// once more for each machine: where its settings stand.
func (h *Host) Route(ctx context.Context) []Stop {
	stops := make([]Stop, 0, len(h.chain))
	for _, hop := range h.chain {
		stops = append(stops, Stop{Name: hop.alias, Address: hop.address(), User: hop.user, Proxy: hop.proxy,
			Origins: hop.origins(ctx), Notes: slices.Clone(hop.keyNotes)})
	}
	return stops
}

// Prove connects, if the host is not connected yet, and adds to a route what the
// machines have shown. Without an error the list is as long as the route.
func (h *Host) Prove(ctx context.Context, stops []Stop) error {
	l, err := h.connect(ctx)
	if err != nil {
		return err
	}
	for i, p := range l.proofs {
		stops[i].HostKey, stops[i].Vouched, stops[i].Login = p.hostKey, p.vouched, p.login
	}
	return nil
}

// Root says how commands get root: "logged in as root", "sudo, without a password", or "sudo, with the password". It is
// empty before the first command that needs it.
func (h *Host) Root() string {
	switch h.knownWay() {
	case shellcmd.WayRoot:
		return "logged in as root"
	case shellcmd.WaySudo:
		return "sudo, without a password"
	case shellcmd.WayPassword:
		return "sudo, with the password"
	case shellcmd.WayUnknown:
	}
	return ""
}

// origins are the settings of a machine that a person would look for.
func (h *hop) origins(ctx context.Context) []Origin {
	where := h.lines(ctx)
	var out []Origin
	add := func(setting, value string, given bool) {
		o := Origin{Setting: setting, Value: value, Source: SourceDefault}
		_, fallback := h.set.first(setting)
		switch places := where[strings.ToLower(setting)]; {
		case given:
			o.Source = SourceGiven
		case len(places) > 0:
			o.Source = places[0]
		case fallback != "" && !h.set.asked:
			_, file, _ := strings.Cut(fallback, " in ")
			o.Source = file
		}
		out = append(out, o)
	}
	optional := func(setting, value string, given bool) {
		if value != "" {
			add(setting, value, given)
		}
	}
	add("HostName", h.host, false)
	add("Port", h.address()[strings.LastIndex(h.address(), ":")+1:], h.cfg.Port != 0)
	add("User", h.user, h.cfg.User != "")
	jump, _ := h.set.first("ProxyJump")
	if h.cfg.Jumps != nil {
		jump = jumpNames(h.cfg.Jumps)
	}
	if jump != none {
		optional("ProxyJump", jump, h.cfg.Jumps != nil)
	}
	optional("ProxyCommand", h.proxy, false)
	optional("HostKeyAlias", h.keyAlias, false)
	optional("RevokedHostKeys", h.revokedKeys, false)
	if h.policy != HostKeyStrict {
		add("StrictHostKeyChecking", string(h.policy), h.cfg.HostKeyPolicy != "")
	}
	if h.only {
		add("IdentitiesOnly", "yes", h.cfg.IdentitiesOnly != nil)
	}
	optional("IdentityAgent", h.agent, h.cfg.AgentSocket != "")
	return append(out, h.files(where)...)
}

// files are those of keys and certificates, of which ssh takes every line.
func (h *hop) files(where map[string][]string) (out []Origin) {
	for setting, list := range map[string][]sourcedValue{"CertificateFile": h.certificates, "IdentityFile": h.identities} {
		places := where[strings.ToLower(setting)]
		for i, f := range list {
			source := f.source
			switch {
			case f.source == "private_key_file" || f.source == "certificate":
				source = SourceGiven
			case len(places) == len(list):
				source = places[i]
			}
			out = append(out, Origin{setting, f.value, source})
		}
	}
	slices.SortStableFunc(out, func(a, b Origin) int { return -strings.Compare(a.Setting, b.Setting) })
	return out
}

func jumpNames(jumps []Config) string {
	names := make([]string, len(jumps))
	for i, j := range jumps {
		names[i] = j.Address
	}
	return strings.Join(names, ",")
}
