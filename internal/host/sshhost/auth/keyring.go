package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
)

// identity is a key that can be offered, and where it came from.
type identity struct {
	signer ssh.Signer
	source string
}

func (i identity) String() string {
	return knownhosts.Describe(i.signer.PublicKey()) + " (" + i.source + ")"
}

// Keyring is what one machine can authenticate with.
type Keyring struct {
	offer []identity
	notes []string // what could not be offered, and why
	agent net.Conn // open while authenticating: the agent signs
}

// maxOffers bounds the keys offered to one server: sshd's default MaxAuthTries
// is 6 and counts each key, and the password must still fit.
const maxOffers = 5

func (k *Keyring) note(format string, args ...any) {
	k.notes = append(k.notes, fmt.Sprintf(format, args...))
}

// Close ends the connection to the agent, which signs until then.
func (k *Keyring) Close() {
	if k.agent != nil {
		_ = k.agent.Close()
	}
}

// Load gathers the keys of a machine in the order to offer them: configured
// ones, then the agent's, then OpenSSH's default files. An explicitly configured
// key that cannot be used is an error, because falling back to another one would
// hide it.
func Load(ctx context.Context, c *Credentials) (*Keyring, error) {
	k := &Keyring{notes: slices.Clone(c.Notes)}
	// The agent first: it signs for keys whose file is encrypted or only the public half.
	held := k.askAgent(ctx, c)
	var wanted []identity
	if c.PrivateKey != "" {
		id, err := parseKey([]byte(c.PrivateKey), c, "private_key")
		if err != nil {
			k.Close()
			return nil, err
		}
		wanted = append(wanted, id)
	}
	for _, f := range c.Identities {
		id, err := k.fromFile(f, c, held)
		switch {
		case err == nil:
			wanted = append(wanted, id)
		// Files of ~/.ssh/config may be missing, as for ssh; the one of the provider may not.
		case f.Source == SourceKeyFile:
			k.Close()
			return nil, err
		default:
			k.note("%v", err)
		}
	}
	wanted = append(wanted, k.pickFromAgent(c, held, wanted)...)
	for _, f := range c.Defaults {
		id, err := k.fromFile(f, c, held)
		if err == nil {
			wanted = append(wanted, id)
		} else if !errors.Is(err, fs.ErrNotExist) {
			k.note("%v", err)
		}
	}
	k.choose(wanted, c)
	return k, nil
}

// choose drops doubles, puts certificates before their keys, and bounds the rest.
func (k *Keyring) choose(wanted []identity, c *Credentials) {
	var seen [][]byte
	var rest []string
	for _, id := range wanted {
		blob := id.signer.PublicKey().Marshal()
		if slices.ContainsFunc(seen, func(b []byte) bool { return bytes.Equal(b, blob) }) {
			continue
		}
		seen = append(seen, blob)
		if len(k.offer) >= maxOffers {
			rest = append(rest, id.String())
			continue
		}
		// Both or only the key: a certificate alone fails where the authority is not trusted.
		if certified, ok := certify(id, c, k); ok && len(k.offer) < maxOffers-1 {
			k.offer = append(k.offer, certified)
		}
		k.offer = append(k.offer, id)
	}
	if len(rest) > 0 {
		k.note("%s: not offered, because servers close the connection after about six attempts; choose a key with "+
			"private_key_file, agent_identity or IdentitiesOnly in ~/.ssh/config",
			strings.Join(rest, ", "))
	}
}

// askAgent returns the keys that the agent holds.
func (k *Keyring) askAgent(ctx context.Context, c *Credentials) []identity {
	if c.Agent == "" {
		if c.AgentNote != "" {
			k.note("agent: %s", c.AgentNote)
		}
		return nil
	}
	conn, err := dialAgent(ctx, c.Agent)
	if err != nil {
		k.note("agent: the socket %s does not answer: %v", c.Agent, err)
		return nil
	}
	k.agent = conn
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // an agent may hang, waiting for a person
	}
	client := agent.NewClient(conn)
	// Signers have no comments, by which agent_identity may name a key; List has them.
	keys, err := client.List()
	if err != nil {
		k.note("agent: %s: %v", c.Agent, err)
		return nil
	}
	signers, err := client.Signers()
	// Two questions: a key that came or went between them would give others its comment.
	if err != nil || len(signers) != len(keys) {
		k.note("agent: %s: its keys cannot be used: %v", c.Agent, err)
		return nil
	}
	if len(keys) == 0 {
		k.note("agent: %s holds no keys; add one with ssh-add", c.Agent)
	}
	held := make([]identity, 0, len(keys))
	for i, key := range keys {
		held = append(held, identity{signers[i], "agent: " + key.Comment})
	}
	return held
}

