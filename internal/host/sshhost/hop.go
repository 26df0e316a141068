package sshhost

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// hop is one machine on the way, with every setting decided: the explicit
// configuration first, then ~/.ssh/config, then OpenSSH's defaults.
type hop struct {
	cfg    Config
	alias  string // as configured: what ~/.ssh/config is looked up under
	host   string // as dialled
	port   int
	user   string
	jump   bool // on the way to another machine
	set    *options
	config *userConfig // that gave set

	proxy  string // ProxyCommand: the program that reaches this hop; empty for none
	family string // "tcp", "tcp4" or "tcp6"
	bind   string // address of this machine to call from, or empty

	keyAlias     string         // HostKeyAlias
	identities   []sourcedValue // paths of private keys, in the order to offer them
	defaults     []sourcedValue // OpenSSH's default keys, if nothing else is configured
	certificates []sourcedValue // CertificateFile
	only         bool           // IdentitiesOnly
	keyNotes     []string       // why parts of the configuration give no keys here
	agent        string         // socket, or empty: none
	agentNote    string         // why there is no agent
	knownHosts   []string       // existing or not
	revokedKeys  string         // RevokedHostKeys, or empty
	policy       HostKeyPolicy
	record       string
	timeout      time.Duration
	interval     time.Duration // keepalive; 0: none
	count        int

	first atomic.Pointer[ssh.PublicKey] // the key of the first connection
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
		spec, source := h.set.first("ProxyJump")
		if spec == "" {
			return nil, u.proxyCommand(h)
		}
		if spec == none {
			return nil, nil
		}
		expanded, err := u.tokens(spec, h)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		for part := range strings.SplitSeq(expanded, ",") {
			j, err := ParseJump(strings.TrimSpace(part))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", source, err)
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

// proxyCommand takes the program through which ssh would reach the host.
func (u *userConfig) proxyCommand(h *hop) error {
	command, source := h.set.first("ProxyCommand")
	if command == "" || command == none {
		return nil
	}
	var err error
	if h.proxy, err = u.tokens(command, h); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	return nil
}

// inherit fills a hop's gaps from the host behind it: the operator's keys and agent,
// and this machine's files. It takes neither the password, which would be shown to
// another machine, nor the pinned keys of the host.
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
