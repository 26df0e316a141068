package opensm

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Secret is a key of a fabric. Nothing that formats it shows it, only what writes the file of options does.
type Secret uint64

const hidden = "(value not shown)"

// Format implements fmt.Formatter for all verbs.
// Also %d and %x, and so a struct with a key in it.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// FabricKeys are the keys of a fabric that one of our files sets. The zero value sets none.
type FabricKeys struct {
	Version int  // of the configuration, at least 1; 0: no keys
	Known   bool // the values are known, which they are not of a state
	M       Secret
	SM, SA  Secret
	// Protection is M_KeyProtectBits, 0 to 3, and Lease the M_Key lease period in seconds, 0 for ever (InfiniBand
	// Architecture, PortInfo).
	Protection, Lease int
}

// DefaultKey is sm_key and sa_key of every opensm that is told no other one.
const DefaultKey Secret = 1

// Values are the keys without the version.
func (k FabricKeys) Values() FabricKeys {
	k.Version = 0
	return k
}

// WithoutValues are what a state has of the keys.
func (k FabricKeys) WithoutValues() FabricKeys {
	return FabricKeys{Version: k.Version, Protection: k.Protection, Lease: k.Lease}
}

// versionLine begins the comment that tells the version. The package's own parser takes it for nothing.
const versionLine = "# keys_version "

// text is every line, also of what is left to opensm: on a signal it keeps what the file does not name. It says
// at once when the fabric is up, which an apply waits for.
func (k FabricKeys) text() string {
	if k.Version == 0 {
		return ""
	}
	key := func(name string, s Secret) string { return fmt.Sprintf("%s 0x%016x\n", name, uint64(s)) }
	return versionLine + strconv.Itoa(k.Version) + "\n" + key("m_key", k.M) +
		"m_key_protection_level " + strconv.Itoa(k.Protection) + "\nm_key_lease_period " + strconv.Itoa(k.Lease) + "\n" +
		key("sm_key", k.SM) + key("sa_key", k.SA) + "force_log_flush TRUE\n"
}

// parseKeys reads the keys of a file of ours. One without our version has keys that somebody has added.
func parseKeys(text string) (k FabricKeys) {
	for line := range strings.Lines(text) {
		if version, ours := strings.CutPrefix(line, versionLine); ours {
			k.Version = max(0, atoi(strings.TrimSpace(version), 0))
		}
	}
	if k.Version == 0 {
		return k
	}
	k.Known = true
	for _, s := range Settings(text) {
		n, err := strconv.ParseUint(s.Value, 0, 64)
		if err != nil {
			continue
		}
		switch s.Key {
		case "m_key":
			k.M = Secret(n)
		case "sm_key":
			k.SM = Secret(n)
		case "sa_key":
			k.SA = Secret(n)
		case "m_key_protection_level":
			k.Protection = int(n & 3)
		case "m_key_lease_period":
			k.Lease = int(n & 0xffff)
		}
	}
	return k
}

// value is that of a key by the name in the file.
func (k FabricKeys) value(name string) (Secret, bool) {
	switch name {
	case "m_key":
		return k.M, true
	case "sm_key":
		return k.SM, true
	case "sa_key":
		return k.SA, true
	}
	return 0, false
}

// Keeps reports whether an instance with these keys has a key as a file had it.
func (k FabricKeys) Keeps(key Key) bool {
	v, is := k.value(key.Name)
	return is && k.Version > 0 && (!k.Known || key.Set.Known() && v == key.value)
}

// IsOne reports whether a key of a file is one that can be set here.
func (k FabricKeys) IsOne(key Key) bool {
	_, is := k.value(key.Name)
	return is
}

// Reports says of each secret whether these keys set it.
func (k FabricKeys) Reports() []Key { return Keys(k.text()) }

// loggedKey is a key with its value as opensm logs it: "Loading Cached Option:m_key = 0x…", "sm_key 0x… that
// doesn't match", "MKey 0x…". A P_Key is none.
var loggedKey = regexp.MustCompile(`(?i)\b((?:m|sm|sa|cc)_?key\b[^0-9\n]*)(?:0x)?[0-9a-f]+`)

// LogWithoutKeys is a log without the values of keys.
func LogWithoutKeys(text string) string { return loggedKey.ReplaceAllString(text, "${1}"+hidden) }
