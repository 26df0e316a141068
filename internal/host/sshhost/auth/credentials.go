package auth

import (
	"crypto/sha256"
	"fmt"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/memo"
)

// Credentials are what may be offered to one machine.
type Credentials struct {
	User       string
	PrivateKey string // PEM text
	Passphrase string // of PrivateKey and the files
	Password   string

	Identities   []File // private keys, in the order to offer them
	Defaults     []File // OpenSSH's default keys, if nothing else is configured
	Certificates []File
	NoSiblings   bool     // Certificates stand for those beside the keys
	Notes        []string // why parts of the configuration give no keys here

	Agent         string // socket, or empty: none
	AgentNote     string // why there is no agent
	AgentIdentity string // picks keys of the agent by fingerprint, comment, public key line, or file
	OnlyNamed     bool   // IdentitiesOnly: no key of the agent that nothing names
	OwnKeyOnly    bool   // so too, once there is a key to offer

	Keys *Keys // decrypted before; nil decrypts anew
}

// File is a file of a key or certificate, and the setting that names it.
type File struct{ Path, Source string }

// The settings of the provider that name a file. Others are those of the SSH client
// configuration.
const (
	SourceKeyFile     = "private_key_file"
	SourceCertificate = "certificate"
)

// Keys keeps private keys that were decrypted before: it costs a tenth of a second a
// key, and a thousand hosts may have the same. The zero value is ready; a nil *Keys
// keeps nothing. It is safe for concurrent use.
type Keys struct {
	decrypted memo.Map[[sha256.Size]byte, ssh.Signer]
}

// get decrypts a private key.
func (k *Keys) get(pem, passphrase []byte) (ssh.Signer, error) {
	decrypt := func() (ssh.Signer, error) { return ssh.ParsePrivateKeyWithPassphrase(pem, passphrase) }
	if k == nil {
		return decrypt()
	}
	sum := sha256.New()
	// The length keeps the end of a key and the beginning of a passphrase apart.
	fmt.Fprintf(sum, "%d\x00", len(pem))
	_, _ = sum.Write(pem)
	_, _ = sum.Write(passphrase)
	return k.decrypted.Get([sha256.Size]byte(sum.Sum(nil)), "", decrypt)
}
