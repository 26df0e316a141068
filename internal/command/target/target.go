// Package target opens the hosts that a command line names, as ssh takes them,
// over the provider's own transport.
//
// It must not run a command on a host, or change one: hosts are in observe mode.
package target

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/hostpool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
)

// Target is one host of the command line.
type Target struct {
	// Name differs from that of every other target, and fits as a key of the provider's hosts
	// map. It is the address as it was written, without user and port, or what stands before "=".
	Name string
	Spec string // as it stands on the command line
	// flags are those of the command line that say how the host is reached, for another command.
	flags []string
	// Config is what the command line says of the host. What is empty comes from
	// ~/.ssh/config and needs no line in a provider block.
	Config sshhost.Config

	// Host and SSH are the same host: Host remembers what was found on it, SSH does not.
	// Both are nil if the configuration cannot be used; Err then says why.
	Host *hosts.Host
	SSH  *sshhost.Host
	Err  error
}

// set is the hosts of one command line, in its order.
type set struct {
	targets []*Target
	pool    *hostpool.Pool
}

// close closes every connection.
func (s *set) close() { _ = s.pool.Close() }

// Help says in the text of a command what HOST is.
const Help = `HOST is what ssh takes: a name, an alias of ~/.ssh/config, or [user@]host[:port]. With
NAME= before it, the host is called NAME, as in the hosts of a configuration.`

// nameForm is what a host may be called.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// open reads the hosts as Help says. It does not dial. Its error says what is wrong with the command line.
// A host that ~/.ssh/config makes unusable has its own error in Err.
func (o *Options) open(specs []string, std command.Streams) (*set, error) {
	if len(specs) == 0 {
		return nil, errors.New("no host is named")
	}
	base, err := o.config(std)
	if err != nil {
		return nil, err
	}
	s := &set{}
	configs := map[string]sshhost.Config{}
	for _, spec := range specs {
		t, bad := o.target(spec, base, configs)
		if bad != nil {
			return nil, bad
		}
		configs[t.Name] = t.Config
		s.targets = append(s.targets, t)
	}
	if err = o.HostKeys.pin(s.targets); err != nil {
		return nil, err
	}
	for _, t := range s.targets {
		configs[t.Name] = t.Config
	}
	s.pool = hostpool.New(configs)
	memory := hosts.NewSet(s.pool.Host)
	for _, t := range s.targets {
		opened, cannot := s.pool.Host(t.Name)
		if t.Err = cannot; cannot != nil {
			continue
		}
		t.SSH, _ = opened.(*sshhost.Host)
		t.Host, t.Err = memory.Host(t.Name)
	}
	return s, nil
}

// readSpec reads [NAME=][user@]host[:port]. name is empty if there is none.
func readSpec(spec string) (name string, at sshhost.Config, err error) {
	if strings.HasPrefix(spec, "-") {
		return "", at, fmt.Errorf("%q is no host", spec)
	}
	name, way, named := strings.Cut(spec, "=")
	if !named {
		name, way = "", spec
	} else if !nameForm.MatchString(name) {
		return "", at, fmt.Errorf("host %q: %q is no name for it", spec, name)
	}
	if at, err = sshconfig.ParseJump(way); err != nil {
		return "", at, fmt.Errorf("host %w", err)
	}
	return name, at, nil
}

// target is one host, with a name that no other one has.
func (o *Options) target(spec string, base sshhost.Config, taken map[string]sshhost.Config) (*Target, error) {
	name, at, err := readSpec(spec)
	if err != nil {
		return nil, err
	}
	t := &Target{Name: cmp.Or(name, at.Address), Spec: spec, Config: base, flags: o.way()}
	t.Config.Address = at.Address
	if at.User != "" {
		t.Config.User = at.User
	}
	if at.Port != 0 {
		t.Config.Port = at.Port
	}
	if other, twice := taken[t.Name]; twice && name == "" && other.Port != t.Config.Port {
		t.Name = net.JoinHostPort(t.Name, strconv.Itoa(t.Config.Port))
	}
	if _, twice := taken[t.Name]; twice {
		return nil, fmt.Errorf("host %s is named twice", t.Name)
	}
	return t, nil
}

// config is what the options say of every host.
func (o *Options) config(std command.Streams) (sshhost.Config, error) {
	if !slices.Contains([]string{"", string(knownhosts.Strict), string(knownhosts.AcceptNew)}, o.HostKeyPolicy) {
		return sshhost.Config{}, fmt.Errorf("-host-key-policy %q is neither strict nor accept-new", o.HostKeyPolicy)
	}
	if o.Port < 0 || o.Port > 65535 {
		return sshhost.Config{}, fmt.Errorf("-port %d is not between 1 and 65535", o.Port)
	}
	cfg := sshhost.Config{
		User: o.User, Port: o.Port, PrivateKeyFile: o.Identity, SSHConfigFile: o.ConfigFile,
		HostKeyPolicy: knownhosts.Policy(o.HostKeyPolicy), ConnectTimeout: o.ConnectTimeout,
		Passphrase: auth.EnvPassphrase.Value(), Password: auth.EnvPassword.Value(),
		Observe: true, Trace: o.Trace,
	}
	if o.Jump != "" {
		for spec := range strings.SplitSeq(o.Jump, ",") {
			jump, err := sshconfig.ParseJump(strings.TrimSpace(spec))
			if err != nil {
				return sshhost.Config{}, fmt.Errorf("jump host %w", err)
			}
			cfg.Jumps = append(cfg.Jumps, jump)
		}
	}
	var err error
	cfg.SudoPassword, err = o.sudoPassword(std)
	return cfg, err
}

// pin gives each host and jump host the keys that it must show. A key without a host is
// that of the only one: no host may show the key of another.
func (p *pins) pin(targets []*Target) error {
	for _, text := range *p {
		m := pinForm.FindStringSubmatch(text)
		name, key := m[1], m[2]
		if name == "" && len(targets) > 1 {
			return fmt.Errorf("-host-key %s names no host, and there are %d: write HOST=%s", key, len(targets), key)
		}
		found, names := false, []string{}
		for _, t := range targets {
			if name == "" || slices.Contains([]string{t.Spec, t.Name, t.Config.Address}, name) {
				t.Config.HostKeys, found = append(t.Config.HostKeys, key), true
			}
			names = append(names, t.Name)
			// All hosts have the jump hosts of the command line in common.
			t.Config.Jumps = slices.Clone(t.Config.Jumps)
			for i := range t.Config.Jumps {
				names = append(names, t.Config.Jumps[i].Address)
				if jump := &t.Config.Jumps[i]; name == jump.Address {
					jump.HostKeys, found = append(slices.Clone(jump.HostKeys), key), true
				}
			}
		}
		if !found {
			slices.Sort(names)
			return fmt.Errorf("-host-key is for %s, which is neither a HOST nor in -jump; these are: %s. The key of a hop that "+
				"the SSH configuration names belongs into known_hosts", name, strings.Join(slices.Compact(names), ", "))
		}
	}
	return nil
}
