package provider_test

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`(!?)\[[^\]]*\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
)

// anchors are those that the headings of a page get.
func anchors(text string) []string {
	var all []string
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		all = append(all, strings.Map(func(c rune) rune {
			switch {
			case c == ' ':
				return '-'
			case strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-_", c):
				return c
			}
			return -1
		}, strings.ToLower(h[1])))
	}
	for _, id := range regexp.MustCompile(`<a id="([^"]+)">`).FindAllStringSubmatch(text, -1) {
		all = append(all, id[1])
	}
	return all
}

// Each link leads to a page, and to a heading on it. The registry shows no picture by a
// relative path.
func TestPages_links_lead_somewhere(t *testing.T) {
	t.Parallel()
	pages := repository(t, []string{"README.md", "CHANGELOG.md", ".github", "docs", "examples", "internal/README.md"},
		isPage)
	seen := 0
	for file, text := range pages {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			to, anchor, _ := strings.Cut(m[2], "#")
			if strings.Contains(to, ":") {
				continue
			}
			seen++
			if m[1] == "!" && strings.HasPrefix(file, "docs/") {
				t.Errorf("%s shows a picture that the registry does not: %s", file, to)
			}
			at := file
			if to != "" {
				at = path.Join(path.Dir(file), to)
			}
			if _, err := os.Stat("../../" + at); err != nil {
				t.Errorf("%s links to %s: %v", file, m[2], err)
			} else if page, ok := pages[at]; anchor != "" && (!ok || !slices.Contains(anchors(page), anchor)) {
				t.Errorf("%s links to %s, which has no such heading", file, m[2])
			}
		}
	}
	if seen < 150 {
		t.Errorf("found %d links", seen)
	}
}

// Everything else has a page.
func TestPages_README_fits_three_screens(t *testing.T) {
	t.Parallel()
	text := repository(t, []string{"README.md"}, isPage)["README.md"]
	before, table, _ := strings.Cut(text, "<!-- support")
	_, after, found := strings.Cut(table, "<!-- /support -->")
	if n := strings.Count(before+after, "\n"); n > 120 || !found {
		t.Errorf("README.md has %d lines without the table", n)
	}
}

// Numbers that stand on several pages come from one place each.
func TestPages_agree_with_their_sources(t *testing.T) {
	t.Parallel()
	value := func(file, pattern string) string {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		all := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
		if len(all) == 0 {
			t.Fatalf("%s has no %s", file, pattern)
		}
		return all[len(all)-1][1]
	}
	for _, c := range []struct{ page, says, source, has string }{
		{"README.md", `Go (1\.\d+)`, "go.mod", `(?m)^go (1\.\d+)`},
		{".github/CONTRIBUTING.md", `Go (1\.\d+), make`, "go.mod", `(?m)^go (1\.\d+)`},
		{".github/workflows/check.yml", `go-version: "(1\.\d+)"`, "go.mod", `(?m)^go (1\.\d+)`},
		{".github/workflows/engines.yml", `go-version: "(1\.\d+)"`, "go.mod", `(?m)^go (1\.\d+)`},
		{".github/workflows/release.yml", `go-version: "(1\.\d+)"`, "go.mod", `(?m)^go (1\.\d+)`},
		{"internal/tools/engine.sh", `bin/tofu-(\S+)`, "internal/tools/tofu/go.mod", `opentofu v(\S+)`},
		{"CHANGELOG.md", `Terraform or OpenTofu (1\.\d+)`, "examples/lab-crossflash/versions.tf", `>= (1\.\d+)`},
		{"templates/guides/proof.md", `the real .opensm. (\S+) and`, "templates/guides/proof.md",
			`(?m)^\| .opensm. \| (\S+) `},
		{"templates/guides/proof.md", `real .mstflint. (4\.\d+) on`, "templates/guides/proof.md",
			`(?m)^\| .mstflint. \| (4\.\d+)\.`},
		{"README.md", `builds OpenTofu (\S+)`, "internal/tools/tofu/go.mod", `opentofu v(\S+)`},
		{"README.md", `version (1\.\d+) or newer`, "examples/lab-crossflash/versions.tf", `>= (1\.\d+)`},
		{"README.md", `; (0\.\d+\.\d+) is the first`, "CHANGELOG.md", `(?m)^## (0\.1\.\d+)`},
		{"templates/index.md.tmpl", `required_version = ">= (\S+)"`, "examples/lab-crossflash/versions.tf", `>= (1\.\d+)`},
		{"templates/index.md.tmpl", `(?s)none yet;\s(0\.\d+\.\d+) is`, "CHANGELOG.md", `(?m)^## (0\.1\.\d+)`},
		{"templates/guides/proof.md", `(?m)^\| OpenTofu \| (\S+) `, "internal/tools/tofu/go.mod", `opentofu v(\S+)`},
		{"templates/guides/proof.md", `(?m)^\| Terraform \| (1\.\d+)\.`, ".github/workflows/check.yml",
			`terraform_version: "~(1\.\d+)\.0"`},
		{"templates/guides/proof.md", `Terraform 1\.11 to (1\.\d+)`, ".github/workflows/engines.yml",
			`terraform, version: "~(1\.\d+)\.0"`},
		{"templates/guides/proof.md", `OpenTofu 1\.11 and (1\.\d+)`, ".github/workflows/engines.yml",
			`tofu, version: "~(1\.\d+)\.0"`},
		{"templates/guides/proof.md", `real .mstflint. (4\.\d+), systemd`, "internal/testbed/base.go",
			`mstflint \((4\.\d+)\)`},
		{"CHANGELOG.md", `(\d+) symptoms`, "templates/guides/troubleshooting.md", `(?m)^### (\d+)\. `},
		{"templates/guides/performance.md", "`connect_timeout` \\((\\d+) s\\)", "docs/index.md",
			"attempt to connect may take; default `(\\d+)s`"},
		{"templates/guides/performance.md", "`connect_attempts` \\((\\d+)\\)", "docs/index.md",
			"does not answer; default (\\d+)\\."},
		{"templates/guides/performance.md", `stopped after\s(\d+) seconds`, "internal/tool/mstconfig/mstconfig.go",
			`New\("timeout", "(\d+)", program, "-d", pci.String\(\), "q"`},
		{"templates/guides/proof.md", `up to (\d+) hosts`, "internal/fabric/ibsim_test.go", `\{64, 86, 136\}, \{(\d+), `},
	} {
		if says, has := value(c.page, c.says), value(c.source, c.has); says != has {
			t.Errorf("%s says %s, and %s %s", c.page, says, c.source, has)
		}
	}
}

