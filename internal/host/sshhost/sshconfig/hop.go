package sshconfig

import (
	"net"
	"reflect"
	"strconv"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
)

// Hop is one machine on the way, with every setting decided: the explicit
// configuration first, then ~/.ssh/config, then OpenSSH's defaults.
type Hop struct {
	Alias string // as configured: what ~/.ssh/config is looked up under
	Host  string // as dialled
	Port  int
	User  string

	Proxy  string // ProxyCommand: the program that reaches this hop; empty for none
	Family string // "tcp", "tcp4" or "tcp6"
	Bind   string // address of this machine to call from, or empty

	Timeout  time.Duration // of one attempt
	Interval time.Duration // keepalive; 0: none
	Count    int           // unanswered ones until the connection counts as lost

	Keys  auth.Credentials
	Trust knownhosts.Host

	cfg    Config
	set    *options
	config *userConfig // that gave set
}

// Address is host:port as dialled.
func (h *Hop) Address() string { return net.JoinHostPort(h.Host, strconv.Itoa(h.Port)) }

// Same reports whether a login at o would be the login at h: the same machine, reached and judged in the same way.
func (h *Hop) Same(o *Hop) bool {
	return reflect.DeepEqual(h.login(), o.login()) && h.Trust.Same(&o.Trust)
}

// Every setting on which a login depends stands here: one that is left out would have two hosts share
// a login that is not theirs.
func (h *Hop) login() []any {
	return []any{h.Alias, h.Host, h.Port, h.User, h.Proxy, h.Family, h.Bind, h.Timeout, h.Interval, h.Count, h.Keys}
}

// explicitKey reports whether the provider's configuration has a key.
func (h *Hop) explicitKey() bool { return h.cfg.PrivateKey != "" || h.cfg.PrivateKeyFile != "" }

// noKeys reports whether ssh would offer no key.
func (h *Hop) noKeys() bool { return h.set.is("PubkeyAuthentication", "no", "false") }
