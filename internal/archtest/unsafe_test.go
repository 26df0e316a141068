package archtest

import (
	"bytes"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unsafeFlags take a safety net of the vendor's tools away. Only a person may pass
// one, after reading a runbook; no configuration may lead to it.
var unsafeFlags = []string{
	"nofs", "use_image_ps", "use_image_guids", "use_image_rom", "use_dev_rom", "ignore_dev_data", "no_flash_verify", "no_devid_check", "no_fw_ctrl",
	"ignore_crc_check", "skip_ci_req", "clear_semaphore", "blank_guids", "override_cache_replacement", "ocr", "use_fw", "y", "yes", "striped_image",
	"allow_rom_change", "force",
}

// product reports whether a file is part of what users run: not of the labs, the
// tests' harness and the tools of the build.
func product(path string) bool {
	for _, dir := range []string{"labsim", "testbed", "acctest", "archtest", "bench", "demo", "tools", "fwimage/synth", "ibsimtest"} {
		if strings.HasPrefix(path, "internal/"+dir) {
			return false
		}
	}
	return true
}

// A flag is an argument if it is a string of its own; inside a sentence it is
// something to read.
func TestUnsafeFlags_areNoArgumentAnywhere(t *testing.T) {
	word := regexp.MustCompile(`^--?(` + strings.Join(unsafeFlags, "|") + `)(=.*)?$`)
	allowed := map[string]string{
		// programs other than the vendor's
		"internal/tool/apt":      "apt-get -y installs packages",
		"internal/safety":        "runbooks for a person are put together there; the package can run nothing",
		"internal/tool/dnf":      "dnf -y installs packages",
		"internal/platform":      "dracut --force writes an initramfs",
		"internal/tool/modprobe": "dracut --force writes an initramfs",
		"internal/tool/ifupdown": "ifup --force reads a stanza again",
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
			if text, err := strconv.Unquote(lit.Value); err == nil && word.MatchString(text) {
				t.Errorf("%s: %s is an argument here", s.fset.Position(lit.Pos()), text)
			}
			return true
		})
	}
}

func TestUnsafeFlags_areInNoScript(t *testing.T) {
	flag := regexp.MustCompile(`[\s'"]--?(` + strings.Join(unsafeFlags, "|") + `)\b`)
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
			if bytes.Contains(line, []byte("mst")) && flag.Match(line) {
				t.Errorf("%s:%d: %s", rel, i+1, line)
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
