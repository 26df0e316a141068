package watch

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// entry is how far one job is.
type entry struct {
	journal.Step
	job    string
	kind   string
	ending record.Ending
}

func entryOf(job record.Job, look record.Look) entry {
	e := entry{Step: job.Step(look), job: job.ID, kind: job.Kind, ending: job.Ending()}
	if e.Name == journal.Burned {
		e.ending = record.Burned // also in the moment before the job itself ends
	}
	return e
}

// notice is what is said of a host and not of a job.
type notice struct {
	Host  string `json:"host"`
	Event string `json:"event"`
	Text  string `json:"text"`
}

// page shows what is seen of all hosts. It is safe for concurrent use.
type page struct {
	out, err io.Writer
	json     bool
	width    func() int // of the terminal; nil where there is none

	mu   sync.Mutex
	rows []entry // the jobs, in the order in which they were first seen
	said []string
	up   int // lines of the terminal that are drawn anew
}

func newPage(std command.Streams, asJSON bool) *page {
	p := &page{out: std.Out, err: std.Err, json: asJSON}
	// The cursor is moved by sequences that a console of Windows may not know.
	f, ok := std.OutFile()
	if !ok || asJSON || runtime.GOOS == "windows" || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	p.width = func() int {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
		return 80
	}
	return p
}

// show shows how far a job is. Where there is no terminal, a step that differs by some
// percents only is not worth a line.
func (p *page) show(e entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := -1
	for i := range p.rows {
		if p.rows[i].job == e.job && p.rows[i].Host == e.Host {
			at = i
		}
	}
	if at < 0 {
		at = len(p.rows)
		p.rows, p.said = append(p.rows, e), append(p.said, "")
	}
	p.rows[at] = e
	if p.width != nil {
		p.draw()
		return
	}
	key := fmt.Sprint(e.Name, e.Percent/10, e.Text)
	if key == p.said[at] {
		return
	}
	p.said[at] = key
	if p.json {
		p.encode(e.fields())
		return
	}
	fmt.Fprintln(p.out, diagnostic.Plain(e.String()))
}

// say tells something of a host.
func (p *page) say(n notice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n.Text = diagnostic.Line(n.Text)
	to := p.out
	switch {
	case p.json:
		p.encode(n)
		return
	case n.Event != "nothing":
		to = p.err
	}
	p.rub()
	fmt.Fprintf(to, "%s: %s\n", n.Host, n.Text)
	if p.width != nil {
		p.draw()
	}
}

func (p *page) encode(v any) {
	if text, err := json.Marshal(v); err == nil {
		fmt.Fprintf(p.out, "%s\n", text)
	}
}

// rub takes away what is drawn on the terminal.
func (p *page) rub() {
	if p.up > 0 {
		fmt.Fprintf(p.out, "\x1b[%dA\r\x1b[J", p.up)
		p.up = 0
	}
}

// draw draws a line for each job.
func (p *page) draw() {
	p.rub()
	for _, e := range p.rows {
		fmt.Fprintln(p.out, e.bar(p.width()))
	}
	p.up = len(p.rows)
}

const barWidth = 24

// bar is a job as one line of a terminal, no longer than it is wide: what does not fit
// would begin another line.
func (e entry) bar(width int) string {
	line := fmt.Sprintf("%s %s %-11s ", e.Host, e.PCI, e.Name)
	if e.Percent != journal.Unknown {
		full := min(max(e.Percent, 0), 100) * barWidth / 100
		line += fmt.Sprintf("[%s%s] %3d%% ", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), e.Percent)
	}
	what, when := e.Next()
	switch {
	case e.Text != "":
		line += " " + e.Text
	case what != "":
		line += " next: " + what + ", " + when
	}
	text := []rune(strings.TrimRight(strings.ReplaceAll(diagnostic.Plain(line), "\n", " "), " "))
	if len(text) >= width {
		text = text[:max(width-1, 0)]
	}
	return string(text)
}

// fields are those of one line of JSON.
func (e entry) fields() any {
	f := struct {
		Time    string `json:"time"`
		Host    string `json:"host"`
		Card    string `json:"card"`
		Job     string `json:"job"`
		Kind    string `json:"kind,omitempty"`
		Step    string `json:"step"`
		Percent *int   `json:"percent,omitempty"`
		Next    string `json:"next,omitempty"`
		Left    int    `json:"seconds_left,omitempty"`
		Outcome string `json:"outcome"`
		Text    string `json:"text,omitempty"`
	}{Time: e.Time.UTC().Format(time.RFC3339), Host: e.Host, Card: e.PCI.String(), Job: diagnostic.Line(e.job),
		Kind: diagnostic.Line(e.kind), Step: diagnostic.Line(e.Name), Outcome: string(e.ending),
		Text: diagnostic.Line(e.Text)}
	if e.Percent != journal.Unknown {
		f.Percent = &e.Percent
	}
	f.Next, _ = e.Next()
	if left, known := e.Left(); known {
		f.Left = int(left / time.Second)
	}
	return f
}
