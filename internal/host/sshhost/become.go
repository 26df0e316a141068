package sshhost

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// elevation gives the way to root for the next command, from the way that worked before
// on this host.
func (h *Host) elevation(known shellcmd.Way) shellcmd.Elevation {
	how := shellcmd.Elevation{Mode: shellcmd.Detect, Password: h.cfg.SudoPassword}
	switch {
	case h.cfg.Become == sshconfig.BecomeNone:
		return shellcmd.Elevation{Mode: shellcmd.Direct}
	case h.cfg.Become == sshconfig.BecomeSudo:
		how.Mode = shellcmd.Sudo
	// A host whose root logs in may have no sudo at all.
	case known == shellcmd.WayRoot || (known == shellcmd.WayUnknown && h.target().User == "root"):
		return shellcmd.Elevation{Mode: shellcmd.Direct}
	}
	switch known {
	case shellcmd.WaySudo:
		return shellcmd.Elevation{Mode: shellcmd.Sudo}
	case shellcmd.WayPassword:
		how.Mode, how.Verified = shellcmd.Sudo, true
	case shellcmd.WayRoot, shellcmd.WayUnknown:
	}
	return how
}

// refusal is one reason for which sudo says no, with the text that sudo or sudo-rs
// prints. Only the text tells them apart: the status is always 1.
type refusal struct {
	reason string
	said   []string // any of these, lower case
	advice string
}

var refusals = []refusal{
	{host.ReasonRequireTTY, []string{"must have a tty", "you must have a tty to run sudo"},
		"sudoers has `Defaults requiretty`, which forbids sudo without a terminal. Add `Defaults:USER !requiretty` for " +
			"this user."},
	{host.ReasonWrongPassword, []string{"incorrect password", "no password was provided", "sorry, try again",
		"authentication failed", "incorrect authentication attempt"},
		"sudo rejected the configured password. It was tried once. Check sudo_password: it is the password of USER on this " +
			"host, unless sudoers says `rootpw` or `targetpw`."},
	{host.ReasonNotInSudoers, []string{"not in the sudoers file", "is not allowed to", "may not run sudo",
		"not allowed to run sudo", "i'm sorry"},
		"sudoers does not let USER run /bin/sh as root. Add a file in /etc/sudoers.d with `USER ALL=(root) NOPASSWD: " +
			"/bin/sh -s`, or another user to the provider's configuration."},
	{host.ReasonPasswordNeeded, []string{"password is required", "a terminal is required", "authentication is required",
		"askpass"},
		"sudo asks USER for a password. Set sudo_password or INFINIBAND_SUDO_PASSWORD of the environment, or let sudo do " +
			"without: `USER ALL=(root) NOPASSWD: /bin/sh -s` in a file in /etc/sudoers.d. A user who is not in sudoers at all is asked for a password too."},
}

// privilegeError says why root was refused. status is the one that the way to
// root ended with; stderr is sudo's own.
func (h *Host) privilegeError(status int, stderr []byte) *host.PrivilegeError {
	user := h.target().User
	e := &host.PrivilegeError{Host: h.name, User: user, Reason: host.ReasonRefused, Stderr: h.redact(string(stderr)),
		Advice: "sudo failed for a reason that the provider does not know. Its output is below. `sudo -n -- /bin/sh -s " +
			"</dev/null` on the host shows the same."}
	if status == 127 {
		e.Reason = host.ReasonNoSudo
		e.Advice = "Install sudo, or let the provider log in as root (user = \"root\" with a key)."
		return e
	}
	// The first in order decides: texts of one reason may hold a piece of another.
	said := strings.ToLower(string(stderr))
	for _, r := range refusals {
		for _, s := range r.said {
			if strings.Contains(said, s) {
				e.Reason = r.reason
				e.Advice = strings.ReplaceAll(r.advice, "USER", user)
				return e
			}
		}
	}
	return e
}
