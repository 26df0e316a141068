package knownhosts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
)

// vouch says how to make a key known, with the exact lines. They are indented, because
// Terraform wraps all other lines.
func (t *Trust) vouch(key ssh.PublicKey) string {
	file, state := "~/.ssh/known_hosts", ""
	if len(t.host.files()) > 0 {
		file = t.host.files()[0]
		if _, err := os.Stat(file); isAbsent(err) {
			state = ", which does not exist yet"
		}
	}
	// Whole, not the fingerprint alone: the line is meant to be copied.
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	where := "the host's configuration"
	if t.host.Jump {
		where = "the object of this jump host in jump_hosts"
	}
	return fmt.Sprintf("Compare the fingerprint with what `ssh-keygen -lf /etc/ssh/ssh_host_%s_key.pub` prints on the "+
		"host's own console. "+
		"If they are equal, either add this line to %s%s:\n\n    %s\n\nor pin the key in %s:\n\n    "+
		"host_keys = [%q]",
		fileKind(key.Type()), file, state, recordLine(t.name, key), where, line)
}

// acceptable adds the policy that would have taken the key, for a host that is new.
func (t *Trust) acceptable(advice string) string {
	if t.host.Policy == AcceptNew {
		return advice
	}
	return advice + "\n\nor set host_key_policy = \"accept-new\" to accept the first key that a new host shows."
}

func (t *Trust) pinMismatch(key ssh.PublicKey) error {
	var want []string
	for _, k := range t.pins.keys {
		want = append(want, Describe(k))
	}
	want = append(want, t.pins.fingerprints...)
	return refusal(fmt.Sprintf("the host showed the key %s, but is pinned to %s", Describe(key),
		strings.Join(want, ", ")),
		"Either the host was installed anew or given other keys, or another machine answers under its address. "+
			"Find out which before you change host_keys: credentials sent to an impostor are lost. "+
			"A fingerprint pins one key, and a host has one of each kind; pin the one of kind "+key.Type()+
			" if the host is the right one.")
}

func (t *Trust) changedKeyError(key ssh.PublicKey, want []knownLine) error {
	var known []string
	for _, k := range want {
		known = append(known, fmt.Sprintf("%s (%s)", Describe(k.key), k.where()))
	}
	return refusal(fmt.Sprintf("the host key has changed: the host showed %s, known is %s", Describe(key),
		strings.Join(known, ", ")),
		fmt.Sprintf("Either the host was installed anew or given other keys, or another machine answers under its address. "+
			"Find out which. If the new key is right, remove the old one with:\n\n    ssh-keygen -R %s -f %s\n\nand make the "+
			"new one known. %s",
			quoteHost(knownName(t.name)), want[0].file, t.vouch(key)))
}

// NoCommonKey explains a handshake in which the host has no key of a kind that
// is known of it.
func (t *Trust) NoCommonKey(err *ssh.AlgorithmNegotiationError) error {
	where := "host_keys"
	if t.pins.empty() {
		where = strings.Join(t.host.files(), ", ")
	}
	return refusal(fmt.Sprintf("the host has no key of a kind that is known of it: known are %s, the host offers %s",
		strings.Join(t.Algorithms(), ", "), strings.Join(err.RequestedAlgorithms, ", ")),
		fmt.Sprintf("The host lost the key that %s names, or was installed anew. Look at it with `ssh-keyscan %s` from a "+
			"network you trust, and make one of its keys known.", where, t.host.Name))
}

// ListAdvice helps where what says which keys are known, or revoked, was not understood.
func ListAdvice(err error) string {
	var unread *fs.PathError
	switch {
	case errors.As(err, &unread):
		return fmt.Sprintf("Make %s a file that this user can read, or name another file.", unread.Path)
	case errors.Is(err, errKRL):
		return "Make the list anew with ssh-keygen -k, or name another one."
	}
	return "Fix or remove the line that is named."
}
