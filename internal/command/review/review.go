// Package review is the command that turns a saved plan into Markdown for a pull request.
//
// It must not reach a host, judge, or show a value that the plan calls sensitive.
package review

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/template"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
)

// Command is "review".
var Command = command.Command{Name: "review", Summary: "write a saved plan as Markdown for a pull request", Run: run}

const text = `Writes Markdown for a pull request: which cards change, from what to what, which hosts
restart, files, services, packages, consents and findings. It reaches no host.

FILE is the output of "terraform show -json PLAN". A saved plan keeps no warnings and no
refusals: give the output of "terraform plan -json -out=PLAN" as another FILE to have
them, too. Without a FILE, or for -, standard input is read; it may have both.

Exit status: 0 if the plan can be applied, 1 if it is refused or could not be read, 2 if
the command line is wrong.`

func run(_ context.Context, args []string, std command.Streams) int {
	fs := command.NewFlags("review [FILE…]", text)
	files, status, done := command.Parse(fs, args, std)
	if done {
		return status
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	var in input
	for _, file := range files {
		if err := in.read(file, std.In); err != nil {
			fmt.Fprintf(std.Err, "review: %v\n", err)
			return command.Failed
		}
	}
	if in.plan == nil && !in.logged {
		fmt.Fprintln(std.Err, "review: no plan was given. Give it the output of \"terraform show -json PLAN\".")
		return command.Failed
	}
	r := in.review()
	markdown, err := render(r)
	if err != nil {
		fmt.Fprintf(std.Err, "review: %v\n", err)
		return command.Failed
	}
	_, _ = io.WriteString(std.Out, markdown) // Main sees a failure, as with every other line
	if r.Refused {
		return command.Failed
	}
	return command.OK
}

// read takes what one file has.
func (in *input) read(file string, stdin io.Reader) error {
	if file == "-" {
		return in.decode("standard input", stdin)
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	return in.decode(file, f)
}

// limit is what a comment on a pull request may have: GitHub takes 65,536 characters.
const limit = 60_000

//go:embed review.md.tmpl
var markdown string

var page = template.Must(template.New("review").Funcs(template.FuncMap{
	"code": code, "fence": fence, "count": count, "table": func(object string, rows []row) map[string]any {
		return map[string]any{"Object": object, "Rows": rows}
	},
}).Parse(markdown))

// shorter are the ways to make a review fit, in this order: with or without the texts of findings, and
// how many rows of each table; 0 are all.
var shorter = []struct {
	texts bool
	most  int
}{{true, 0}, {false, 0}, {false, 200}, {false, 50}, {false, 10}}

// render gives the Markdown. What is too long for a comment goes without the texts of findings, then
// with the first rows of its tables: consents and restarts stay. What is still too long is cut at a line.
func render(r *review) (string, error) {
	var out string
	for _, way := range shorter {
		var b bytes.Buffer
		r.Texts = way.texts
		if err := page.Execute(&b, r.shortened(way.most)); err != nil {
			return "", err
		}
		if out = b.String(); len(out) <= limit {
			return out, nil
		}
	}
	return "**This review is cut: the plan is too long for a comment.** Review fewer hosts at a time.\n\n" +
		out[:strings.LastIndexByte(out[:limit], '\n')+1], nil
}

// shortened is the review with the first rows of each table, and says how many are left out.
func (r *review) shortened(most int) *review {
	s := *r
	if most == 0 {
		return &s
	}
	s.Cards, s.Others, s.Drift = first(&s, "cards", r.Cards, most), first(&s, "fabric and network", r.Others, most),
		first(&s, "what the hosts show", r.Drift, most)
	restarts, others := []effect{}, []effect{}
	for _, e := range r.Effects {
		if e.What == "restarts" || e.What == "activates by" {
			restarts = append(restarts, e)
		} else {
			others = append(others, e)
		}
	}
	s.Effects = slices.Concat(restarts, first(&s, "what the apply does", others, most))
	return &s
}

func first[E any](s *review, of string, rows []E, most int) []E {
	if len(rows) <= most {
		return rows
	}
	s.Left = append(s.Left, fmt.Sprintf("%d of %s", len(rows)-most, of))
	return rows[:most]
}

// count gives "1 card" or "2 cards".
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
