package mstconfig

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Table is the configuration of one card.
type Table struct {
	DeviceType string   // "ConnectX3Pro"
	Columns    []string // of "Default", "Current", "Next Boot", "New"
	Params     map[string]Param
}

// Param is one row: its values by column.
type Param map[string]Value

// Value is one cell.
type Value = inventory.SettingValue

// Next returns the value that the card will have after the next boot.
func (p Param) Next() (Value, bool) {
	if v, ok := p["New"]; ok {
		return v, true
	}
	v, ok := p["Next Boot"]
	return v, ok
}

// LinkTypes returns what LINK_TYPE_Pn will be after the next boot, by port. A
// firmware without link types (Ethernet-only) and a missing second port have
// no entry.
func (t *Table) LinkTypes() (map[int]ib.LinkType, error) {
	types := map[int]ib.LinkType{}
	for port := 1; port <= 2; port++ {
		p, ok := t.Params[fmt.Sprintf("LINK_TYPE_P%d", port)]
		if !ok {
			continue
		}
		v, ok := p.Next()
		if !ok || !v.HasNum || v.Number < 1 || v.Number > int64(len(linkTypes)) {
			return nil, fmt.Errorf("LINK_TYPE_P%d is %q, want IB(1), ETH(2) or VPI(3)", port, v.Raw)
		}
		types[port] = linkTypes[v.Number-1]
	}
	return types, nil
}

// Settings are all rows of the table.
func (t *Table) Settings() map[string]inventory.CardSetting {
	all := make(map[string]inventory.CardSetting, len(t.Params))
	for name, p := range t.Params {
		next, _ := p.Next()
		all[name] = inventory.CardSetting{Default: p["Default"], Current: p["Current"], Next: next}
	}
	return all
}

// ToolError is what the tool says behind "-E- "; it ends with status 3, or 2 if
// a question was not answered with yes.
type ToolError struct{ Text string }

func (e *ToolError) Error() string { return "mstconfig: " + e.Text }

// firstServed is the first firmware of ConnectX-3 that the tool serves.
var firstServed = ib.FWVersion{Major: 2, Minor: 31, Sub: 5000}

// Unsupported reports whether the tool says that it cannot serve the card at all, as
// versions from 4.26 on cannot serve ConnectX-3. It calls the firmware too old also if
// the card's command interface is busy (4.21). So the running version decides, and an
// unknown version proves nothing.
func (e *ToolError) Unsupported(running ib.FWVersion) bool {
	if strings.Contains(e.Text, "Unsupported FW") {
		return !running.IsZero() && running.Compare(firstServed) < 0
	}
	return strings.Contains(e.Text, "Unsupported device") || strings.Contains(e.Text, "Livefish mode is not supported")
}

var (
	headLine  = regexp.MustCompile(`^Device type:\s*(.*?)\s*$`)
	wideBlank = regexp.MustCompile(`\s{2,}|\t`)
	anyBlank  = regexp.MustCompile(`\s+`)
	paramName = regexp.MustCompile(`^_?[A-Z](?:[A-Z0-9_]|x86)*(?:\[[0-9.]+\])?$`)
)

// ParseQuery reads the table of one card. Rows end at an empty line. An "-E- "
// line is *ToolError; output without a table, tables of two cards, dots that
// stand for rows left out and a row of a link type that cannot be read are
// errors. Other rows that cannot be read are ignored.
func ParseQuery(output string) (Table, error) {
	t := Table{Params: map[string]Param{}}
	inRows := false
	for n, line := range tool.Lines(output) {
		text := strings.TrimSpace(line)
		if at := strings.Index(text, "-E- "); at >= 0 {
			return Table{}, &ToolError{Text: strings.TrimSpace(text[at+len("-E- "):])}
		}
		var err error
		switch {
		case strings.HasPrefix(text, "Configurations:"):
			err = t.heading(n, text)
			inRows = true
		case text == "" || !inRows:
			inRows = inRows && text != ""
			err = t.head(n, text)
		case strings.HasPrefix(text, "The '*' shows"):
			inRows = false
		default:
			err = t.row(n, text)
		}
		if err != nil {
			return Table{}, err
		}
	}
	if t.Columns == nil {
		return Table{}, errors.New(`no line "Configurations:": this is not the table of a card`)
	}
	return t, nil
}

func (t *Table) head(n int, text string) error {
	if strings.HasPrefix(text, "Device #") && t.DeviceType != "" {
		return tool.Errorf(n, text, "a second card")
	}
	if m := headLine.FindStringSubmatch(text); m != nil {
		t.DeviceType = m[1]
	}
	return nil
}

// heading reads the columns by name, not by place: their width has changed several
// times, and "New" has stood outside its column.
func (t *Table) heading(n int, text string) error {
	if t.Columns != nil {
		return tool.Errorf(n, text, "a second table")
	}
	rest := strings.TrimSpace(strings.TrimPrefix(text, "Configurations:"))
	if rest == "" {
		return tool.Errorf(n, text, "no column is named")
	}
	for _, c := range wideBlank.Split(rest, -1) {
		switch c {
		case "Default", "Current", "Next Boot", "New":
			t.Columns = append(t.Columns, c)
		default:
			return tool.Errorf(n, text, "column %q is not known", c)
		}
	}
	return nil
}

func (t *Table) row(n int, text string) error {
	text = strings.TrimSpace(strings.TrimPrefix(text, "*"))
	// From 4.26 on a row that cannot be set begins with "RO".
	text = strings.TrimSpace(strings.TrimPrefix(text, "RO "))
	cells := anyBlank.Split(text, -1)
	if strings.Trim(text, ".") == "" {
		return tool.Errorf(n, text, "rows were left out")
	}
	if !paramName.MatchString(cells[0]) {
		return nil
	}
	if len(cells) != len(t.Columns)+1 {
		if strings.HasPrefix(cells[0], "LINK_TYPE") {
			return tool.Errorf(n, text, "want %d values, one for each column", len(t.Columns))
		}
		return nil
	}
	if _, twice := t.Params[cells[0]]; twice {
		return tool.Errorf(n, text, "second row %s", cells[0])
	}
	p := Param{}
	for i, c := range t.Columns {
		p[c] = inventory.ParseSettingValue(cells[i+1])
	}
	t.Params[cells[0]] = p
	return nil
}

// NeedsPowerCycle reports whether the tool says, after a set, that only a power cycle loads it: the card
// has refused to load it at a restart.
func NeedsPowerCycle(output string) bool {
	return strings.Contains(output, "Please power cycle machine")
}

// ParseSet reads the output of a set: whether the tool says that it applied the change.
func ParseSet(output string) (applied bool, err error) {
	_, err = ParseQuery(output)
	return err == nil && strings.Contains(output, "Applying... Done!"), err
}
