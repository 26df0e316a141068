package sshconfig

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
)

// hop decides the settings of one machine.
func (u *userConfig) hop(cfg Config) (*Hop, error) {
	set, err := u.options(cfg.Address, cfg.User, cfg.Port)
	if err != nil {
		return nil, err
	}
	h := &Hop{cfg: cfg, Alias: cfg.Address, Host: cfg.Address, Port: cfg.Port, User: cfg.User, set: set,
		config: u}
	// where, who and trust first: the tokens %h, %p, %r and %k of what follows are host, port, user and the
	// alias of its key.
	steps := []func(*Hop) error{u.where, u.who, u.trust, u.keys, u.certificates, u.useAgent, u.times}
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
func (u *userConfig) value(h *Hop, v sourcedValue) (string, error) {
	text, err := u.expand(v.value, h)
	if err != nil {
		return "", fmt.Errorf("%s: %w", v.source, err)
	}
	return text, nil
}

func (u *userConfig) where(h *Hop) error {
	if h.Port == 0 {
		port, err := h.set.number("Port")
		if err != nil {
			return err
		}
		h.Port = cmp.Or(port, 22)
	}
	name, source := h.set.first("HostName")
	switch {
	// ssh has put its tokens in, and made the name canonical where that is asked for.
	case h.set.asked:
		h.Host = cmp.Or(name, h.Host)
	case name != "":
		var err error
		// The name itself may hold %h, which stands for what was asked for.
		if h.Host, err = u.tokens(name, h); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
	}
	h.Family = "tcp"
	switch v, source := h.set.first("AddressFamily"); strings.ToLower(v) {
	case "", "any":
	case "inet":
		h.Family = "tcp4"
	case "inet6":
		h.Family = "tcp6"
	default:
		return fmt.Errorf("%s: %q is none of any, inet, inet6", source, v)
	}
	if v, _ := h.set.first("BindAddress"); v != none {
		h.Bind = v
	}
	return nil
}

func (u *userConfig) who(h *Hop) error {
	if h.User != "" {
		return nil
	}
	h.User, _ = h.set.first("User")
	// As ssh does: the name of the local account.
	h.User = cmp.Or(h.User, u.local)
	if h.User == "" {
		return errors.New("no user is configured, and the local user has no name to fall back on")
	}
	return nil
}

func (u *userConfig) keys(h *Hop) error {
	c := &h.cfg
	h.Keys = auth.Credentials{User: h.User, PrivateKey: c.PrivateKey, Passphrase: c.Passphrase, Password: c.Password,
		AgentIdentity: c.AgentIdentity, OwnKeyOnly: c.UseAgent == nil && h.explicitKey(), Keys: c.Shared.privateKeys()}
	if h.Keys.OnlyNamed = h.set.is("IdentitiesOnly", "yes"); h.cfg.IdentitiesOnly != nil {
		h.Keys.OnlyNamed = *h.cfg.IdentitiesOnly
	}
	if v, source := h.set.first("PKCS11Provider"); v != "" && v != none {
		h.Keys.Notes = append(h.Keys.Notes, source+
			": the provider asks no token itself; let the agent hold its keys (ssh-add -s)")
	}
	switch {
	case h.cfg.PrivateKeyFile != "":
		h.Keys.Identities = []auth.File{{Path: tilde(u.home, h.cfg.PrivateKeyFile), Source: auth.SourceKeyFile}}
		return nil
	case h.explicitKey():
		return nil
	case h.noKeys():
		h.Keys.Notes = append(h.Keys.Notes, "keys: PubkeyAuthentication is off in the SSH client configuration")
		return nil
	}
	files, err := u.fileList(h, "IdentityFile")
	h.Keys.Identities = files
	if len(h.set.all("IdentityFile")) == 0 && u.home != "" {
		for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			h.Keys.Defaults = append(h.Keys.Defaults,
				auth.File{Path: filepath.Join(u.home, ".ssh", name), Source: "default key"})
		}
	}
	return err
}

// fileList is every file that a keyword names.
func (u *userConfig) fileList(h *Hop, keyword string) (out []auth.File, err error) {
	for _, f := range h.set.all(keyword) {
		if f.value == none {
			continue
		}
		path, err := u.value(h, f)
		if err != nil {
			return nil, err
		}
		out = append(out, auth.File{Path: path, Source: f.source})
	}
	return out, nil
}

// certificates are those of the files; one that the provider's configuration names
// stands for all of them.
func (u *userConfig) certificates(h *Hop) (err error) {
	if h.cfg.Certificate != "" {
		h.Keys.Certificates = []auth.File{{Path: tilde(u.home, h.cfg.Certificate), Source: auth.SourceCertificate}}
		h.Keys.NoSiblings = true
		return nil
	}
	h.Keys.Certificates, err = u.fileList(h, "CertificateFile")
	return err
}

