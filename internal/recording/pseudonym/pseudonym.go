// Package pseudonym replaces in texts what names people and their machines: names, serial
// numbers, GUIDs, MAC and IP addresses, P_Keys, ids of machines. What is equal stays equal, a MAC
// address still fits its GUID, and an address its network.
//
// It must not know a host, or take a secret out.
package pseudonym

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// parts are the alternatives of what may have to be replaced; the first one that begins at a place
// counts.
var parts = []string{
	`@via \S+ [0-9A-F]{8} [0-9A-F]{8} [0-9A-F]{8}`, // little-endian, from /proc/net/route
	`@via \S+ [0-9a-f]{32} [0-9a-f]{2} [0-9a-f]{32}`,
	`@route6 \S+ [0-9a-f]{32}`,
	`\b(?:[0-9A-F]{32}|[0-9A-F]{8}):[0-9A-F]{4} (?:[0-9A-F]{32}|[0-9A-F]{8}):[0-9A-F]{4} [0-9A-F]{2}`, // sockets
	`(?:ata|nvme|scsi|wwn|usb|virtio)-[A-Za-z0-9_.:-]{6,}`,                                            // disks
	`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`,
	`(?:[0-9a-fA-F]{2}-){5,7}[0-9a-fA-F]{2}`,
	`[0-9a-fA-F]{0,4}:[0-9a-fA-F:]*:[0-9a-fA-F:]*(?:\.\d+\.\d+\.\d+|/\d{1,3})?`,
	`\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?:/\d{1,2})?`,
	`0x[0-9a-fA-F]{4,64}`,
	`[0-9a-fA-F]{12,64}`,
}

// compile makes the expression that finds all tokens, with the names that are known.
func (t *Table) compile() {
	t.underDomains()
	var names []string
	for word := range t.words {
		names = append(names, regexp.QuoteMeta(word))
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	all := slices.Clone(parts)
	if len(names) > 0 {
		all = append([]string{"(?i:" + strings.Join(names, "|") + ")"}, all...)
	}
	if p := t.pkeyParts(); p != "" {
		all = append([]string{p}, all...)
		t.keyPlace = regexp.MustCompile(`^(?:` + p + `)$`)
	}
	t.tokens = regexp.MustCompile(strings.Join(all, "|"))
}

// Replace gives a text with everything replaced that is known or has the form of an address.
func (t *Table) Replace(text string) string {
	if t.tokens == nil {
		t.compile()
	}
	var out strings.Builder
	t.each(text, func(plain string) { out.WriteString(plain) },
		func(token string, at int) { out.WriteString(t.token(text, token, at)) })
	return out.String()
}

// each walks through a text: what lies between tokens, and the tokens with their places.
func (t *Table) each(text string, plain func(string), token func(string, int)) {
	from := 0
	for at := 0; at < len(text); {
		m := t.tokens.FindStringIndex(text[at:])
		if m == nil {
			break
		}
		begin, end := at+m[0], at+m[1]
		if !isBounded(text, begin, end) {
			at = begin + 1
			continue
		}
		plain(text[from:begin])
		token(text[begin:end], begin)
		from, at = end, max(end, begin+1)
	}
	plain(text[from:])
}

// token is what stands for a token of a text.
func (t *Table) token(text, token string, at int) string {
	if is, ok := t.words[strings.ToLower(token)]; ok {
		return t.note(token, is)
	}
	if is, ok := t.pkeyToken(token); ok {
		return is
	}
	switch {
	case strings.HasPrefix(token, "@"):
		return t.route(token)
	case strings.Contains(token, " "):
		return t.socket(token)
	case isDisk.MatchString(token):
		kind, _, _ := strings.Cut(token, "-")
		return t.note(token, kind+"-"+hex.EncodeToString(t.hash("disk", token)[:8]))
	case strings.Count(token, "-") == 4:
		return t.note(token, t.uuid(token))
	case strings.Count(token, ".") == 3 && !strings.Contains(token, ":"):
		if isVersion(text, at) {
			return token
		}
		return t.ipv4(token)
	case strings.ContainsAny(token, ":-"):
		return t.colons(token)
	}
	return t.run(text, token, at)
}

// isVersion reports whether a line says that its number is a version.
func isVersion(text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return strings.Contains(line, "ersion")
}

func (t *Table) uuid(token string) string {
	h := t.hash("uuid", strings.ToLower(token))
	h[6], h[8] = h[6]&0x0f|0x40, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

var isDisk = regexp.MustCompile(`^(?:ata|nvme|scsi|wwn|usb|virtio)-`)

// hashContext is what stands before the hash of a file, which names no one.
var hashContext = regexp.MustCompile(`(?i)(?:\bimages/|sha256[a-z_]*["']?[=: ]+["']?)$`)

// run is a run of hexadecimal digits: an address without marks, an id, or the hash of a file.
func (t *Table) run(text, token string, at int) string {
	digits := strings.TrimPrefix(token, "0x")
	prefix := token[:len(token)-len(digits)]
	number := prefix == "" && isDecimal(digits) && digits[:2] != "00"
	switch n := len(digits); {
	case n == 12 && !number:
		return prefix + t.hexAddress(digits, 48)
	case n > 12 && n <= 16 && !number: // some tools leave the zeros at the front away
		return prefix + t.hexAddress(digits, 64)
	case n == 32 && prefix == "":
		return t.note(token, hex.EncodeToString(t.hash("id", token)[:16]))
	case n == 64 && !isFileHash(text, at, at+len(token)):
		return t.note(token, hex.EncodeToString(t.hash("key", token)))
	}
	return token
}

// isFileHash reports whether the text around a hash says that it is that of a file.
func isFileHash(text string, begin, end int) bool {
	behind := text[end:]
	return hashContext.MatchString(text[:begin]) || strings.HasPrefix(behind, "  ") || strings.HasPrefix(behind, " *")
}
