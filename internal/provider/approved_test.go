package provider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestApproved(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("aB", 32)
	for text, want := range map[string]string{
		"":                                 "",
		"# by two people\n\n" + sum + "\n": "",
		sum + "  fw one.bin\n":             "",
		"\ufeff" + sum + "  fw one.bin\n":  "",
		"fw.bin " + sum:                    "line 1 does not begin with a SHA-256",
		sum + "\n" + sum[2:] + " fw.bin":   "line 2 does not begin",
		strings.Repeat("# x\n", 1<<18+1):   "more than 1024 KiB",
	} {
		name := filepath.Join(t.TempDir(), "approved.sha256")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := approved(name)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", text, err)
		}
		if err == nil && (list.Lacks(strings.ToLower(sum)) == "") != strings.Contains(text, sum) {
			t.Errorf("%.40q: %+v", text, list)
		}
	}
	if list, err := approved(""); err != nil || list.Lacks(strings.ToLower(sum)) != "" {
		t.Errorf("without a list: %v, %+v", err, list)
	}
	if _, err := approved(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a list that is not there")
	}
}
