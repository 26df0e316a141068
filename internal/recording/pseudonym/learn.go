package pseudonym

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Names gives a name to each of these hosts, in the order of their own: host1, host2.
func (t *Table) Names(kind string, names ...string) {
	slices.Sort(names)
	width := len(strconv.Itoa(len(names)))
	for i, name := range slices.Compact(names) {
		t.word(kind, name, fmt.Sprintf("%s%0*d", kind, width, i+1))
	}
}

// Stays are words that may be the name of a host and mean something else in its answers; they name
// nobody.
var stays = strings.Fields(`localhost localdomain local ubuntu debian truenas fedora rhel redhat centos rocky almalinux
arch archlinux linux root admin ops user server client node host network storage switch router default infiniband
mellanox nvidia qlogic opensm ipoib ethernet kernel system systemd netplan nas lab home test none unknown mstflint
true false yes auto dhcp static`)

var nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]$`)

// word has a name replaced everywhere, if it is one that can be.
func (t *Table) word(kind, name, is string) {
	key := strings.ToLower(name)
	if len(key) < 3 || !nameForm.MatchString(name) || slices.Contains(stays, key) {
		return
	}
	if _, known := t.words[key]; !known {
		t.words[key], t.kinds[key] = is, kind
		t.tokens = nil
	}
}

// More gives names of this kind to those that have none yet. Of a name with dots the first part, and
// the domain behind it, are names of their own.
func (t *Table) More(kind string, names ...string) {
	for _, name := range names {
		if first, domain, dots := strings.Cut(name, "."); dots && nameForm.MatchString(name) {
			t.More(kind, first)
			t.more("domain", domain)
			continue
		}
		t.more(kind, name)
	}
}

// phrase has a text with blanks in it replaced, as more does with a name.
func (t *Table) phrase(kind, text string) {
	if nameForm.MatchString(text) {
		t.More(kind, text)
		return
	}
	key := strings.ToLower(text)
	if _, known := t.words[key]; !known && len(key) > 3 {
		t.words[key], t.kinds[key], t.tokens = kind+" "+t.next(kind), kind, nil
	}
}

// next is the number that the next one of a kind has.
func (t *Table) next(kind string) string {
	n := 1
	for _, k := range t.kinds {
		if k == kind {
			n++
		}
	}
	return strconv.Itoa(n)
}

func (t *Table) more(kind, name string) { t.word(kind, name, kind+t.next(kind)) }

var (
	serials = regexp.MustCompile(`(?m)\[SN\] Serial number: *(\S+)|\[Y[A-Z0-9]\] [^:\n]*: *(\S+)`)
	asKnown = regexp.MustCompile(`^(?i:n/?a|none|0+)$`)
	// descriptions are those of nodes that hosts have named.
	descriptions = regexp.MustCompile(`["\t] *([A-Za-z][\w.-]*) (?:HCA-\d+|(?:mlx|qib|mthca|hfi)\w*_?\d+)\b` +
		`|MF0;([^:;"\s]+):`)
	// described is what stands behind a node in ibnetdiscover and iblinkinfo, whoever has written it.
	described = regexp.MustCompile(`(?:#\s+|\] )"\s*([^"]*[^"\s])\s*"`)
	users     = regexp.MustCompile(`(?m)\b(?:operator|by)=([^\s@]+)@|/home/([^/\s:"']+)`)
	desks     = regexp.MustCompile(`(?m)\b(?:operator|by)=[^\s@]+@([^\s]+)|\bowner_machine=(\S+)`)
	domains   = regexp.MustCompile(`(?mi)^\|?\s*(?:- )?(?:(?:search|domains|domain|peerdns-search|dns-search)` +
		`\s*[:=]\s*\[?|dns-(?:search|domain)[ \t]+)([^\]\n]+)`)
	// whole are names that are replaced as a whole, with their dots: of services, and of those who log in there.
	whole = regexp.MustCompile(`(?mi)^\|?\s*(?:dhcp-hostname|dhcp-fqdn|hostname)\s*[:=]\s*["']?([A-Za-z][\w.-]*)` +
		`|\bendpoint\s*[:=]\s*["']?([A-Za-z][\w.-]*):\d` +
		`|\b(?:nfs)?root=(?:nfs4?:)?([A-Za-z][\w.-]*):/` +
		`|^\|?\s*(?:[\w-]+\.)?(?:anonymous-)?identity\s*[:=]\s*["']?([^\s"',}\]]+)` +
		`|[\s,](?:username|user)=([^\s,"']+)` +
		// the ends of a benchmark in the notes of a host
		`|\b(?:from|to)=([A-Za-z][\w.-]*), [^\s,]+\t`)
	dotted = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9][A-Za-z0-9_-]*)+`)
	// servers are those of mounts and of power supplies.
	servers = regexp.MustCompile(`(?m)^\|([A-Za-z][\w.-]*):/\S* \S+ nfs|^\|//([A-Za-z][\w.-]*)/\S* \S+ (?:cifs|smb)` +
		`|^@run -?\d+\tups [^\s@]+@([A-Za-z][\w.-]*)`)
	// uniform is the serial number of a card with what its maker puts behind it.
	uniform  = regexp.MustCompile(`\b(\w{6,}?)(MLNXS\d+D\d+F\d+)\b`)
	networks = regexp.MustCompile(`(\d+\.\d+\.\d+\.\d+)/(\d{1,2})\b|"(?:local|address)": ?"(\d+\.\d+\.\d+\.\d+)", ?` +
		`"(?:prefixlen|netmask)": ?(\d+)`)
)

