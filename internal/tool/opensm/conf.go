package opensm

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Places are the files that a build of opensm reads if it is given none. All instances of a
// host share them.
type Places struct{ Conf, Partitions string }

// PlacesIn are those of a build with a directory for its configuration, with / at its end.
func PlacesIn(dir string) Places { return Places{dir + "opensm.conf", dir + "partitions.conf"} }

// SharedConf are the files of options of all builds: those of Debian and Arch, then those of
// Fedora and RHEL.
var SharedConf = []string{PlacesIn(ConfDir).Conf, PlacesIn("/etc/rdma/").Conf}

// ConfDir is where our files are.
const ConfDir = "/etc/opensm/"

// ConfPath is our own file of options of one instance.
func ConfPath(port ib.GUID) string { return ConfDir + "terraform-" + port.String() + ".conf" }

// PartitionsPath is our own partition file of one instance.
func PartitionsPath(port ib.GUID) string {
	return ConfDir + "terraform-" + port.String() + ".partitions.conf"
}

// Defaults of opensm 3.3.23, as `opensm -c` writes them.
const (
	defaultPollingTimeout = 10000 // milliseconds
	defaultPollingRetries = 4
	DefaultSubnetPrefix   = ib.GUID(0xfe80000000000000)
)

// Tuning are the options of an instance besides its priority. A zero field is
// not written, which leaves it to opensm.
type Tuning struct {
	SubnetPrefix   ib.GUID
	RoutingEngine  string // names separated by commas, in the order of preference
	LogLevel       string // a key of LogLevels
	LogMaxSize     int    // MB; the file is emptied when it is full
	PollingTimeout int    // milliseconds between two looks of a standby at its master
	PollingRetries int    // looks without an answer before it takes over
}

// LogLevels are the bits of log_flags by our names. Errors and system messages
// are always written.
var LogLevels = map[string]string{"error": "0x01", "info": "0x03", "verbose": "0x07", "debug": "0x0f"}

// RoutingEngines are the names that opensm 3.3.23 knows.
var RoutingEngines = []string{"minhop", "updn", "dnup", "file", "ftree", "lash", "dor", "torus-2QoS", "nue", "dfsssp",
	"sssp"}

// HandOver is how many milliseconds pass at most between the death of a master
// and the moment a standby with these options takes over.
func (t Tuning) HandOver() int {
	timeout, retries := t.PollingTimeout, t.PollingRetries
	if timeout == 0 {
		timeout = defaultPollingTimeout
	}
	if retries == 0 {
		retries = defaultPollingRetries
	}
	return timeout * (retries + 2)
}

// Conf is what our file of options says.
type Conf struct {
	Priority      int
	Tuning        Tuning
	PartitionFile string // empty: opensm's own place
	Keys          FabricKeys
}

// Text writes the file. Keys that it does not hold keep opensm's defaults.
func (c Conf) Text(header string) string {
	var b strings.Builder
	b.WriteString(header)
	add := func(key, value string) { b.WriteString(key + " " + value + "\n") }
	add("sm_priority", strconv.Itoa(c.Priority))
	t := c.Tuning
	for _, n := range []struct {
		key   string
		value int
	}{{"sminfo_polling_timeout", t.PollingTimeout}, {"polling_retry_number", t.PollingRetries},
		{"log_max_size", t.LogMaxSize}} {
		if n.value != 0 {
			add(n.key, strconv.Itoa(n.value))
		}
	}
	for _, s := range [][2]string{{"log_flags", LogLevels[t.LogLevel]}, {"routing_engine", t.RoutingEngine},
		{"partition_config_file", c.PartitionFile}} {
		if s[1] != "" {
			add(s[0], s[1])
		}
	}
	if t.SubnetPrefix != 0 {
		add("subnet_prefix", t.SubnetPrefix.String())
	}
	return b.String() + c.Keys.text()
}

// limits are the numbers that a file of ours may have.
var limits = map[string]struct{ least, most int }{
	"sminfo_polling_timeout": {100, 600000}, "polling_retry_number": {1, 100}, "log_max_size": {1, 4095},
}

// numberOf is the number of a setting, 0 outside of its limits.
func numberOf(s Setting) int {
	n, limit := atoi(s.Value, 0), limits[s.Key]
	if n < limit.least || n > limit.most {
		return 0
	}
	return n
}

