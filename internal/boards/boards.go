// Package boards knows boards by part number and by PSID: their chip, ports and link types. Each
// line names where that was found. What nobody has published is missing, and nothing follows
// from that.
//
// It must not say what a difference between two boards means.
package boards

import (
	"cmp"
	_ "embed" // the table, which a person can read and extend
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Board is a model of a card. Zero values are not known.
type Board struct {
	Part  string // part number of the maker, "MCX354A-FCBT"
	PSID  ib.PSID
	Chip  string // as package ib names it
	Ports int
	Types string // "ib", "eth" or "ib eth"
	Maker string
	// Source is where this was found.
	Source string
}

//go:embed boards.tsv
var table string

var all = parse(table)

func parse(text string) []Board {
	var boards []Board
	for _, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
		f := strings.Split(line, "\t")
		ports, _ := strconv.Atoi(f[3]) // empty: not known
		boards = append(boards, Board{Part: f[0], PSID: ib.PSID(f[1]), Chip: f[2], Ports: ports, Types: f[4], Maker: f[5],
			Source: f[6]})
	}
	return boards
}

// All are the boards of the table.
func All() []Board { return all }

// OfPSID is the board with a PSID. One PSID may be on several part numbers of a maker, which
// have the same chip and ports.
func OfPSID(psid ib.PSID) (Board, bool) {
	for _, b := range all {
		if psid != "" && b.PSID == psid {
			return b, true
		}
	}
	return Board{}, false
}

// model is the part of Mellanox's part numbers that is also in images: MCX354A-FCB of
// MCX354A-FCBT and of MCX354A-FCB_A2-A5.
var model = regexp.MustCompile(`^MCX[0-9]{3,6}[A-Z]{1,3}-[A-Z]{3}`)

// OfPart is the board with a part number, as a card or an image writes it.
func OfPart(part string) (Board, bool) {
	part = strings.ToUpper(strings.TrimSpace(part))
	for _, b := range all {
		if same := model.FindString(part); part != "" && b.Part != "" &&
			(b.Part == part || same != "" && same == model.FindString(b.Part)) {
			return b, true
		}
	}
	return Board{}, false
}

// Name is the part number with its maker, or what is known in its place: "Mellanox MCX354A-FCBT",
// "Dell ConnectX-4".
func (b Board) Name() string { return strings.TrimSpace(b.Maker + " " + cmp.Or(b.Part, b.Chip)) }

// Describe is a PSID with its board, or with its maker.
func Describe(psid ib.PSID) string {
	name := psid.Vendor()
	if b, known := OfPSID(psid); known {
		name = b.Name()
	}
	if name == "" {
		return psid.String()
	}
	return fmt.Sprintf("%s (%s)", psid, name)
}

// models are those that part numbers ("MCX354A-FCBT") and names of board definitions
// ("cx3-1_MCX311A.prs") have: all boards of one have the same ports and connectors.
var models = regexp.MustCompile(`MCX[345][0-9]{2}[A-Z]`)

// Model finds the model in such a text, "MCX354A"; empty if there is none.
func Model(text string) string { return models.FindString(text) }

// PortsOfModel reads the number of ports out of a model: the last
// digit is odd for one port and even for two (MCX311A, MCX353A; MCX312A, MCX354A;
// MCX455A and MCX456A, MCX555A and MCX556A).
func PortsOfModel(model string) int {
	if (model[5]-'0')%2 == 1 {
		return 1
	}
	return 2
}