// With a key of its own configured the agent is left out: sshd counts each key that is offered
// (MaxAuthTries, 6 or less), and the one that was meant might not get its turn.
func (u *userConfig) useAgent(h *Hop) error {
	named := h.cfg.AgentIdentity != "" || h.cfg.AgentSocket != ""
	switch {
	case h.cfg.UseAgent != nil && !*h.cfg.UseAgent:
		h.Keys.AgentNote = "switched off by the configuration"
		return nil
	case h.cfg.UseAgent == nil && h.explicitKey() && !named:
		h.Keys.AgentNote = "not asked, because a private key is configured"
		return nil
	case h.cfg.UseAgent == nil && !named && h.noKeys():
		return nil // keys said so
	case h.cfg.AgentSocket != "":
		h.Keys.Agent = tilde(u.home, h.cfg.AgentSocket)
		return nil
	}
	return u.findAgent(h)
}

// findAgent takes the agent that ~/.ssh/config names, or else the environment's.
func (u *userConfig) findAgent(h *Hop) error {
	socket, source := h.set.first("IdentityAgent")
	switch name, variable := strings.CutPrefix(socket, "$"); {
	case socket == none:
		h.Keys.AgentNote = "switched off by IdentityAgent none"
		return nil
	// IdentityAgent alone takes $NAME for a variable; elsewhere ssh knows only ${NAME} (ssh_config(5)).
	case variable && !strings.HasPrefix(name, "{"):
		h.Keys.Agent = os.Getenv(name)
	case socket != "SSH_AUTH_SOCK":
		path, err := u.value(h, sourcedValue{socket, source})
		if err != nil {
			return err
		}
		h.Keys.Agent = path
	}
	h.Keys.Agent = cmp.Or(h.Keys.Agent, os.Getenv("SSH_AUTH_SOCK"), auth.DefaultAgent)
	if h.Keys.Agent == "" {
		h.Keys.AgentNote = "no socket: SSH_AUTH_SOCK is not set in Terraform's environment"
	}
	return nil
}

func (u *userConfig) trust(h *Hop) error {
	h.Trust.Address, h.Trust.Name = h.Address(), h.Host
	h.Trust.Pins, h.Trust.Lists = h.cfg.HostKeys, h.cfg.Shared.knownHosts()
	h.Trust.Alias, _ = h.set.first("HostKeyAlias")
	if h.Trust.Policy = h.cfg.HostKeyPolicy; h.Trust.Policy == "" {
		h.Trust.Policy = knownhosts.Strict
		// "no" and "off" trust anybody, which this provider never does.
		if h.set.is("StrictHostKeyChecking", string(knownhosts.AcceptNew)) {
			h.Trust.Policy = knownhosts.AcceptNew
		}
	}
	if h.Trust.Policy == knownhosts.AcceptNew {
		// A list of this provider's own: what a run without a person accepts shall not be trusted by ssh too.
		if h.Trust.Record = tilde(u.home, h.cfg.RecordFile); h.Trust.Record == "" {
			dir, noDir := os.UserConfigDir()
			if noDir != nil {
				return fmt.Errorf("there is nowhere to record accepted host keys: %w", noDir)
			}
			h.Trust.Record = filepath.Join(dir, "terraform-provider-infiniband", "known_hosts")
		}
	}
	if revoked, source := h.set.first("RevokedHostKeys"); revoked != "" && revoked != none {
		path, err := u.value(h, sourcedValue{revoked, source})
		if err != nil {
			return err
		}
		h.Trust.Revoked = path
	}
	return u.knownHosts(h)
}

func (u *userConfig) knownHosts(h *Hop) error {
	if h.cfg.KnownHostsFiles != nil {
		for _, f := range h.cfg.KnownHostsFiles {
			h.Trust.Files = append(h.Trust.Files, tilde(u.home, f))
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
				h.Trust.Files = append(h.Trust.Files, path)
			}
		}
	}
	return nil
}

// ssh -G prints ServerAliveInterval 0 where nobody has set it, so that 0 cannot switch keepalives off
// here. Only the provider's own setting can: a silent host must not hold an apply for ever.
func (u *userConfig) times(h *Hop) error {
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
	if h.Timeout, err = seconds(h.cfg.ConnectTimeout, "ConnectTimeout", 10*time.Second); err != nil {
		return err
	}
	if h.Interval, err = seconds(h.cfg.KeepaliveInterval, "ServerAliveInterval", 15*time.Second); err != nil {
		return err
	}
	h.Interval = max(h.Interval, 0)
	if h.Count = h.cfg.KeepaliveCount; h.Count <= 0 {
		if h.Count, err = h.set.number("ServerAliveCountMax"); err != nil {
			return err
		}
		h.Count = cmp.Or(h.Count, 3)
	}
	return nil
}
