package sshhost

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hop is one machine on the way, with every setting decided: the explicit
// configuration first, then ~/.ssh/config, then OpenSSH's defaults.
type hop struct {
	cfg   Config
	alias string // as configured: what ~/.ssh/config is looked up under
	host  string // as dialled
	port  int
	user  string
	jump  bool // on the way to another machine

	keyAlias    string    // HostKeyAlias
	identities  []sourced // paths of private keys, in the order to offer them
	defaults    []sourced // OpenSSH's default keys, if nothing else is configured
	only        bool      // IdentitiesOnly
	agent       string    // socket, or empty: none
	agentNote   string    // why there is no agent
	knownHosts  []string  // existing or not
	revokedKeys string    // RevokedHostKeys, or empty
	policy      HostKeyPolicy
	record      string
	timeout     time.Duration
	interval    time.Duration // keepalive; 0: none
	count       int
}

// address is host:port as dialled.
func (h *hop) address() string { return net.JoinHostPort(h.host, strconv.Itoa(h.port)) }

// maxHops bounds ProxyJump; a jump host may have jump hosts of its own.
const maxHops = 8

// resolve decides the settings of a host and of all hops before it. The host
// itself is last.
func resolve(cfg Config) ([]*hop, error) {
	u, err := cfg.Shared.userConfig(cfg.SSHConfigFile)
	if err != nil {
		return nil, err
	}
	return resolveChain(u, cfg, nil)
}

func resolveChain(u *userConfig, cfg Config, above []string) ([]*hop, error) {
	name := net.JoinHostPort(cfg.Address, strconv.Itoa(cfg.Port))
	if len(above) >= maxHops || slices.Contains(above, name) {
		return nil, fmt.Errorf("the jump hosts lead in a circle or are more than %d: %s", maxHops,
			strings.Join(append(above, name), " <- "))
	}
	h, err := u.hop(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Address, err)
	}
	jumps, err := u.jumps(h)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Address, err)
	}
	var chain []*hop
	for i, j := range jumps {
		if i > 0 && j.Jumps == nil {
			j.Jumps = []Config{} // reached from the hop before, whatever its own ProxyJump
		}
		j.Shared = cfg.Shared
		sub, err := resolveChain(u, j, append(slices.Clone(above), name))
		if err != nil {
			return nil, err
		}
		chain = append(chain, sub...)
	}
	for _, j := range chain {
		j.jump = true
	}
	return append(chain, h), nil
}

// jumps returns the hops in front of h, nearest first.
func (u *userConfig) jumps(h *hop) ([]Config, error) {
	jumps := h.cfg.Jumps
	if jumps == nil {
		spec, file, err := u.get(h.alias, "ProxyJump")
		if err != nil {
			return nil, err
		}
		if spec == "" {
			return nil, u.noProxyCommand(h)
		}
		if spec == "none" {
			return nil, nil
		}
		for part := range strings.SplitSeq(spec, ",") {
			j, err := ParseJump(u.expand(strings.TrimSpace(part), h))
			if err != nil {
				return nil, fmt.Errorf("ProxyJump in %s: %w", file, err)
			}
			jumps = append(jumps, j)
		}
	}
	out := make([]Config, 0, len(jumps))
	for _, j := range jumps {
		out = append(out, j.inherit(h.cfg))
	}
	return out, nil
}

// noProxyCommand refuses a host that ssh would reach through a program.
func (u *userConfig) noProxyCommand(h *hop) error {
	command, file, err := u.get(h.alias, "ProxyCommand")
	if err != nil || command == "" || command == "none" {
		return err
	}
	return fmt.Errorf("ProxyCommand in %s is not supported; write it as ProxyJump, or configure the jump hosts in the "+
		"provider", file)
}

// inherit fills a hop's gaps from the host behind it: what names the operator
// (keys, agent) and this machine's files, but neither the password, which would
// be shown to another machine, nor the host's pinned keys.
func (c Config) inherit(from Config) Config {
	if c.PrivateKey == "" && c.PrivateKeyFile == "" {
		c.PrivateKey, c.PrivateKeyFile, c.Certificate = from.PrivateKey, from.PrivateKeyFile, from.Certificate
	}
	c.Passphrase = cmp.Or(c.Passphrase, from.Passphrase)
	if c.UseAgent == nil {
		c.UseAgent = from.UseAgent
	}
	if c.AgentSocket == "" {
		c.AgentSocket, c.AgentIdentity = from.AgentSocket, from.AgentIdentity
	}
	if c.IdentitiesOnly == nil {
		c.IdentitiesOnly = from.IdentitiesOnly
	}
	if c.KnownHostsFiles == nil {
		c.KnownHostsFiles = from.KnownHostsFiles
	}
	if c.HostKeyPolicy == "" {
		c.HostKeyPolicy, c.RecordFile = from.HostKeyPolicy, from.RecordFile
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = from.ConnectTimeout
	}
	c.SSHConfigFile = from.SSHConfigFile
	return c
}