// ParseConf reads our file back. It leaves out what it does not know or cannot read, and numbers
// that no file of ours has: the caller compares with Text of the result.
func ParseConf(text string) Conf {
	c := Conf{Priority: -1, Keys: parseKeys(text)}
	for _, s := range Settings(text) {
		switch s.Key {
		case "sm_priority":
			c.Priority = atoi(s.Value, -1)
		case "sminfo_polling_timeout":
			c.Tuning.PollingTimeout = numberOf(s)
		case "polling_retry_number":
			c.Tuning.PollingRetries = numberOf(s)
		case "log_max_size":
			c.Tuning.LogMaxSize = numberOf(s)
		case "log_flags":
			c.Tuning.LogLevel = levelOf(s.Value)
		case "routing_engine":
			c.Tuning.RoutingEngine = s.Value
		case "partition_config_file":
			c.PartitionFile = s.Value
		case "subnet_prefix":
			if g, err := ib.ParseGUID(s.Value); err == nil {
				c.Tuning.SubnetPrefix = g
			}
		}
	}
	return c
}

// Shared is what an opensm.conf that somebody else wrote says. All instances without a file of their own read it.
type Shared struct {
	Conf    // of what our files can say too, what differs from opensm's defaults
	port    ib.GUID
	changed []string // settings by name that differ from opensm's defaults, sorted
}

// ParseShared reads an opensm.conf; own are the places of the build that reads it. A priority that opensm
// does not take is its default.
func ParseShared(text string, own Places) Shared {
	shared := Shared{Conf: ParseConf(text)}
	for _, s := range Settings(text) {
		if g, err := ib.ParseGUID(s.Value); s.Key == "guid" && err == nil {
			shared.port = g
		}
	}
	shared.changed = nonDefault(text, own)
	shared.leaveDefaults(own)
	return shared
}

// leaveDefaults empties what says the same as a file without it.
func (s *Shared) leaveDefaults(own Places) {
	t := &s.Tuning
	// As opensm does: "Invalid Cached Option Value:sm_priority = 99:Using Default:0" (3.3.23).
	if s.Priority < 0 || s.Priority > 15 {
		s.Priority = 0
	}
	if t.PollingTimeout == defaultPollingTimeout {
		t.PollingTimeout = 0
	}
	if t.PollingRetries == defaultPollingRetries {
		t.PollingRetries = 0
	}
	if t.LogLevel == "info" {
		t.LogLevel = ""
	}
	if t.SubnetPrefix == DefaultSubnetPrefix {
		t.SubnetPrefix = 0
	}
	unknown := func(name string) bool { return !slices.Contains(RoutingEngines, name) }
	if slices.ContainsFunc(strings.Split(t.RoutingEngine, ","), unknown) {
		t.RoutingEngine = ""
	}
	if s.PartitionFile == own.Partitions {
		s.PartitionFile = ""
	}
}

// Uncarried are the settings, by name, that differ from opensm's defaults and that an instance of ours on
// a port with such options does not have.
func (s Shared) Uncarried(port ib.GUID, own Conf) []string {
	a, b := s.Tuning, own.Tuning
	carried := map[string]bool{
		"guid":                   s.port == port,
		"sm_priority":            s.Priority == own.Priority,
		"sminfo_polling_timeout": a.PollingTimeout != 0 && a.PollingTimeout == b.PollingTimeout,
		"polling_retry_number":   a.PollingRetries != 0 && a.PollingRetries == b.PollingRetries,
		"log_max_size":           a.LogMaxSize != 0 && a.LogMaxSize == b.LogMaxSize,
		"log_flags":              a.LogLevel != "" && a.LogLevel == b.LogLevel,
		"routing_engine":         a.RoutingEngine != "" && a.RoutingEngine == b.RoutingEngine,
		"subnet_prefix":          a.SubnetPrefix != 0 && a.SubnetPrefix == b.SubnetPrefix,
		"partition_config_file":  s.PartitionFile != "" && s.PartitionFile == own.PartitionFile,
	}
	return slices.DeleteFunc(slices.Clone(s.changed), func(name string) bool { return carried[name] })
}

func atoi(s string, otherwise int) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return otherwise
	}
	return n
}

func levelOf(flags string) string {
	n, err := strconv.ParseUint(flags, 0, 8)
	// Only our four combinations have a name; other bits are somebody's own.
	for level, f := range LogLevels {
		if err == nil && f == fmt.Sprintf("0x%02x", n) {
			return level
		}
	}
	return ""
}

