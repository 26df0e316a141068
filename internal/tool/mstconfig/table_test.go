package mstconfig

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
)

// refused are captures in which rows were replaced or left out so that what is
// left cannot be told from the whole.
var refused = map[string]string{
	"cx4-lenovo-dots": "no column is named",
}

func TestParseQuery_reads_captures(t *testing.T) {
	captures := append(capture.Load(t, os.DirFS("testdata/query"), "mstconfig-query"),
		capture.Load(t, os.DirFS("testdata/set"), "mstconfig-set")...)
	for _, c := range capture.WithVariations(captures, append(columns, capture.Layout...)...) {
		t.Run(c.Name+" "+c.Variation, func(t *testing.T) {
			set := c.Tool == "mstconfig-set"
			got, err := ParseQuery(c.Text)
			if want, ok := refused[c.Name]; ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("got error %v, want one with %q", err, want)
				}
				capture.NamesALine(t, c.Name, err)
				return
			}
			if errs, ok := c.Expected["errors"].([]any); ok {
				var said *ToolError
				if !errors.As(err, &said) || "-E- "+said.Text != errs[0] {
					t.Fatalf("got error %v, want %v", err, errs)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			devices := c.Expected["devices"].([]any)
			if len(devices) != 1 {
				t.Fatalf("capture of %d devices", len(devices))
			}
			checkTable(t, got, devices[0].(map[string]any))
			if applied, err := ParseSet(c.Text); err != nil || set && (!applied || c.Expected["outcome"] != "applied") {
				t.Errorf("applied is %v, %v, want outcome %v", applied, err, c.Expected["outcome"])
			}
		})
	}
}

var gap = regexp.MustCompile(`[ \t]{2,}`)

// columns are other widths of the table.
var columns = []capture.Variation{
	{Name: "wide columns", Change: func(s string) string { return gap.ReplaceAllString(s, "                                        ") }},
	{Name: "narrow columns", Change: func(s string) string { return gap.ReplaceAllString(s, "  ") }},
	{Name: "a warning before", Change: func(s string) string { return "-W- The device is in use by another process.\n" + s }},
}

func checkTable(t *testing.T, got Table, want map[string]any) {
	t.Helper()
	params := map[string]any{}
	for name, p := range got.Params {
		row := map[string]any{}
		for column, v := range p {
			cell := map[string]any{"raw": v.Raw}
			if v.HasNum {
				cell["number"] = v.Number
			}
			row[strings.ReplaceAll(strings.ToLower(column), " ", "_")] = cell
		}
		params[name] = row
	}
	fields := map[string]any{"params": params, "columns": got.Columns}
	if got.DeviceType != "" {
		fields["device_type"] = got.DeviceType
	}
	// The notes of a capture have more.
	for _, p := range want["params"].(map[string]any) {
		delete(p.(map[string]any), "starred")
		for _, cell := range p.(map[string]any) {
			delete(cell.(map[string]any), "text")
		}
	}
	for key, value := range fields {
		if diff := cmp.Diff(want[key], capture.Plain(t, value)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

func TestTable_LinkTypes(t *testing.T) {
	head := "Device type:    ConnectX3Pro\n\nConfigurations:    Next Boot\n"
	tests := []struct {
		name, rows, wantErr string
		want                map[int]ib.LinkType
	}{
		{name: "two ports", rows: "  LINK_TYPE_P1   VPI(3)\n  LINK_TYPE_P2   IB(1)\n",
			want: map[int]ib.LinkType{1: ib.LinkTypeAuto, 2: ib.LinkTypeIB}},
		{name: "one port", rows: "  LINK_TYPE_P1   ETH(2)\n", want: map[int]ib.LinkType{1: ib.LinkTypeETH}},
		{name: "Ethernet-only firmware", rows: "  SRIOV_EN   True(1)\n", want: map[int]ib.LinkType{}},
		{name: "a value that nobody knows", rows: "  LINK_TYPE_P1   XYZ(9)\n", wantErr: `LINK_TYPE_P1 is "XYZ(9)"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table, err := ParseQuery(head + tt.rows)
			if err != nil {
				t.Fatal(err)
			}
			got, err := table.LinkTypes()
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("got error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseQuery_refuses(t *testing.T) {
	head := "Device #1:\nDevice type:    ConnectX3\nConfigurations:    Next Boot\n"
	for name, output := range map[string]string{
		"nothing":               "",
		"a missing value":       head + "   LINK_TYPE_P1\n",
		"a value too many":      head + "   LINK_TYPE_P1   IB(1)   ETH(2)\n",
		"a row given twice":     head + "   NUM_OF_VFS   8\n   NUM_OF_VFS   9\n",
		"rows left out":         head + "   NUM_OF_VFS   8\n   .....\n",
		"dots for left out":     head + "   NUM_OF_VFS   8\n   ...\n",
		"tables of two cards":   head + "   NUM_OF_VFS   8\n\nDevice #2:\n",
		"an unsupported device": "-E- Unsupported device\n",
	} {
		if _, err := ParseQuery(output); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestParseQuery_ignores_other_rows(t *testing.T) {
	table, err := ParseQuery("Configurations:    Next Boot\n RO   SOME_TEXT   two words\n RO  LINK_TYPE_P1   IB(1)\n  a remark\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := table.LinkTypes(); err != nil || len(table.Params) != 1 || got[1] != ib.LinkTypeIB {
		t.Errorf("got %v, %v of %v", got, err, table.Params)
	}
}

func TestCommands(t *testing.T) {
	pci := ib.MustParsePCIAddress("0000:01:00.0")
	if got := Query(pci); got.String() != "timeout 45 mstconfig -d 0000:01:00.0 q" || got.Changing() || !got.Root() {
		t.Errorf("query: %s", got)
	}
	set, err := SetLinkTypes(pci, map[int]ib.LinkType{2: ib.LinkTypeETH, 1: ib.LinkTypeIB})
	if err != nil {
		t.Fatal(err)
	}
	if set.String() != "mstconfig -d 0000:01:00.0 set LINK_TYPE_P1=1 LINK_TYPE_P2=2" || !set.Changing() ||
		set.Stdin() != "y\n" {
		t.Errorf("set: %s", set)
	}
	for name, types := range map[string]map[int]ib.LinkType{"no port": {}, "port 3": {3: ib.LinkTypeIB},
		"no type": {1: ""}} {
		if _, err := SetLinkTypes(pci, types); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestCommands_are_accepted_by_the_real_tool(t *testing.T) {
	realtool.Path(t, program)
	pci := ib.MustParsePCIAddress("00ff:1f:1f.7")
	set, err := SetLinkTypes(pci, map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeIB})
	if err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{Query(pci).Argv(), set.Argv()} {
		out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "Failed to open the device") {
			t.Errorf("%v: %v\n%s", argv, err, out)
		}
	}
}
