package sshconfig

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
)

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

// Origins are the settings of a machine that a person would look for.
func (h *Hop) Origins(ctx context.Context) []Origin {
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
	add("HostName", h.Host, false)
	add("Port", strconv.Itoa(h.Port), h.cfg.Port != 0)
	add("User", h.User, h.cfg.User != "")
	jump, _ := h.set.first("ProxyJump")
	if h.cfg.Jumps != nil {
		jump = jumpNames(h.cfg.Jumps)
	}
	if jump != none {
		optional("ProxyJump", jump, h.cfg.Jumps != nil)
	}
	optional("ProxyCommand", h.Proxy, false)
	optional("HostKeyAlias", h.Trust.Alias, false)
	optional("RevokedHostKeys", h.Trust.Revoked, false)
	if h.Trust.Policy != knownhosts.Strict {
		add("StrictHostKeyChecking", string(h.Trust.Policy), h.cfg.HostKeyPolicy != "")
	}
	if h.Keys.OnlyNamed {
		add("IdentitiesOnly", "yes", h.cfg.IdentitiesOnly != nil)
	}
	optional("IdentityAgent", h.Keys.Agent, h.cfg.AgentSocket != "")
	return append(out, h.files(where)...)
}

// files are those of keys and certificates, of which ssh takes every line.
func (h *Hop) files(where map[string][]string) (out []Origin) {
	for setting, list := range map[string][]auth.File{"CertificateFile": h.Keys.Certificates,
		"IdentityFile": h.Keys.Identities} {
		places := where[strings.ToLower(setting)]
		for i, f := range list {
			source := f.Source
			switch {
			case f.Source == auth.SourceKeyFile || f.Source == auth.SourceCertificate:
				source = SourceGiven
			// Else it is not certain which line has given which file: a line may be left out, or given twice.
			case len(places) == len(list):
				source = places[i]
			}
			out = append(out, Origin{setting, f.Path, source})
		}
	}
	// A map has no order. Keys before their certificates.
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
