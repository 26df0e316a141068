package archtest

import (
	"bytes"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// unsafeFlags take a safety net of the vendor's tools away. Only a person may pass
// one, after reading a runbook; no configuration may lead to it.
var unsafeFlags = []string{
	"nofs", "use_image_ps", "use_image_guids", "use_dev_rom", "ignore_dev_data", "no_flash_verify",
	"no_devid_check", "no_fw_ctrl",
	"ignore_crc_check", "skip_ci_req", "clear_semaphore", "blank_guids", "override_cache_replacement", "ocr", "use_fw",
	"y", "yes", "striped_image",
	"allow_rom_change", "force", "use_dev_img_info", "dual_image", "apc",
}

// neededFlags are all that the provider passes to mstflint and mstconfig; no other
// one may come near them, dangerous or not. flashed_version reads.
//
// use_image_rom is in one command only, a burn on ConnectX-3: without it the tool puts the ROM of the
// card into an image that has none, so that the flash is other bytes than those that were
// verified, and old releases ask which ROM to take. It changes no check of the tool. What keeps a ROM (use_dev_rom,
// allow_rom_change) mixes what the vendor releases as one and stays out.
var neededFlags = []string{"d", "i", "guids", "macs", "guid", "mac", "allow_psid_change", "flashed_version",
	"use_image_rom",
	"enable_verbosity"}

// neededCommands are all words that it passes as a command or one's parameter:
// none erases, writes words, goes back to another slot or resets.
var neededCommands = []string{"q", "full", "v", "checksum", "hw", "query", "ri", "b", "sg", "set"}

// product reports whether a file is part of what users run: not of the labs, the
// tests' harness and the tools of the build.
func product(path string) bool {
	for _, dir := range []string{"labsim", "testbed", "acctest", "archtest", "bench", "demo", "tools",
		"ibsimtest", "realtool"} {
		if strings.HasPrefix(path, "internal/"+dir) {
			return false
		}
	}
	return true
}

// A flag is an argument if it is a string of its own; inside a sentence it is
// something to read.
func TestUnsafeFlags_areNoArgumentAnywhere(t *testing.T) {
	flag := regexp.MustCompile(`^--?([A-Za-z_]+)(=.*)?$`)
	allowed := map[string]string{
		// programs other than the vendor's
		"internal/tool/apt":       "apt-get -y installs packages",
		"internal/safety/runbook": "runbooks for a person are put together there; the package can run nothing",
		"internal/tool/dnf":       "dnf -y installs packages",
		"internal/platform":       "dracut --force writes an initramfs",
		"internal/tool/modprobe":  "dracut --force writes an initramfs",
		"internal/tool/ifupdown":  "ifup --force reads a stanza again",
	}
	for _, s := range sources(t) {
		if !product(s.path) || allowed[filepath.ToSlash(filepath.Dir(s.path))] != "" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if m := flag.FindStringSubmatch(text); err == nil && m != nil && isUnsafe(m[1]) {
				t.Errorf("%s: %s is an argument here", s.fset.Position(lit.Pos()), text)
			}
			return true
		})
	}
}

// isUnsafe also holds for what the tools complete to such a flag: they take
// unambiguous beginnings ("-nof", "--ignore_dev"), and one dash for two.
func isUnsafe(name string) bool {
	for _, f := range unsafeFlags {
		if name == f || len(name) > 2 && strings.HasPrefix(f, name) {
			return true
		}
	}
	return false
}

func TestUnsafeFlags_beginningsCount(t *testing.T) {
	for name, want := range map[string]bool{"nofs": true, "nof": true, "ignore_dev": true, "y": true, "ye": false,
		"yes": true, "i": false, "d": false, "guids": false, "allow_psid_change": false} {
		if isUnsafe(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

// The packages that build the command lines hold no other flag and no other word
// than those that are needed.
func TestUnsafeFlags_buildersPassWhatIsNeeded(t *testing.T) {
	flag := regexp.MustCompile(`^--?([A-Za-z_]+)$`)
	seen := map[string]bool{}
	for _, s := range sources(t) {
		dir := filepath.ToSlash(filepath.Dir(s.path))
		if strings.HasSuffix(s.path, "_test.go") || dir != "internal/tool/mstflint" && dir != "internal/tool/mstconfig" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if ok {
				if name, isName := call.Fun.(*ast.Ident); isName && (name.Name == "device" || name.Name == "image") {
					for _, arg := range call.Args[1:] {
						checkWords(t, s, arg, seen)
					}
				}
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if m := flag.FindStringSubmatch(text); err == nil && m != nil {
				seen["-"+m[1]] = true
				if !slices.Contains(neededFlags, m[1]) {
					t.Errorf("%s: %s is no flag that is needed", s.fset.Position(lit.Pos()), text)
				}
			}
			return true
		})
	}
	if n := strings.Count(string(sourceText(t, "internal/tool/mstflint/command.go")), `"-use_image_rom"`); n != 1 {
		t.Errorf("-use_image_rom is in %d commands, and belongs into one", n)
	}
	for _, f := range neededFlags {
		if !seen["-"+f] {
			t.Errorf("flag -%s is not needed any more", f)
		}
	}
	if !seen["v"] || !seen["ri"] || !seen["checksum"] {
		t.Errorf("the words of the builders were not found: %v", seen)
	}
}

// sourceText is a file of the product.
func sourceText(t *testing.T, path string) []byte {
	t.Helper()
	for _, s := range sources(t) {
		if s.path == path {
			return s.text
		}
	}
	t.Fatalf("no %s", path)
	return nil
}

// checkWords looks at the literal words of an argument of a builder.
func checkWords(t *testing.T, s source, arg ast.Expr, seen map[string]bool) {
	t.Helper()
	ast.Inspect(arg, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err == nil && !strings.HasPrefix(text, "-") {
			seen[text] = true
			if !slices.Contains(neededCommands, text) {
				t.Errorf("%s: %q is no word that is needed", s.fset.Position(lit.Pos()), text)
			}
		}
		return true
	})
}

func TestUnsafeFlags_areInNoScript(t *testing.T) {
	flag := regexp.MustCompile(`[\s'"]--?([A-Za-z_]+)`)
	err := filepath.WalkDir("../../internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".sh") {
			return err
		}
		rel, err := filepath.Rel("../..", path)
		if err != nil || !product(filepath.ToSlash(rel)) {
			return err
		}
		text, err := os.ReadFile(path)
		for i, line := range bytes.Split(text, []byte("\n")) {
			if !bytes.Contains(line, []byte("mst")) {
				continue
			}
			for _, m := range flag.FindAllSubmatch(line, -1) {
				if isUnsafe(string(m[1])) {
					t.Errorf("%s:%d: %s", rel, i+1, line)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// No argument of any resource is named after such a flag either.
func TestUnsafeFlags_areNoAttribute(t *testing.T) {
	name := regexp.MustCompile(`^"(?:` + strings.Join(unsafeFlags, "|") + `|allow_nofs|no_failsafe)":`)
	for _, s := range sources(t) {
		if !strings.HasPrefix(s.path, "internal/provider/") || !strings.HasSuffix(s.path, "schema.go") {
			continue
		}
		for i, line := range strings.Split(string(s.text), "\n") {
			if name.MatchString(strings.TrimSpace(line)) {
				t.Errorf("%s:%d: %s", s.path, i+1, strings.TrimSpace(line))
			}
		}
	}
}
