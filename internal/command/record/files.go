package record

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/recording/secret"
)

var fileHead = regexp.MustCompile(`^@file (\S+)`)

// eachLine changes the lines of the files in an answer that others have written. In those of this provider the
// comments say whose file it is.
func eachLine(text string, change func(file, line string) string) string {
	var out strings.Builder
	file := ""
	lines := slices.Collect(strings.Lines(text))
	for i, line := range lines {
		if m := fileHead.FindStringSubmatch(line); m != nil {
			file = m[1]
			for _, next := range lines[i+1 : min(i+3, len(lines))] {
				if strings.HasPrefix(next, "|"+platform.Owner) {
					file = ""
				}
			}
		} else if strings.HasPrefix(line, "@") {
			file = ""
		}
		body, inside := strings.CutPrefix(line, "|")
		if file == "" || !inside {
			out.WriteString(line)
			continue
		}
		bare := strings.TrimRight(body, "\r\n")
		out.WriteString("|" + change(file, bare) + body[len(bare):])
	}
	return out.String()
}

// withoutComments takes the remarks out of files that people have written: lines, and ends of lines.
func withoutComments(text string) string {
	return eachLine(text, func(_, line string) string {
		body := strings.TrimLeft(line, " \t")
		if strings.HasPrefix(body, "#") && !strings.HasPrefix(body, "#!") || strings.HasPrefix(body, ";") {
			return "#"
		}
		return line[:remark(line)]
	})
}

// remark is where the text of a comment at the end of a line begins, behind its mark: the mark stays, because a
// program that knows no such comments refuses it. A quote ends where its like stands.
func remark(line string) int {
	for i := 0; i < len(line); i++ {
		word := i == 0 || strings.IndexByte(" \t=:,;([{", line[i-1]) >= 0
		switch c := line[i]; {
		case c == '#' && word && i > 0:
			return i + 1
		case (c == '"' || c == '\'') && word:
			if end := strings.IndexByte(line[i+1:], c); end >= 0 {
				i += 1 + end
			}
		}
	}
	return len(line)
}

// withoutCommands takes out of files what people have the system run, and free text: a command may hold
// anything. What the provider reads of a command stays.
func withoutCommands(text string) string {
	goesOn := false // the line before was taken out, and has a backslash at its end
	return eachLine(text, func(file, line string) string {
		was, to := line, line
		switch {
		case goesOn:
			to = "#"
		case strings.HasPrefix(file, "/etc/network/interfaces"):
			to = ofInterfaces(line)
		case strings.Contains(file, "/modprobe.d/"):
			to = ofModprobe(line)
		case description.MatchString(line):
			to = "Description=" + secret.Removed
		}
		goesOn = to != was && strings.HasSuffix(was, `\`)
		return to
	})
}

var (
	description = regexp.MustCompile(`^\s*Description\s*=`)
	// option is a line of a stanza.
	option = regexp.MustCompile(`^(\s*)(\S+)(\s+)(.*)$`)
	// plainOption are those whose values are numbers, addresses and names of interfaces, or begin something.
	plainOption = regexp.MustCompile(`^(?:auto|allow-.*|iface|template|source|source-dir(?:ectory)?|mapping|rename|` +
		`no-.*|address|netmask|mtu|gateway|network|broadcast|accept_ra|autoconf|metric|pointopoint|scope|hwaddress|` +
		`dns-.*|vlan[-_].*|bridge[-_].*|bond[-_].*|inherits)$`)
	hook = regexp.MustCompile(`^(?:pre-up|up|post-up|down|pre-down|post-down)$`)
	// between are the marks between two commands of one line.
	between = regexp.MustCompile(`\s*(?:;|&&|\|\|)\s*`)
	// deviceCommand is one that sets up an interface or loads a module, and can hold no secret.
	deviceCommand = regexp.MustCompile(`^(?:|:|true|sleep \d+|(?:/usr)?(?:/s?bin/)?(?:` +
		`modprobe(?: -[a-zA-Z])?(?: [a-z0-9_-]+)+|` +
		`ip (?:-[46] )?(?:route|link|addr|address|rule) [A-Za-z0-9$_{}./:@ -]+|` +
		`ifconfig \S+ (?:up|down|mtu \d+)|` +
		`echo ["']?[a-z0-9]+["']? ?> ?"?/(?:sys|proc)/[A-Za-z0-9$_{}./:-]+"?)|` +
		`\[ (?:! )?-[a-z] "?/(?:sys|proc)/[A-Za-z0-9$_{}./:-]+"? \])$`)
	install = regexp.MustCompile(`^(\s*install\s+\S+\s+)(.*)$`)
	// loads is a command of an install line that loads modules.
	loads = regexp.MustCompile(`^(?:|:|(?:/usr)?(?:/s?bin/)?(?:true|false)|(?:/usr)?(?:/s?bin/)?modprobe` +
		`(?: (?:--?[a-z-]+|\$CMDLINE_OPTS|[a-z0-9_-]+|port_type_array=[0-9a-z,]+))+)$`)
)

// isMadeOf reports whether each command of a line has this form.
func isMadeOf(line string, form *regexp.Regexp) bool {
	for _, part := range between.Split(strings.Join(strings.Fields(line), " "), -1) {
		if !form.MatchString(part) {
			return false
		}
	}
	return true
}

// ofInterfaces is a line of ifupdown without what may hold a secret or a name. ifup still runs what stands for a
// command, and it does nothing.
func ofInterfaces(line string) string {
	m := option.FindStringSubmatch(line)
	switch {
	case m == nil || strings.HasPrefix(m[2], "#") || plainOption.MatchString(m[2]):
		return line
	case !hook.MatchString(m[2]):
		return m[1] + m[2] + m[3] + secret.Removed
	case isMadeOf(m[4], deviceCommand):
		return line
	}
	return m[1] + m[2] + m[3] + `true "` + secret.Removed + `"`
}

// ofModprobe is a line of modprobe.d without a command that does more than load modules. That it decides on the
// types of ports stays.
func ofModprobe(line string) string {
	const types = "port_type_array"
	m := install.FindStringSubmatch(line)
	if m == nil || isMadeOf(m[2], loads) {
		return line
	}
	if strings.Contains(strings.ReplaceAll(m[2], "-", "_"), types) {
		return m[1] + secret.Removed + " " + types
	}
	return m[1] + secret.Removed
}
