package sshconfig

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
)

// lines tells in which lines of the SSH client configuration the settings of a machine
// stand, "file:line" by keyword in lower case, the first one that counts first. ssh
// says only which sections it applied; the lines are looked for in those. Without ssh
// there are none.
func (h *Hop) lines(ctx context.Context) map[string][]string {
	u := h.config
	if u == nil || u.ssh == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	// Three: ssh tells at debug3 which criteria of a Match line hold (OpenSSH's readconf.c).
	args := append([]string{"-vvv"}, u.question(h.Alias, h.cfg.User, h.cfg.Port)...)
	cmd := exec.CommandContext(ctx, u.ssh, args...) //nolint:gosec // the operator's own ssh
	log := Tail{Most: 1 << 20}
	cmd.Stderr = &log
	// Only the places are missing then. What is wrong was said when the settings were asked for.
	if cmd.Run() != nil {
		return nil
	}
	s := readSections(log.String())
	s.home = u.home
	found := map[string][]string{}
	for _, top := range s.tops {
		s.scan(top, found, 0)
	}
	return found
}

// sections is what ssh -v tells of the files that it reads.
type sections struct {
	tops    []string        // files that no other one includes: those that ssh begins with
	read    map[string]bool // all files
	applied map[string]bool // "file:line" of Host and Match lines that held
	home    string
}

var (
	readingLine  = regexp.MustCompile(`^debug\d: Reading configuration data (.*)$`)
	includedLine = regexp.MustCompile(`^debug\d: .* line \d+: Including file (.*) depth \d+`)
	hostLine     = regexp.MustCompile(`^debug\d: (.*) line (\d+): Applying options for `)
	matchLine    = regexp.MustCompile(`^debug\d: (.*) line (\d+): (?:not )?matched `)
)

func readSections(log string) sections {
	s := sections{read: map[string]bool{}, applied: map[string]bool{}}
	included, last := map[string]bool{}, ""
	for line := range strings.Lines(log) {
		line = strings.TrimRight(line, "\r\n ")
		if m := includedLine.FindStringSubmatch(line); m != nil {
			included[m[1]] = true
		}
		if m := readingLine.FindStringSubmatch(line); m != nil {
			if !s.read[m[1]] && !included[m[1]] {
				s.tops = append(s.tops, m[1])
			}
			s.read[m[1]] = true
		}
		if m := hostLine.FindStringSubmatch(line); m != nil {
			s.applied[m[1]+":"+m[2]] = true
		}
		if m := matchLine.FindStringSubmatch(line); m != nil {
			last = m[1] + ":" + m[2]
		}
		if strings.Contains(line, "checking match for ") {
			last = ""
		}
		// This line names no place; the criteria before it do.
		if strings.HasSuffix(line, "match found") && last != "" {
			s.applied[last] = true
		}
	}
	return s
}

// scan notes every setting of the sections that hold, in the order in which ssh
// reads them.
func (s *sections) scan(file string, found map[string][]string, depth int) {
	data, err := knownhosts.ReadFile(file, maxConfig)
	if err != nil || depth > maxIncludes {
		return
	}
	active, n := true, 0
	for line := range strings.Lines(string(data)) {
		n++
		words := configWords(line)
		if len(words) < 2 {
			continue
		}
		place := file + ":" + strconv.Itoa(n)
		switch keyword := strings.ToLower(words[0]); {
		case keyword == "host":
			active = s.applied[place]
		case keyword == "match":
			// "all" is no criterion of which ssh says that it matched.
			active = s.applied[place] || strings.EqualFold(words[1], "all")
		case !active:
		case keyword == "include":
			for _, pattern := range fields(strings.Join(words[1:], " ")) {
				s.include(pattern, file, found, depth)
			}
		default:
			found[keyword] = append(found[keyword], place)
		}
	}
}

// configWords splits a line; a comment has none.
func configWords(line string) []string {
	// Keyword and value may be parted by blanks, or by one equals sign (ssh_config(5)).
	words := strings.Fields(strings.Replace(strings.TrimSpace(line), "=", " ", 1))
	if len(words) > 0 && strings.HasPrefix(words[0], "#") {
		return nil
	}
	return words
}

// Relative names are of ~/.ssh in the user's file and of /etc/ssh in the system's (ssh_config(5)).
func (s *sections) include(pattern, file string, found map[string][]string, depth int) {
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
		pattern = filepath.Join(s.home, rest)
	}
	if !filepath.IsAbs(pattern) {
		dir := filepath.Join(s.home, ".ssh")
		if strings.HasPrefix(file, "/etc/ssh/") {
			dir = "/etc/ssh"
		}
		pattern = filepath.Join(dir, pattern)
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		return // ssh has said so
	}
	for _, f := range files {
		// A file may have come since ssh read the others, or have been unreadable for it.
		if s.read[f] {
			s.scan(f, found, depth+1)
		}
	}
}