// pickFromAgent returns the agent's keys that may be offered without a file.
func (k *Keyring) pickFromAgent(c *Credentials, held, wanted []identity) []identity {
	if c.AgentIdentity == "" {
		if c.OnlyNamed || (len(wanted) > 0 && c.OwnKeyOnly) {
			return nil
		}
		return held
	}
	var out []identity
	for _, id := range held {
		if matches(id, c.AgentIdentity) {
			out = append(out, id)
		}
	}
	if len(out) == 0 && c.Agent != "" {
		k.note("agent: no key matches agent_identity %q", c.AgentIdentity)
	}
	return out
}

// matches compares an agent's key with a fingerprint, comment, public key line,
// or the path of a public key file.
func matches(id identity, want string) bool {
	pub := id.signer.PublicKey()
	if want == ssh.FingerprintSHA256(pub) || "agent: "+want == id.source {
		return true
	}
	text := []byte(want)
	if data, err := os.ReadFile(want); err == nil {
		text = data
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	return err == nil && bytes.Equal(key.Marshal(), pub.Marshal())
}

// fromFile loads a private key. If the agent holds the same key, the agent's is
// used: the file may be encrypted, or be a public key only.
func (k *Keyring) fromFile(f File, c *Credentials, held []identity) (identity, error) {
	// The public half says which key it is without its passphrase. IdentityFile may name it itself.
	for _, path := range []string{f.Path + ".pub", f.Path} {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey(data)
		if err != nil {
			continue
		}
		for _, id := range held {
			if bytes.Equal(id.signer.PublicKey().Marshal(), key.Marshal()) {
				return identity{id.signer, f.Path + ", " + f.Source + ", by the agent"}, nil
			}
		}
	}
	data, err := os.ReadFile(f.Path)
	if err != nil {
		return identity{}, fmt.Errorf("%s: %w", f.Source, err)
	}
	return parseKey(data, c, f.Path+", "+f.Source)
}

var (
	errEncrypted  = errors.New("the key is encrypted")
	errPassphrase = errors.New("the key cannot be decrypted with the passphrase given")
)

// KeyAdvice says what to do about a configured key that cannot be used.
func KeyAdvice(err error) string {
	const pass = "passphrase (or " + string(EnvPassphrase) + " in the environment)"
	switch {
	case errors.Is(err, errEncrypted):
		return "Set " + pass + ", or leave the key to the agent: `ssh-add` it and set use_agent = true."
	case errors.Is(err, errPassphrase):
		return "Check " + pass + ". `ssh-keygen -y -f` with the key's file asks for it and shows whether it is right."
	case errors.Is(err, fs.ErrNotExist):
		return "Check private_key_file. A relative path starts at the directory in which Terraform runs; ~ is the home " +
			"directory of the user who runs it."
	case errors.Is(err, fs.ErrPermission):
		return "Let the user who runs Terraform read the file, or name another key in private_key_file."
	}
	return "A private key begins with `-----BEGIN OPENSSH PRIVATE KEY-----` or another BEGIN line. A file that ends in " +
		".pub is the public half."
}

func parseKey(data []byte, c *Credentials, source string) (identity, error) {
	// First without the passphrase: it may be meant for another of the keys.
	signer, err := ssh.ParsePrivateKey(data)
	var encrypted *ssh.PassphraseMissingError
	if errors.As(err, &encrypted) {
		if c.Passphrase == "" {
			return identity{}, fmt.Errorf("%s: %w; give its passphrase, or add it to the agent with ssh-add", source,
				errEncrypted)
		}
		signer, err = c.Keys.get(data, []byte(c.Passphrase))
		if err != nil {
			return identity{}, fmt.Errorf("%s: %w: %w", source, errPassphrase, err)
		}
	}
	if err != nil {
		return identity{}, fmt.Errorf("%s: not a private key that can be used: %w", source, err)
	}
	return identity{signer, source}, nil
}

// certify returns the key with its certificate, if there is one: as configured,
// or beside the key file under OpenSSH's name.
func certify(id identity, c *Credentials, k *Keyring) (identity, bool) {
	candidates := c.Certificates
	if file, _, ok := strings.Cut(id.source, ", "); ok && !c.NoSiblings {
		candidates = append(slices.Clone(candidates), File{Path: file + "-cert.pub"})
	}
	for _, f := range candidates {
		// The first that fits this key: certificates in the configuration are not bound to a key.
		if certified, ok := certifiedBy(f, id, k); ok {
			return certified, true
		}
	}
	return identity{}, false
}

func certifiedBy(f File, id identity, k *Keyring) (identity, bool) {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		if f.Source != "" { // one beside a key need not exist
			k.note("%s: %v", f.Source, err)
		}
		return identity{}, false
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		k.note("certificate %s: %v", f.Path, err)
		return identity{}, false
	}
	cert, ok := key.(*ssh.Certificate)
	if !ok || !bytes.Equal(cert.Key.Marshal(), id.signer.PublicKey().Marshal()) {
		return identity{}, false
	}
	signer, err := ssh.NewCertSigner(cert, id.signer)
	if err != nil {
		k.note("certificate %s: %v", f.Path, err)
		return identity{}, false
	}
	return identity{signer, "certificate " + f.Path}, true
}
