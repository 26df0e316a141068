package knownhosts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
)

// recordLine is the line of known_hosts for the key of host:port.
func recordLine(address string, key ssh.PublicKey) string {
	return knownName(address) + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// appendLine adds a line of its own to a file, also to one whose last line has no end.
func appendLine(path, line string) error {
	// Ours alone, as ~/.ssh: whoever writes the list decides which host is trusted.
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// Appended by one write: another apply may record a host at the same moment. For reading too, because
	// the last byte is looked at.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil && st.Size() > 0 {
		last := make([]byte, 1)
		if _, err = f.ReadAt(last, st.Size()-1); err == nil && last[0] != '\n' {
			line = "\n" + line
		}
	}
	if err == nil {
		_, err = f.WriteString(line + "\n")
	}
	return errors.Join(err, f.Close())
}
