package sshconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// none is the value by which the SSH client configuration switches an option off.
const none = "none"

// options are what the SSH client configuration says of one machine.
type options struct {
	values map[string][]sourcedValue // by keyword in lower case
	asked  bool                      // ssh gave them: its HostName has no tokens any more
}

// first returns the first value of a keyword, which is the one that counts, and
// where it stands; empty if there is none.
func (o *options) first(keyword string) (value, source string) {
	all := o.values[strings.ToLower(keyword)]
	if len(all) == 0 {
		return "", ""
	}
	return all[0].value, all[0].source
}

// all returns every value: ssh adds up the files of keys and certificates.
func (o *options) all(keyword string) []sourcedValue { return o.values[strings.ToLower(keyword)] }

// number returns a number that is not negative, or 0 if the keyword is not set.
func (o *options) number(keyword string) (int, error) {
	v, source := o.first(keyword)
	// ssh -G prints "none" for a ConnectTimeout that nobody has set.
	if v == "" || strings.EqualFold(v, none) {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %q is not a number", source, v)
	}
	return n, nil
}

func (o *options) is(keyword string, values ...string) bool {
	v, _ := o.first(keyword)
	for _, want := range values {
		if strings.EqualFold(v, want) {
			return true
		}
	}
	return false
}

// keywords are those that are obeyed or refused.
var keywords = []string{
	"AddressFamily", "BindAddress", "BindInterface", "CanonicalizeHostname", "CertificateFile", "ConnectTimeout",
	"GlobalKnownHostsFile", "HostKeyAlias", "HostName", "IdentitiesOnly", "IdentityAgent", "IdentityFile",
	"KnownHostsCommand", "PKCS11Provider", "Port", "ProxyCommand", "ProxyJump", "ProxyUseFdpass", "PubkeyAuthentication",
	"RevokedHostKeys", "ServerAliveCountMax", "ServerAliveInterval", "StrictHostKeyChecking", "User", "UserKnownHostsFile",
}

// options asks ssh, or else the files. user and port are those of the provider's
// configuration: Match lines and tokens depend on them.
func (u *userConfig) options(alias, user string, port int) (*options, error) {
	if u.ssh == "" {
		return u.parseFiles(alias)
	}
	// Many hosts may lie behind one jump host.
	question := strings.Join(u.question(alias, user, port), "\x00")
	return u.answers.Get(question, "", func() (*options, error) { return u.ask(alias, user, port) })
}

// askTime bounds one question. `Match exec` runs a program, and CanonicalizeHostname
// asks name servers.
const askTime = 30 * time.Second

// ask lets ssh read its own configuration: it alone knows Match, Include, canonical
// names and what its version makes of them. It does not connect.
func (u *userConfig) ask(alias, user string, port int) (*options, error) {
	args := u.question(alias, user, port)
	// No caller's context: the answer is kept for all that ask the same, so that one of them who gives up
	// must not be its end.
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, u.ssh, args...) //nolint:gosec // the operator's own ssh
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // a program of `Match exec` may hold the output
	err := cmd.Run()
	switch said := strings.TrimSpace(stderr.String()); {
	case err == nil:
		return parseAnswer(stdout.String()), nil
	case strings.HasPrefix(said, "No user exists for uid"):
		// ssh serves no account without a name, such as that of a container.
		return u.parseFiles(alias)
	default:
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %s", askTime)
		}
		return nil, notAccepted(args, said, err)
	}
}

// -l and -p only if they are given: they would win over User and Port of the files.
func (u *userConfig) question(alias, user string, port int) []string {
	args := []string{"-G"}
	if u.path != "" {
		args = append(args, "-F", u.path)
	}
	if user != "" {
		args = append(args, "-l", user)
	}
	if port != 0 {
		args = append(args, "-p", strconv.Itoa(port))
	}
	return append(args, "--", alias)
}

// notAccepted says that ssh does not accept its configuration: what it printed, or else err.
func notAccepted(args []string, said string, err error) error {
	said = strings.ReplaceAll(strings.ReplaceAll(said, "\r\n", "\n"), "\n", "; ")
	if said == "" {
		said = err.Error()
	}
	return fmt.Errorf("ssh does not accept its client configuration: %s. The command `ssh %s` shows the same. Correct "+
		"the file, or set config_file = \"none\" in the provider's ssh block and write there what the hosts need",
		said, strings.Join(args, " "))
}

// parseAnswer reads "keyword value" lines. The default keys, which ssh lists where no
// IdentityFile is set, are left out: they are tried last, and may be missing.
func parseAnswer(text string) *options {
	o := &options{asked: true, values: map[string][]sourcedValue{}}
	for line := range strings.Lines(text) {
		// Keywords come in lower case, and the rest of a line is the value, with its blanks.
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		o.values[key] = append(o.values[key], sourcedValue{value, nameOf(key) + " of the SSH client configuration"})
	}
	if onlyDefaults(o.values["identityfile"]) {
		delete(o.values, "identityfile")
	}
	return o
}

// nameOf writes a keyword as its manual does.
func nameOf(key string) string {
	for _, k := range keywords {
		if strings.EqualFold(k, key) {
			return k
		}
	}
	return key
}

func onlyDefaults(files []sourcedValue) bool {
	for _, f := range files {
		if !strings.HasPrefix(f.value, "~/.ssh/id_") {
			return false
		}
	}
	return len(files) >= 4 // id_rsa, id_ecdsa, id_ed25519 and those of security keys
}

// parseFiles reads the files without ssh.
func (u *userConfig) parseFiles(alias string) (*options, error) {
	if err := u.readFiles(); err != nil {
		return nil, err
	}
	// Without ssh no canonical name can be made, and sections would be looked up under the short one.
	o := &options{values: map[string][]sourcedValue{}}
	for _, k := range keywords {
		values, err := u.lines(alias, k)
		if err != nil {
			return nil, err
		}
		if len(values) > 0 {
			o.values[strings.ToLower(k)] = values
		}
	}
	if v, source := o.first("CanonicalizeHostname"); v != "" && v != "no" && v != none {
		return nil, fmt.Errorf("%s %s needs the program ssh, which is not found in PATH. Install it, or write the "+
			"full name of the host", source, v)
	}
	return o, nil
}

// refuse names what would have another meaning if it were left out.
func (o *options) refuse() error {
	if v, source := o.first("KnownHostsCommand"); v != "" && v != none {
		return fmt.Errorf("%s is not supported; name the keys in host_keys or known_hosts_files, or set config_file = "+
			"\"none\"", source)
	}
	if v, source := o.first("BindInterface"); v != "" && v != none {
		return fmt.Errorf("%s is not supported; write BindAddress with the address of the interface", source)
	}
	if v, source := o.first("ProxyUseFdpass"); strings.EqualFold(v, "yes") {
		return fmt.Errorf("%s is not supported; write a ProxyCommand that passes the data, such as nc without -F", source)
	}
	return nil
}

var errNoToken = errors.New("unknown token")
