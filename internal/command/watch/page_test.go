package watch

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

func at(name string, percent int, text string) entry {
	return entry{Step: journal.Step{Time: time.Unix(0, 0), Host: "nas", PCI: ib.MustParsePCIAddress("0000:01:00.0"),
		Name: name, Percent: percent, Elapsed: time.Minute, Text: text}, job: "j"}
}

func TestPage_draws_a_bar_on_a_terminal(t *testing.T) {
	var out, stderr bytes.Buffer
	width := 200
	p := &page{out: &out, err: &stderr, width: func() int { return width }}
	p.show(at("burning", 50, ""))
	p.say(notice{Host: "other", Event: "no answer", Text: "gone"})
	width = 40
	p.show(at("failed", journal.Unknown, "evil \x1b[2J\ntext, and more of it"))
	const up = "\x1b[1A\r\x1b[J"
	bar := "nas 0000:01:00.0 burning     [############............]  50%  next: read the card back, in about 1m0s\n"
	want := bar + up + bar + up + `nas 0000:01:00.0 failed       evil \x1b` + "\n"
	if out.String() != want || stderr.String() != "other: gone\n" {
		t.Errorf("got  %q\nwant %q\n%q", out.String(), want, stderr.String())
	}
}

// A line for each step, and for each tenth of a burn.
func TestPage_prints_lines_elsewhere(t *testing.T) {
	var out bytes.Buffer
	p := &page{out: &out}
	for percent := range 100 {
		p.show(at("burning", percent, ""))
		p.show(at("burning", percent, ""))
	}
	p.show(at("burned", 100, ""))
	if n := strings.Count(out.String(), "\n"); n != 11 || !strings.Contains(out.String(), " 90%  next: ") {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
}
