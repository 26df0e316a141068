package sshconfig

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// maxHops bounds ProxyJump; a jump host may have jump hosts of its own.
const maxHops = 8

// Resolve decides the settings of a host and of all hops before it. The host
// itself is last.
func Resolve(cfg Config) ([]*Hop, error) {
	u, err := cfg.Shared.userConfig(cfg.SSHConfigFile)
	if err != nil {
		return nil, err
	}
	return resolveChain(u, cfg, nil)
}

func resolveChain(u *userConfig, cfg Config, above []string) ([]*Hop, error) {
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
	var chain []*Hop
	for i, j := range jumps {
		if i > 0 && j.Jumps == nil {
			j.Jumps = []Config{} // reached from the hop before, whatever its own ProxyJump
		}
		j.Shared = cfg.Shared
		// A clone: the jump hosts of one host would else write their names into one array.
		sub, err := resolveChain(u, j, append(slices.Clone(above), name))
		if err != nil {
			return nil, err
		}
		chain = append(chain, sub...)
	}
	// A message on a jump host's key names another place to pin it than one on the host's.
	for _, j := range chain {
		j.Trust.Jump = true
	}
	return append(chain, h), nil
}

// jumps returns the hops in front of h, nearest first.
func (u *userConfig) jumps(h *Hop) ([]Config, error) {
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
				return nil, fmt.Errorf("%s: jump host %w", source, err)
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
func (u *userConfig) proxyCommand(h *Hop) error {
	command, source := h.set.first("ProxyCommand")
	if command == "" || command == none {
		return nil
	}
	// ssh refuses such a host or user on its command line since 9.6. Where no ssh is asked, and from
	// older ones, it would become a part of the text that a shell runs here.
	for _, value := range []string{h.Host, h.Alias, h.User, h.Trust.Alias} {
		if strings.ContainsAny(value, shellWords) || strings.HasPrefix(value, "-") || strings.HasSuffix(value, `\`) {
			return fmt.Errorf("%s: %q is not passed to a shell of this machine: it has a character that a shell acts on. "+
				"Correct the address or the user", source, value)
		}
	}
	var err error
	if h.Proxy, err = u.tokens(command, h); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	return nil
}

// shellWords are the characters that ssh lets no host and no user have, and a few more. A backslash
// is in names of a domain.
const shellWords = "'`\"$;&<>|(){}\n\r\t *?!#~"

// inherit fills a hop's gaps from the host behind it: the operator's keys and agent,
// and this machine's files. It takes neither the password, which would be shown to
// another machine, nor the pinned keys of the host.
// The passphrase goes along: it opens files of this machine and is sent to nobody.
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
