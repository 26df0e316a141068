package acctest

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// faultFile holds the outcome of every case of the last full sweep.
const faultFile = "testdata/faults.tsv"

type faultCell struct{ fault, step string }

// faultRecord is outcomes by cell and point.
type faultRecord struct {
	mu    sync.Mutex
	cells map[faultCell]map[int]string
}

func newFaultRecord() *faultRecord { return &faultRecord{cells: map[faultCell]map[int]string{}} }

func (f *faultRecord) add(c *faultCase, outcome string) {
	f.put(faultCell{c.fault, c.step}, c.point, outcome)
}

func (f *faultRecord) put(cell faultCell, point int, outcome string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cells[cell] == nil {
		f.cells[cell] = map[int]string{}
	}
	f.cells[cell][point] = outcome
}

func readFaultRecord() (*faultRecord, error) {
	f := newFaultRecord()
	file, err := os.Open(faultFile)
	if err != nil {
		return f, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		col := strings.Split(lines.Text(), "\t")
		if len(col) != 4 {
			return f, fmt.Errorf("%s: %q", faultFile, lines.Text())
		}
		for _, span := range strings.Split(col[2], ",") {
			from, to, ok := strings.Cut(span, "-")
			if !ok {
				to = from
			}
			a, errA := strconv.Atoi(from)
			b, errB := strconv.Atoi(to)
			if errA != nil || errB != nil {
				return f, fmt.Errorf("%s: points %q", faultFile, span)
			}
			for n := a; n <= b; n++ {
				f.put(faultCell{col[0], col[1]}, n, col[3])
			}
		}
	}
	return f, lines.Err()
}

func (f *faultRecord) text() string {
	var b strings.Builder
	b.WriteString("# fault, step, points, outcome; written by go test -run TestFaults -faults.all -faults.update\n")
	for _, cell := range cellOrder() {
		for _, outcome := range []string{carriedOn, nextApply, mended} {
			var points []int
			for n, o := range f.cells[cell] {
				if o == outcome {
					points = append(points, n)
				}
			}
			if len(points) > 0 {
				fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", cell.fault, cell.step, spans(sortedKeys(points)), outcome)
			}
		}
	}
	return b.String()
}

// spans writes sorted numbers as "1-308,400".
func spans(points []int) string {
	var out []string
	for i := 0; i < len(points); {
		k := i
		for k+1 < len(points) && points[k+1] == points[k]+1 {
			k++
		}
		if k == i {
			out = append(out, strconv.Itoa(points[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", points[i], points[k]))
		}
		i = k + 1
	}
	return strings.Join(out, ",")
}

// cellOrder is the order of the cells on the page: that of the cases.
func cellOrder() []faultCell {
	var cells []faultCell
	for _, c := range faultCases() {
		if cell := (faultCell{c.fault, c.step}); !slices.Contains(cells, cell) {
			cells = append(cells, cell)
		}
	}
	// A fault that comes up in two groups of cases is one section.
	faults := map[string]int{}
	for i, c := range cells {
		if _, ok := faults[c.fault]; !ok {
			faults[c.fault] = i
		}
	}
	slices.SortStableFunc(cells, func(a, b faultCell) int { return faults[a.fault] - faults[b.fault] })
	return cells
}

// compare holds what was run against what is recorded, and the page against the
// record; or writes both.
func (f *faultRecord) compare(t *testing.T) {
	t.Helper()
	want, err := readFaultRecord()
	if err != nil && !*updateFaults {
		t.Fatal(err)
	}
	if *updateFaults {
		f.update(t, want)
		return
	}
	for cell, points := range f.cells {
		for n, outcome := range points {
			if recorded := want.cells[cell][n]; recorded != outcome && !answerCame(cell.fault, recorded, outcome) {
				t.Errorf("%s, %s, point %d: %q, recorded is %q; run make faults and look at the difference", cell.fault, cell.step,
					n, outcome, recorded)
			}
		}
	}
	page, err := os.ReadFile(faultPage)
	if err != nil || string(page) != want.page() {
		t.Errorf("%s is not what the record makes (%v); run make faults", faultPage, err)
	}
	known := newFaultRecord()
	for _, c := range faultCases() {
		known.add(c, "")
		if _, ok := want.cells[faultCell{c.fault, c.step}][c.point]; c.quick && !ok {
			t.Errorf("%s, %s, point %d is not recorded; run make faults", c.fault, c.step, c.point)
		}
	}
	for cell, points := range want.cells {
		for n := range points {
			if _, ok := known.cells[cell][n]; !ok {
				t.Errorf("%s, %s, point %d is recorded and no case any more; run make faults", cell.fault, cell.step, n)
			}
		}
	}
}

// answerCame reports whether an outcome is better than the recorded one because the output, with
// its end marker, was on its way already when the line broke. That is chance.
func answerCame(fault, recorded, outcome string) bool {
	return fault == answerLost && recorded == nextApply && outcome == carriedOn
}

// update replaces the outcomes of what was run, and keeps those of the other cases
// that there are.
func (f *faultRecord) update(t *testing.T, old *faultRecord) {
	t.Helper()
	for _, c := range faultCases() {
		cell := faultCell{c.fault, c.step}
		if outcome, ok := old.cells[cell][c.point]; ok && f.cells[cell][c.point] == "" {
			f.put(cell, c.point, outcome)
		}
	}
	for name, text := range map[string]string{faultFile: f.text(), faultPage: f.page()} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
