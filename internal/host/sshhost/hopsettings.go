package sshhost

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// hop decides the settings of one machine.
func (u *userConfig) hop(cfg Config) (*hop, error) {
	set, err := u.options(cfg.Address, cfg.User, cfg.Port)
	if err != nil {
		return nil, err
	}
	h := &hop{cfg: cfg, alias: cfg.Address, host: cfg.Address, port: cfg.Port, user: cfg.User, set: set,
		config: u}
	steps := []func(*hop) error{u.where, u.who, u.keys, u.certificates, u.useAgent, u.trust, u.times}
	if err = set.refuse(); err != nil {
		return nil, err
	}
	for _, step := range steps {
		if err := step(h); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// value is a keyword's value with ~, variables and tokens replaced.
func (u *userConfig) value(h *hop, v sourcedValue) (string, error) {
	text, err := u.expand(v.value, h)
	if err != nil {
		return "", fmt.Errorf("%s: %w", v.source, err)
	}
	return text, nil
}

func (u *userConfig) where(h *hop) error {
	if h.port == 0 {
		port, err := h.set.number("Port")
		if err != nil {
			return err
		}
		h.port = cmp.Or(port, 22)
	}
	name, source := h.set.first("HostName")
	switch {
	case h.set.asked:
		h.host = cmp.Or(name, h.host)
	case name != "":
		var err error
		// The name itself may hold %h, which stands for what was asked for.
		if h.host, err = u.tokens(name, h); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
	}
	h.family = "tcp"
	switch v, source := h.set.first("AddressFamily"); strings.ToLower(v) {
	case "", "any":
	case "inet":
		h.family = "tcp4"
	case "inet6":
		h.family = "tcp6"
	default:
		return fmt.Errorf("%s: %q is none of any, inet, inet6", source, v)
	}
	if v, _ := h.set.first("BindAddress"); v != none {
		h.bind = v
	}
	return nil
}

func (u *userConfig) who(h *hop) error {
	if h.user != "" {
		return nil
	}
	h.user, _ = h.set.first("User")
	h.user = cmp.Or(h.user, u.local)
	if h.user == "" {
		return errors.New("no user is configured, and the local user has no name to fall back on")
	}
	return nil
}

func (u *userConfig) keys(h *hop) error {
	if h.only = h.set.is("IdentitiesOnly", "yes"); h.cfg.IdentitiesOnly != nil {
		h.only = *h.cfg.IdentitiesOnly
	}
	if v, source := h.set.first("PKCS11Provider"); v != "" && v != none {
		h.keyNotes = append(h.keyNotes, source+
			": the provider asks no token itself; let the agent hold its keys (ssh-add -s)")
	}
	switch {
	case h.cfg.PrivateKeyFile != "":
		h.identities = []sourcedValue{{u.tilde(h.cfg.PrivateKeyFile), "private_key_file"}}
		return nil
	case h.explicitKey():
		return nil
	case h.noKeys():
		h.keyNotes = append(h.keyNotes, "keys: PubkeyAuthentication is off in the SSH client configuration")
		return nil
	}
	files, err := u.fileList(h, "IdentityFile")
	h.identities = files
	if len(h.set.all("IdentityFile")) == 0 && u.home != "" {
		for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			h.defaults = append(h.defaults, sourcedValue{filepath.Join(u.home, ".ssh", name), "default key"})
		}
	}
	return err
}

// noKeys reports whether ssh would offer no key.
func (h *hop) noKeys() bool { return h.set.is("PubkeyAuthentication", "no", "false") }

// fileList is every file that a keyword names.
func (u *userConfig) fileList(h *hop, keyword string) (out []sourcedValue, err error) {
	for _, f := range h.set.all(keyword) {
		if f.value == none {
			continue
		}
		path, err := u.value(h, f)
		if err != nil {
			return nil, err
		}
		out = append(out, sourcedValue{path, f.source})
	}
	return out, nil
}

// certificates are those of the files; one that the provider's configuration names
// stands for all of them.
func (u *userConfig) certificates(h *hop) (err error) {
	if h.cfg.Certificate != "" {
		h.certificates = []sourcedValue{{u.tilde(h.cfg.Certificate), "certificate"}}
		return nil
	}
	h.certificates, err = u.fileList(h, "CertificateFile")
	return err
}

func (u *userConfig) useAgent(h *hop) error {
	named := h.cfg.AgentIdentity != "" || h.cfg.AgentSocket != ""
	switch {
	case h.cfg.UseAgent != nil && !*h.cfg.UseAgent:
		h.agentNote = "switched off by the configuration"
		return nil
	case h.cfg.UseAgent == nil && h.explicitKey() && !named:
		h.agentNote = "not asked, because a private key is configured"
		return nil
	case h.cfg.UseAgent == nil && !named && h.noKeys():
		return nil // keys said so
	case h.cfg.AgentSocket != "":
		h.agent = u.tilde(h.cfg.AgentSocket)
		return nil
	}
	return u.findAgent(h)
}

// findAgent takes the agent that ~/.ssh/config names, or else the environment's.
func (u *userConfig) findAgent(h *hop) error {
	socket, source := h.set.first("IdentityAgent")
	switch name, variable := strings.CutPrefix(socket, "$"); {
	case socket == none:
		h.agentNote = "switched off by IdentityAgent none"
		return nil
	case variable && !strings.HasPrefix(name, "{"):
		h.agent = os.Getenv(name)
	case socket != "SSH_AUTH_SOCK":
		path, err := u.value(h, sourcedValue{socket, source})
		if err != nil {
			return err
		}
		h.agent = path
	}
	h.agent = cmp.Or(h.agent, os.Getenv("SSH_AUTH_SOCK"), defaultAgent)
	if h.agent == "" {
		h.agentNote = "no socket: SSH_AUTH_SOCK is not set in Terraform's environment"
	}
	return nil
}

func (u *userConfig) trust(h *hop) error {
	h.keyAlias, _ = h.set.first("HostKeyAlias")
	if h.policy = h.cfg.HostKeyPolicy; h.policy == "" {
		h.policy = HostKeyStrict
		// "no" and "off" trust anybody, which this provider never does.
		if h.set.is("StrictHostKeyChecking", string(HostKeyAcceptNew)) {
			h.policy = HostKeyAcceptNew
		}
	}
	if h.policy == HostKeyAcceptNew {
		if h.record = u.tilde(h.cfg.RecordFile); h.record == "" {
			dir, noDir := os.UserConfigDir()
			if noDir != nil {
				return fmt.Errorf("there is nowhere to record accepted host keys: %w", noDir)
			}
			h.record = filepath.Join(dir, "terraform-provider-infiniband", "known_hosts")
		}
	}
	if revoked, source := h.set.first("RevokedHostKeys"); revoked != "" && revoked != none {
		path, err := u.value(h, sourcedValue{revoked, source})
		if err != nil {
			return err
		}
		h.revokedKeys = path
	}
	return u.knownHosts(h)
}

func (u *userConfig) knownHosts(h *hop) error {
	if h.cfg.KnownHostsFiles != nil {
		for _, f := range h.cfg.KnownHostsFiles {
			h.knownHosts = append(h.knownHosts, u.tilde(f))
		}
	} else {
		for _, kind := range []struct{ key, usual string }{
			{"UserKnownHostsFile", "~/.ssh/known_hosts ~/.ssh/known_hosts2"},
			{"GlobalKnownHostsFile", "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"},
		} {
			v, source := h.set.first(kind.key)
			for _, f := range paths(cmp.Or(v, kind.usual)) {
				if f == none {
					continue
				}
				path, err := u.value(h, sourcedValue{f, source})
				if err != nil {
					return err
				}
				h.knownHosts = append(h.knownHosts, path)
			}
		}
	}
	if h.record != "" && !slices.Contains(h.knownHosts, h.record) {
		h.knownHosts = append(h.knownHosts, h.record)
	}
	return nil
}

func (u *userConfig) times(h *hop) error {
	seconds := func(set time.Duration, keyword string, usual time.Duration) (time.Duration, error) {
		if set != 0 {
			return set, nil
		}
		n, err := h.set.number(keyword)
		if err != nil {
			return 0, err
		}
		return cmp.Or(time.Duration(n)*time.Second, usual), nil
	}
	var err error
	if h.timeout, err = seconds(h.cfg.ConnectTimeout, "ConnectTimeout", 10*time.Second); err != nil {
		return err
	}
	if h.interval, err = seconds(h.cfg.KeepaliveInterval, "ServerAliveInterval", 15*time.Second); err != nil {
		return err
	}
	h.interval = max(h.interval, 0)
	if h.count = h.cfg.KeepaliveCount; h.count <= 0 {
		if h.count, err = h.set.number("ServerAliveCountMax"); err != nil {
			return err
		}
		h.count = cmp.Or(h.count, 3)
	}
	return nil
}
