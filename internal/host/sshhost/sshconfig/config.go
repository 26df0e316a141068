package sshconfig

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
)

// Become says how a command that needs root gets it.
type Become string

// The ways to root.
const (
	BecomeAuto Become = "auto" // directly if the user has uid 0, else with sudo
	BecomeNone Become = "none" // never elevate: the command runs as the user
	BecomeSudo Become = "sudo" // always with sudo
)

// Config is what is known about reaching one host. Only Address is required.
// What is empty comes from ~/.ssh/config (looked up under Address, as
// `ssh ADDRESS` does) and then from OpenSSH's defaults.
type Config struct {
	Address string // host name, alias in ~/.ssh/config, or IP; IPv6 without brackets
	Port    int
	User    string

	PrivateKey     string // PEM text of a private key
	PrivateKeyFile string // or its path; ~ is the home directory
	Passphrase     string // of PrivateKey, PrivateKeyFile and identity files
	Certificate    string // path of an OpenSSH user certificate for the key
	Password       string // tried at most once per connection, after the keys

	// UseAgent: nil asks the agent unless a private key is configured here.
	UseAgent *bool
	// AgentSocket replaces SSH_AUTH_SOCK and IdentityAgent.
	AgentSocket string
	// AgentIdentity picks agent keys by SHA256 fingerprint, comment, public key
	// line, or path of a public key file.
	AgentIdentity string
	// IdentitiesOnly offers only configured identities, from file or agent.
	IdentitiesOnly *bool

	// HostKeys pins the host: authorized_keys lines or SHA256:… fingerprints.
	// If set, known_hosts files are not consulted.
	HostKeys        []string
	KnownHostsFiles []string
	HostKeyPolicy   knownhosts.Policy
	// RecordFile is where accept-new writes. Default:
	// terraform-provider-infiniband/known_hosts in the user's configuration
	// directory. The user's own known_hosts is only written if named here.
	RecordFile string

	// Jumps are the hops to pass, nearest first; see ParseJump. If nil, ProxyJump
	// of ~/.ssh/config counts; an empty non-nil slice means none.
	Jumps []Config

	Become       Become // default auto
	SudoPassword string // sent only inside the script text on standard input

	// SSHConfigFile replaces ~/.ssh/config and /etc/ssh/ssh_config; ConfigFileNone reads none.
	SSHConfigFile string

	ConnectTimeout  time.Duration // one attempt: TCP, handshake, authentication; default 10s
	ConnectAttempts int           // attempts while the failure may pass; default 3
	CommandTimeout  time.Duration // commands without a timeout of their own; default 5m
	// GiveUpEarly has a host count as down after one attempt to connect that got no answer, and
	// when it is silent while it is read: others are waiting.
	GiveUpEarly       bool
	KeepaliveInterval time.Duration // default 15s; negative switches it off
	KeepaliveCount    int           // unanswered keepalives until the connection counts as lost; default 3
	MaxSessions       int           // concurrent channels on the one connection; default 8 (sshd's own default is 10)
	MaxOutput         int64         // bytes of standard output one command may print; default 64 MiB

	// Shared, if set, is what this host reads in common with others.
	Shared *Shared

	// Observe refuses every command that changes the host.
	Observe bool

	// Trace, if set, is told of each dial, command and transfer as it ends. It
	// is called from several goroutines.
	Trace func(host.Event)
}

// ParseJump reads a jump host as ssh's -J takes it: [user@]host[:port] or
// ssh://[user@]host[:port]. Its errors begin with the quoted text.
func ParseJump(spec string) (Config, error) {
	var c Config
	rest := strings.TrimSuffix(strings.TrimPrefix(spec, "ssh://"), "/")
	// The last @ counts, as for ssh: users of a directory may be user@realm.
	if i := strings.LastIndex(rest, "@"); i == 0 {
		return Config{}, fmt.Errorf("%q has no user before the @", spec)
	} else if i > 0 {
		c.User, rest = rest[:i], rest[i+1:]
	}
	c.Address = rest
	if name, port, err := net.SplitHostPort(rest); err == nil {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return Config{}, fmt.Errorf("%q: port %q is not a number from 1 to 65535", spec, port)
		}
		c.Address, c.Port = name, n
	}
	// [2001:db8::1] without a port is no host:port, and keeps its brackets until here.
	c.Address = strings.TrimSuffix(strings.TrimPrefix(c.Address, "["), "]")
	if c.Address == "" || strings.ContainsAny(c.Address, " /") {
		return Config{}, fmt.Errorf("%q is not [user@]host[:port]", spec)
	}
	return c, nil
}

// plainName reports whether an address is one: not a user or a port with it, and no
// option for ssh.
func plainName(address string) bool {
	return !strings.ContainsAny(address, " \t\n/@") && !strings.HasPrefix(address, "-")
}

// Check refuses a configuration that cannot work.
func (c *Config) Check() error {
	switch {
	case c.Address == "":
		return errors.New("no address is configured")
	case !plainName(c.Address):
		return fmt.Errorf("address %q is not a host name or IP address; user and port are settings of their own", c.Address)
	case c.Port < 0 || c.Port > 65535:
		return fmt.Errorf("port %d is not between 1 and 65535", c.Port)
	case c.PrivateKey != "" && c.PrivateKeyFile != "":
		return errors.New("a private key is configured both as text and as a file; remove one of them")
	case strings.ContainsAny(c.SudoPassword, "\n\x00"):
		return errors.New("the sudo password contains a line break, which sudo cannot read")
	}
	// Zero is "not set" here: SetDefaults comes after this.
	if !slices.Contains([]Become{"", BecomeAuto, BecomeNone, BecomeSudo}, c.Become) {
		return fmt.Errorf("become %q is none of auto, none, sudo", c.Become)
	}
	if !slices.Contains([]knownhosts.Policy{"", knownhosts.Strict, knownhosts.AcceptNew}, c.HostKeyPolicy) {
		return fmt.Errorf("host key policy %q is neither strict nor accept-new", c.HostKeyPolicy)
	}
	for i := range c.Jumps {
		if err := c.Jumps[i].Check(); err != nil {
			return fmt.Errorf("jump host %d: %w", i+1, err)
		}
	}
	return knownhosts.CheckPins(c.HostKeys)
}

// SetDefaults fills in the defaults that no file can change.
func (c *Config) SetDefaults() {
	c.Address = strings.TrimSuffix(strings.TrimPrefix(c.Address, "["), "]")
	c.Become = cmp.Or(c.Become, BecomeAuto)
	if c.ConnectAttempts <= 0 {
		c.ConnectAttempts = 3
	}
	if c.CommandTimeout <= 0 {
		c.CommandTimeout = 5 * time.Minute
	}
	if c.MaxSessions <= 0 {
		c.MaxSessions = 8
	}
	if c.MaxOutput <= 0 {
		c.MaxOutput = 64 << 20
	}
}
