package twin

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/recording"
)

// facts are the answers of one host, taken apart by the format that docs/guides/send.md describes.
type facts struct {
	values map[string]string   // first lines of files, by path
	files  map[string]string   // whole files, by path
	runs   map[string]run      // what commands printed, by name
	words  map[string][]string // what stands behind each other word of a line with "@"
	walks  []map[string]run    // of the fabric, one for each port that has looked
	tables map[string]run      // of mstconfig with all layers, by PCI address
}

type run struct {
	status int
	text   string
}

var (
	settingsOf = regexp.MustCompile(`\bmstconfig -d (\S+) --enable_verbosity q$`)
	asksFabric = regexp.MustCompile(`^script fabric-walk `)
	asksPorts  = regexp.MustCompile(`^script fabric-ports `)
)

// read takes the answers of a host apart. What was cut has what is there.
func read(h recording.Host) *facts {
	f := &facts{values: map[string]string{}, files: map[string]string{}, runs: map[string]run{}, words: map[string][]string{},
		tables: map[string]run{}}
	for _, a := range h.Answers {
		if m := settingsOf.FindStringSubmatch(a.Command); m != nil {
			f.tables[m[1]] = run{a.Status, a.Output}
			continue
		}
		switch {
		case asksPorts.MatchString(a.Command):
		case asksFabric.MatchString(a.Command):
			walk := &facts{runs: map[string]run{}, values: map[string]string{}, files: map[string]string{}, words: map[string][]string{}}
			walk.take(a.Output)
			f.walks = append(f.walks, walk.runs)
		default:
			f.take(a.Output)
		}
	}
	return f
}

// take adds the lines of one answer.
func (f *facts) take(text string) {
	var word, name string
	var body strings.Builder
	status := 0
	for line := range strings.Lines(text) {
		bare := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(bare, "|"):
			body.WriteString(bare[1:] + "\n")
		case bare == "@." || bare == "@.+":
			content := body.String()
			if bare == "@.+" {
				content = strings.TrimSuffix(content, "\n")
			}
			if word == "file" {
				f.files[name] = content
			} else {
				f.runs[name] = run{status, content}
			}
			body.Reset()
		case strings.HasPrefix(bare, "="):
			path, value, _ := strings.Cut(bare[1:], "\t")
			f.values[path] = value
		case strings.HasPrefix(bare, "@"):
			word, name, _ = strings.Cut(bare[1:], " ")
			if word == "run" {
				var code string
				code, name, _ = strings.Cut(name, "\t")
				status, _ = strconv.Atoi(code)
				continue
			}
			f.words[word] = append(f.words[word], name)
		}
	}
}

// has reports whether a command is on the host, as a line "@command NAME" says.
func (f *facts) has(name string) bool {
	for _, have := range f.words["command"] {
		if have == name {
			return true
		}
	}
	return false
}

// rows are lines "NAME: value" of a program, such as mstflint.
func rows(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); ok && out[name] == "" {
			out[name] = strings.TrimSpace(value)
		}
	}
	return out
}

// link is an interface as "ip -j addr" shows it.
type link struct {
	Name    string   `json:"ifname"`
	Type    string   `json:"link_type"`
	Address string   `json:"address"`
	Flags   []string `json:"flags"`
	MTU     int      `json:"mtu"`
	Info    struct {
		Kind string `json:"info_kind"`
	} `json:"linkinfo"`
	Addresses []struct {
		Family string `json:"family"`
		Local  string `json:"local"`
		Prefix int    `json:"prefixlen"`
		Scope  string `json:"scope"`
	} `json:"addr_info"`
}

func (f *facts) links() (list []link) {
	_ = json.Unmarshal([]byte(f.runs["ip-addr"].text), &list) // a host without ip has none
	return list
}

func (l link) up() bool {
	for _, flag := range l.Flags {
		if flag == "UP" {
			return true
		}
	}
	return false
}
