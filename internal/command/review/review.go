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

// render gives the Markdown. What is too long for a comment goes without the texts of
// findings; what is still too long is cut at a line and says so.
func render(r *review) (string, error) {
	var out string
	for _, r.Texts = range []bool{true, false} {
		var b bytes.Buffer
		if err := page.Execute(&b, r); err != nil {
			return "", err
		}
		if out = b.String(); len(out) <= limit {
			return out, nil
		}
	}
	return "**This review is cut: the plan is too long for a comment.** Read the rest with `terraform show`.\n\n" +
		out[:strings.LastIndexByte(out[:limit], '\n')+1], nil
}

// count gives "1 card" or "2 cards".
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