// Setting is one line of an opensm.conf.
type Setting struct{ Key, Value string }

// Settings reads the lines of an opensm.conf that say something: a key, blanks,
// and a value of which opensm takes the first word.
func Settings(text string) []Setting {
	var all []Setting
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || strings.HasPrefix(words[0], "#") {
			continue
		}
		all = append(all, Setting{Key: words[0], Value: words[1]})
	}
	return all
}

// secret is the name of a key of the fabric, or of the seed of such keys, with what follows.
var secret = regexp.MustCompile(`(?i)(\w*(?:key|seed)\w*).*`)

// WithoutSecret is a line of a file of options without the value of a key, if it has one; a
// comment too.
func WithoutSecret(line string) string { return secret.ReplaceAllString(line, "$1 (value not shown)") }

// NeedsRestart reports whether a running opensm has to be restarted to go from
// one file of options to another; the keys below alone are read again on SIGHUP
// (opensm 3.3.23, tried on ibsim: the log names them as "Loading Cached Option").
func NeedsRestart(from, to Conf) bool {
	for _, c := range []*Conf{&from, &to} {
		c.Priority = 0
		c.Tuning.PollingTimeout, c.Tuning.PollingRetries, c.Tuning.LogLevel, c.Tuning.LogMaxSize = 0, 0, "", 0
	}
	return from != to
}

// Key says how one of the secrets of a fabric is set.
type Key struct {
	Name string    // "m_key"
	Set  fact.Bool // another value than the one that every opensm has

	value Secret
}

// keyDefaults are the secrets with the values that every opensm has.
var keyDefaults = []struct {
	name  string
	value uint64
}{{"m_key", 0}, {"sm_key", 1}, {"sa_key", 1}, {"cc_key", 0}}

// Keys tells which secrets a file of options sets, without their values.
func Keys(text string) []Key {
	settings := Settings(text)
	keys := make([]Key, len(keyDefaults))
	for i, d := range keyDefaults {
		keys[i] = Key{Name: d.name, Set: fact.Known(false), value: Secret(d.value)}
		for _, s := range settings {
			n, err := strconv.ParseUint(s.Value, 0, 64)
			switch {
			case s.Key != d.name:
			case err != nil:
				keys[i].Set = fact.Unknown[bool]("its value is no number")
			default:
				keys[i].Set, keys[i].value = fact.Known(n != d.value), Secret(n)
			}
		}
	}
	return keys
}

// standard are the values that `opensm -c` writes for keys that people change. A line
// with such a value sets nothing.
var standard = map[string][]string{
	"guid": {"0x0000000000000000"}, "sm_priority": {"0"}, "subnet_prefix": {"0xfe80000000000000"},
	"routing_engine":         {"(null)"},
	"sminfo_polling_timeout": {"10000"}, "polling_retry_number": {"4"}, "lmc": {"0"}, "sweep_interval": {"10"},
	"qos":       {"FALSE"},
	"log_flags": {"0x03"}, "log_max_size": {"0"}, "log_file": {"/var/log/opensm.log"},
	"force_link_speed": {"15"}, "ignore_other_sm": {"FALSE"}, "max_op_vls": {"5"}, "daemon": {"FALSE"},
	"force_log_flush": {"FALSE"},
	"m_key":           {"0x0000000000000000"}, "sm_key": {"0x0000000000000001"}, "sa_key": {"0x0000000000000001"},
	"cc_key":       {"0x0000000000000000"},
	"part_enforce": {"both"}, "exit_on_fatal": {"TRUE"}, "honor_guid2lid_file": {"FALSE"}, "reassign_lids": {"FALSE"},
	"no_partition_enforcement": {"FALSE"}, "allow_both_pkeys": {"FALSE"}, "root_guid_file": {"(null)"},
	"m_key_protection_level": {"0"},
}

// nonDefault are the settings of a file that differ from opensm's defaults, by name, as
// far as the defaults are known here. A file with hundreds of other lines comes from
// `opensm -c`; its unknown keys are taken for defaults.
func nonDefault(text string, at Places) []string {
	settings := Settings(text)
	dump := len(settings) > 60
	var names []string
	for _, s := range settings {
		defaults, known := standard[s.Key]
		if s.Key == "partition_config_file" {
			defaults, known = []string{at.Partitions}, true
		}
		if known && slices.Contains(defaults, s.Value) || !known && dump {
			continue
		}
		names = append(names, s.Key)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