// named are the places of names, with the kind of what has them.
var named = []struct {
	kind string
	by   *regexp.Regexp
}{{"node", descriptions}, {"user", users}, {"desk", desks}, {"server", servers}}

// makers are words of descriptions that name no machine but its kind.
var makers = regexp.MustCompile(`(?i)mellanox|nvidia|voltaire|qlogic|truescale|infinihost|infiniscale|connectx` +
	`|switch-?x|` +
	`switch-?ib|quantum|aggregation|intel|\bsun\b|\bhpe?\b|\bibm\b|\boracle\b|topspin|isr\d|mts?\d{4}|qdr ib|fdr ib`)

// Learn shows the table a text, so that it knows the names and the numbers in it before it replaces
// any.
func (t *Table) Learn(text string) {
	for _, m := range serials.FindAllStringSubmatch(text, -1) {
		if serial := m[1] + m[2]; !asKnown.MatchString(serial) {
			t.serial(serial)
		}
	}
	for _, m := range uniform.FindAllStringSubmatch(text, -1) {
		t.serial(m[1])
		key := strings.ToLower(m[0])
		t.words[key], t.kinds[key], t.tokens = t.words[strings.ToLower(m[1])]+m[2], "serial number", nil
	}
	t.learnNames(text)
	for _, m := range networks.FindAllStringSubmatch(text, -1) {
		bits, _ := strconv.Atoi(m[2] + m[4])
		t.learnNetwork(m[1]+m[3], bits)
	}
	t.learnPKeys(text)
	t.learnAddresses(text)
}

// learnNames notes what people have called machines, themselves, and what they mount.
func (t *Table) learnNames(text string) {
	for _, m := range domains.FindAllStringSubmatch(text, -1) {
		for name := range strings.FieldsFuncSeq(m[1], func(c rune) bool { return strings.ContainsRune(" ,\"'\t~", c) }) {
			t.more("domain", name)
		}
	}
	for _, m := range whole.FindAllStringSubmatch(text, -1) {
		t.whole([]string{"machine", "server", "server", "user", "user", "machine"}, m[1:])
	}
	for _, name := range dotted.FindAllString(text, -1) {
		t.dotted[strings.ToLower(name)] = true
	}
	for _, n := range named {
		for _, m := range n.by.FindAllStringSubmatch(text, -1) {
			t.More(n.kind, strings.Join(m[1:], ""))
		}
	}
	for _, m := range described.FindAllStringSubmatch(text, -1) {
		if !makers.MatchString(m[1]) && !descriptions.MatchString(`"`+m[1]) {
			t.phrase("node", m[1])
		}
	}
}

var wholeForm = regexp.MustCompile(`^[a-z0-9][\w.@+\\-]*[a-z0-9]$`)

// whole has names replaced as they are; of each kind, one may be there.
func (t *Table) whole(kinds, names []string) {
	for i, name := range names {
		key := strings.ToLower(name)
		if _, known := t.words[key]; known || len(key) < 3 || isDecimal(key) || slices.Contains(stays, key) ||
			!wholeForm.MatchString(key) {
			continue
		}
		if _, err := netip.ParseAddr(key); err != nil {
			t.words[key], t.kinds[key], t.tokens = kinds[i]+t.next(kinds[i]), kinds[i], nil
		}
	}
}

