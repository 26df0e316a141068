package sshhost

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/memo"
)

// SharedLists is what the hosts of one configuration read in common: the lists of known
// hosts, the private keys, the SSH client configuration. Without it, a thousand hosts
// would read a list of a thousand lines each, and decrypt a key a thousand times at a
// tenth of a second. The zero value is ready; a nil *SharedLists shares nothing. It is
// safe for concurrent use.
type SharedLists struct {
	lists   memo.Map[string, knownList]
	keys    memo.Map[[sha256.Size]byte, ssh.Signer]
	configs memo.Map[string, *userConfig]
}

// knownHosts reads lists of known hosts, anew if a file has changed: accept-new
// adds to one.
func (s *SharedLists) knownHosts(files []string) (knownList, error) {
	read := func() (knownList, error) { return readKnownHosts(files) }
	if s == nil {
		return read()
	}
	var version strings.Builder
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil {
			return read() // says what is wrong
		}
		fmt.Fprintf(&version, "%d %d\n", st.Size(), st.ModTime().UnixNano())
	}
	return s.lists.Get(strings.Join(files, "\x00"), version.String(), read)
}

// privateKey decrypts a private key.
func (s *SharedLists) privateKey(pem, passphrase []byte) (ssh.Signer, error) {
	decrypt := func() (ssh.Signer, error) { return ssh.ParsePrivateKeyWithPassphrase(pem, passphrase) }
	if s == nil {
		return decrypt()
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\x00", len(pem))
	_, _ = sum.Write(pem)
	_, _ = sum.Write(passphrase)
	return s.keys.Get([sha256.Size]byte(sum.Sum(nil)), "", decrypt)
}

// userConfig reads the SSH client configuration once.
func (s *SharedLists) userConfig(path string) (*userConfig, error) {
	read := func() (*userConfig, error) { return loadUserConfig(path) }
	if s == nil {
		return read()
	}
	return s.configs.Get(path, "", read)
}