// hop decides the settings of one machine.
func (u *userConfig) hop(cfg Config) (*hop, error) {
	h := &hop{cfg: cfg, alias: cfg.Address, host: cfg.Address, port: cfg.Port, user: cfg.User}
	for _, step := range []func(*hop) error{u.where, u.who, u.keys, u.useAgent, u.trust, u.times} {
		if err := step(h); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func (u *userConfig) where(h *hop) error {
	if h.port == 0 {
		port, err := u.number(h.alias, "Port")
		if err != nil {
			return err
		}
		h.port = port
	}
	if h.port == 0 {
		h.port = 22
	}
	name, _, err := u.get(h.alias, "HostName")
	if err != nil {
		return err
	}
	if name != "" {
		h.host = u.expand(name, h)
	}
	return nil
}

func (u *userConfig) who(h *hop) error {
	if h.user != "" {
		return nil
	}
	name, _, err := u.get(h.alias, "User")
	if err != nil {
		return err
	}
	if h.user = name; h.user == "" {
		h.user = u.local
	}
	if h.user == "" {
		return errors.New("no user is configured, and the local user has no name to fall back on")
	}
	return nil
}

func (u *userConfig) keys(h *hop) error {
	if h.cfg.PrivateKeyFile != "" {
		h.identities = append(h.identities, sourced{u.tilde(h.cfg.PrivateKeyFile), "private_key_file"})
	}
	files, err := u.all(h.alias, "IdentityFile")
	if err != nil {
		return err
	}
	explicit := h.explicitKey()
	for _, f := range files {
		if f.value != "none" && !explicit {
			h.identities = append(h.identities, sourced{u.expand(f.value, h), f.source})
		}
	}
	if !explicit && len(files) == 0 && u.home != "" {
		for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			h.defaults = append(h.defaults, sourced{filepath.Join(u.home, ".ssh", name), "default key"})
		}
	}
	if h.cfg.IdentitiesOnly != nil {
		h.only = *h.cfg.IdentitiesOnly
		return nil
	}
	only, _, err := u.get(h.alias, "IdentitiesOnly")
	h.only = strings.EqualFold(only, "yes")
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
	case h.cfg.AgentSocket != "":
		h.agent = u.tilde(h.cfg.AgentSocket)
		return nil
	}
	return u.findAgent(h)
}

// findAgent takes the agent that ~/.ssh/config names, or else the environment's.
func (u *userConfig) findAgent(h *hop) error {
	socket, _, err := u.get(h.alias, "IdentityAgent")
	if err != nil {
		return err
	}
	switch name, variable := strings.CutPrefix(socket, "$"); {
	case socket == "none":
		h.agentNote = "switched off by IdentityAgent none"
		return nil
	case variable && !strings.HasPrefix(name, "{"):
		h.agent = os.Getenv(name)
	case socket != "SSH_AUTH_SOCK":
		h.agent = u.expand(socket, h)
	}
	h.agent = cmp.Or(h.agent, os.Getenv("SSH_AUTH_SOCK"))
	if h.agent == "" {
		h.agentNote = "no socket: SSH_AUTH_SOCK is not set in Terraform's environment"
	}
	return nil
}

func (u *userConfig) trust(h *hop) error {
	var err error
	if h.keyAlias, _, err = u.get(h.alias, "HostKeyAlias"); err != nil {
		return err
	}
	if h.policy = h.cfg.HostKeyPolicy; h.policy == "" {
		h.policy = HostKeyStrict
		// "no" and "off" trust anybody, which this provider never does.
		if v, _, badOption := u.get(h.alias, "StrictHostKeyChecking"); badOption == nil &&
			strings.EqualFold(v, string(HostKeyAcceptNew)) {
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
	revoked, _, err := u.get(h.alias, "RevokedHostKeys")
	if err != nil {
		return err
	}
	if revoked != "" && revoked != "none" {
		h.revokedKeys = u.expand(strings.Trim(revoked, `"`), h)
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
			v, _, err := u.get(h.alias, kind.key)
			if err != nil {
				return err
			}
			v = cmp.Or(v, kind.usual)
			for _, f := range fields(v) {
				h.knownHosts = append(h.knownHosts, u.expand(f, h))
			}
		}
	}
	if h.record != "" && !slices.Contains(h.knownHosts, h.record) {
		h.knownHosts = append(h.knownHosts, h.record)
	}
	return nil
}

func (u *userConfig) times(h *hop) error {
	if h.timeout = h.cfg.ConnectTimeout; h.timeout == 0 {
		n, err := u.number(h.alias, "ConnectTimeout")
		if err != nil {
			return err
		}
		if h.timeout = time.Duration(n) * time.Second; n == 0 {
			h.timeout = 10 * time.Second
		}
	}
	if h.interval = h.cfg.KeepaliveInterval; h.interval == 0 {
		n, err := u.number(h.alias, "ServerAliveInterval")
		if err != nil {
			return err
		}
		if h.interval = time.Duration(n) * time.Second; n == 0 {
			h.interval = 15 * time.Second
		}
	}
	h.interval = max(h.interval, 0)
	if h.count = h.cfg.KeepaliveCount; h.count <= 0 {
		n, err := u.number(h.alias, "ServerAliveCountMax")
		if err != nil {
			return err
		}
		if h.count = n; n == 0 {
			h.count = 3
		}
	}
	return nil
}