// What a page says of the exit statuses of a command is what the command says of itself.
func TestPages_name_each_exit_status(t *testing.T) {
	t.Parallel()
	says := regexp.MustCompile(`(\d) if|(?m)^\| (\d) \|`)
	statuses := func(text string) (all []string) {
		for _, m := range says.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1]+m[2])
		}
		slices.Sort(all)
		return all
	}
	for _, c := range []struct{ command, page, from, to string }{
		{"check", "connect", "| Exit status |", "\n## "},
		{"watch", "watch", "The exit status says how it came out:", "\n\nWith several hosts"},
		{"history", "watch", "The exit status is 0 if", "\n\n"},
		{"record", "send", "| Exit status |", "\n## "},
		{"report", "report", "| Status |", "\n\n"},
		{"adopt", "adopt", "`-json` prints", "\n\n"},
	} {
		code := repository(t, []string{"internal/command/" + c.command},
			func(name string) bool { return strings.HasSuffix(name, "/"+c.command+".go") })
		_, usage, _ := strings.Cut(code["internal/command/"+c.command+"/"+c.command+".go"], "Exit status: ")
		usage, _, _ = strings.Cut(usage, "`")
		page := repository(t, []string{"docs/guides"}, isPage)["docs/guides/"+c.page+".md"]
		_, part, found := strings.Cut(page, c.from)
		part, _, _ = strings.Cut(c.from+part, c.to)
		want, got := statuses(strings.ReplaceAll(usage, "\n", " ")), statuses(part)
		if !found || len(want) < 3 || !slices.Equal(want, got) {
			t.Errorf("%s of %s: the page names the statuses %v, the command %v", c.command, c.page, got, want)
		}
	}
}

// An argument is described in two sentences at most. What is more stands in a section of its page.
func TestPages_describe_an_argument_in_two_sentences(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile("(?m)^- `(\\w+)` \\([^)]*\\) (.+)$")
	code, end := regexp.MustCompile("`[^`]*`"), regexp.MustCompile(`[.!?](\s|$)`)
	files, err := filepath.Glob("../../docs/*/*.md")
	described := 0
	for _, file := range append(files, "../../docs/index.md") {
		text, readErr := os.ReadFile(file)
		if err = errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			described++
			if n := len(end.FindAllString(code.ReplaceAllString(m[2], "x"), -1)); n > 2 {
				t.Errorf("%s: %s has %d sentences: %s", file, m[1], n, m[2])
			}
		}
	}
	if described < 300 {
		t.Errorf("found %d attributes", described)
	}
}