// underDomains gives names to the hosts whose domain is known. Their first parts alone may be words of the system,
// such as time, so that these stay where they have no domain.
func (t *Table) underDomains() {
	for _, name := range slices.Sorted(maps.Keys(t.dotted)) {
		if _, known := t.words[name]; known {
			continue
		}
		for at := range len(name) {
			if domain := name[at+1:]; name[at] == '.' && t.kinds[domain] == "domain" {
				first := name[:at]
				is, known := t.words[first]
				switch {
				case known:
				case len(first) < 3 || slices.Contains(stays, first):
					is = first
				default:
					is = "machine" + t.next("machine")
				}
				t.words[name], t.kinds[name] = is+"."+t.words[domain], "machine"
				break
			}
		}
	}
}

// serial is replaced by one of the same form, which no other has. Its first two letters are those of its
// maker.
func (t *Table) serial(serial string) {
	key := strings.ToLower(serial)
	if _, known := t.words[key]; known || len(serial) < 4 {
		return
	}
	taken := map[string]bool{}
	for _, is := range t.words {
		taken[is] = true
	}
	is := serial
	for n := 0; n == 0 || n < 100 && taken[is]; n++ {
		is = alike(serial, t.hash("serial", serial+strconv.Itoa(n)))
	}
	t.words[key], t.kinds[key], t.tokens = is, "serial number", nil
}

// alike is a text of the same form: digits and letters where digits and letters are.
func alike(text string, h []byte) string {
	is := []byte(text)
	for i := 2; i < len(is); i++ {
		switch c := is[i]; {
		case c >= '0' && c <= '9':
			is[i] = '0' + h[i%len(h)]%10
		case c >= 'A' && c <= 'Z':
			is[i] = 'A' + h[i%len(h)]%26
		case c >= 'a' && c <= 'z':
			is[i] = 'a' + h[i%len(h)]%26
		}
	}
	return string(is)
}

var plainAddress = regexp.MustCompile(`(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}(?:(?:[:-][0-9a-fA-F]{2}){14}` +
	`|(?:[:-][0-9a-fA-F]{2}){2})?|` +
	`[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3,7}|[0-9a-fA-F]{12,16}`)

// learnAddresses notes all addresses with the form of a MAC address or a GUID.
func (t *Table) learnAddresses(text string) {
	for _, at := range plainAddress.FindAllStringIndex(text, -1) {
		inside := at[0] > 0 && text[at[0]-1] == ':'
		if value, bits, ok := readAddress(text[at[0]:at[1]], inside); ok {
			t.learnAddress(value, bits)
		}
	}
}

// readAddress reads an address; inside says that it is the last part of one of IPv6.
func readAddress(token string, inside bool) (value uint64, bits int, ok bool) {
	digits := strings.NewReplacer(":", "", "-", "").Replace(token)
	number := digits == token && isDecimal(digits) && digits[:2] != "00"
	if len(digits) >= 32 { // the GUID is the last part
		digits, inside = digits[len(digits)-16:], len(token) == 39
	}
	bits = 64
	if len(digits) == 12 {
		bits = 48
	}
	value, err := strconv.ParseUint(digits, 16, 64)
	if inside && value>>24&0xffff == 0xfffe { // a MAC address
		value, bits = (value^2<<56)>>40<<24|value&0xffffff, 48
	}
	return value, bits, err == nil && !number && len(digits) <= 16
}

// Check says which name or serial number is left in a text.
func (t *Table) Check(name, text string) error {
	lower := strings.ToLower(text)
	for word, is := range t.words {
		for from := 0; ; {
			i := strings.Index(lower[from:], word)
			if i < 0 {
				break
			}
			from += i
			if isBounded(text, from, from+len(word)) && !t.isReplacement(word) {
				return fmt.Errorf("%s still holds the %s that %s stands for, in line %d", name, t.kinds[word], is,
					1+strings.Count(text[:from], "\n"))
			}
			from += len(word)
		}
	}
	return nil
}

// isReplacement reports whether a word stands for another one.
func (t *Table) isReplacement(word string) bool {
	for _, is := range t.words {
		if strings.EqualFold(is, word) {
			return true
		}
	}
	return false
}
