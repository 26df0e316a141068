package runlog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
)

// Two applies have a log each, and many cards.
func TestLog_of_two_applies_at_once(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "with the first line")
	const each = 200
	var all sync.WaitGroup
	for apply := range 2 {
		l := New(dir)
		for card := range 2 {
			all.Go(func() {
				for n := range each {
					l.Add(journal.Step{Host: fmt.Sprintf("host%d%d", apply, card), Name: "burning", Percent: n,
						Text: strings.Repeat("x", 200) + "\x1b[2J\nend"})
				}
			})
		}
		t.Cleanup(func() {
			var diags diag.Diagnostics
			if l.Warn(&diags); len(diags) > 0 {
				t.Error(diags)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(filepath.Join(dir, Name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != 4*each {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if !strings.Contains(line, " host") || !strings.HasSuffix(line, `\x1b[2J end`) {
			t.Fatalf("mixed: %q", line)
		}
	}
}

func TestLog_that_cannot_be_written_warns_once(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(file)
	l.Add(journal.Step{})
	var diags diag.Diagnostics
	l.Warn(&diags)
	l.Add(journal.Step{})
	l.Warn(&diags)
	if len(diags) != 1 || diags.HasError() || diags[0].Summary() != "Unable to write "+filepath.Join(file, Name) {
		t.Errorf("%v", diags)
	}
	none := New("")
	none.Add(journal.Step{})
	if none.Warn(&diags); len(diags) != 1 {
		t.Errorf("without a directory: %v", diags)
	}
}
