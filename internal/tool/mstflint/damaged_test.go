package mstflint

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// structured are the labels whose value has a form; what the others hold is text.
var structured = map[string]bool{
	"Image type": true, "FW Version": true, "FW Version(Running)": true, "Rom Info": true, "Config Sectors": true,
	"Device ID": true,
	"GUIDs":     true, "MACs": true, "Base GUID": true, "Base MAC": true, "Orig Base GUID": true, "Orig Base MAC": true,
}

// optional are those of which the tool says N/A.
var optional = map[string]bool{"FW Version(Running)": true, "Rom Info": true, "Base GUID": true, "Base MAC": true,
	"Orig Base GUID": true, "Orig Base MAC": true}

// TestParseQuery_names_the_damaged_line spoils every line of every capture in turn.
func TestParseQuery_names_the_damaged_line(t *testing.T) {
	spoiled := 0
	for _, c := range capture.Load(t, os.DirFS("testdata/query"), "mstflint-query") {
		if _, err := ParseQuery(c.Text); err != nil {
			continue // TestParseQuery_reads_captures holds why
		}
		lines := strings.Split(c.Text, "\n")
		for i, line := range lines {
			m := keyLine.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				continue
			}
			label := strings.TrimSpace(m[1])
			if _, known := queryKeys[label]; !known {
				continue
			}
			spoiled++
			with := func(put ...string) error {
				text := append(append(append([]string{}, lines[:i]...), put...), lines[i+1:]...)
				_, err := ParseQuery(strings.Join(text, "\n"))
				return err
			}
			names(t, c.Name, label+" twice", with(line, line), i+2)
			if structured[label] {
				names(t, c.Name, label+" as garbage", with(label+":  %$!zz"), i+1)
				names(t, c.Name, label+" cut off", with(label+":"), i+1)
			}
			if err := with(label + ":  N/A"); optional[label] && err != nil {
				t.Errorf("%s: %s N/A: %v", c.Name, label, err)
			}
			names(t, c.Name, label+" with an error behind it", with(line, "-E- Failed to query device"), i+2)
		}
	}
	if spoiled < 150 {
		t.Errorf("only %d lines", spoiled)
	}
}

func names(t *testing.T, capture, what string, err error, line int) {
	t.Helper()
	var at *tool.LineError
	if !errors.As(err, &at) || at.Number != line {
		t.Errorf("%s: %s: expected line %d, got %v", capture, what, line, err)
	}
}

// TestParseQuery_survives_missing_lines leaves out one line after another: either
// the rest is read, with that one unset, or what lacks is said.
func TestParseQuery_survives_missing_lines(t *testing.T) {
	needed := map[string]bool{
		"Image type": true, "FW Version": true, "PSID": true, "GUIDs": true, "MACs": true, "Base GUID": true,
		"Base MAC": true,
	}
	for _, c := range capture.Load(t, os.DirFS("testdata/query"), "mstflint-query") {
		if _, err := ParseQuery(c.Text); err != nil {
			continue
		}
		lines := strings.Split(c.Text, "\n")
		for i, line := range lines {
			label, _, _ := strings.Cut(strings.TrimSpace(line), ":")
			_, err := ParseQuery(strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "\n"))
			if needed[label] != (err != nil) {
				t.Errorf("%s without %q: %v", c.Name, line, err)
			}
			if err != nil && !strings.Contains(err.Error(), `"`+label+`"`) {
				t.Errorf("%s without %q: the error does not name it: %v", c.Name, line, err)
			}
		}
	}
}
