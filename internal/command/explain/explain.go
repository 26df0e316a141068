// Package explain is the command that says what the code of a finding means and what to
// do, in the words of the documentation.
//
// It must not reach a host, or judge.
package explain

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// Command is "explain".
var Command = command.Command{Name: "explain", Summary: "say what the code of a finding means, and what to do",
	Run: run}

const text = `Says what each CODE means and what to do. A message of the provider ends with its code,
such as FW023. It reaches no host.

Exit status: 0 if each code was found, 1 if one was not, 2 if the command line is wrong.`

// most bounds the findings that are named for a code that is not there.
const most = 5

func run(_ context.Context, args []string, std command.Streams) int {
	fs := command.NewFlags("explain CODE…", text)
	codes, status, done := command.Parse(fs, args, std)
	if done {
		return status
	}
	if len(codes) == 0 {
		return command.WrongUsage(fs, fmt.Errorf("no code is named"), std)
	}
	all := finding.All()
	for i, code := range codes {
		at := slices.IndexFunc(all, func(r *finding.Rule) bool { return strings.EqualFold(r.Code, code) })
		if at < 0 {
			status = command.Failed
			printNear(std.Err, code, all)
			continue
		}
		if i > 0 {
			fmt.Fprintln(std.Out)
		}
		printRule(std.Out, all[at])
	}
	return status
}

func printRule(w io.Writer, r *finding.Rule) {
	fmt.Fprintf(w, "%s\n\n%s\n", r.Heading(), r.Section())
	if more, ok := r.More(); ok {
		fmt.Fprintf(w, "%s: %s\n", more.Title, more.Address())
	}
	fmt.Fprintf(w, "In the documentation: %s\n", r.Address())
}

// printNear names the findings of the same family whose numbers are nearest, or else
// those whose title has the word.
func printNear(w io.Writer, code string, all []*finding.Rule) {
	fmt.Fprintf(w, "There is no finding %q.", code)
	near := slices.DeleteFunc(slices.Clone(all), func(r *finding.Rule) bool { return distance(r, code) < 0 })
	slices.SortStableFunc(near, func(a, b *finding.Rule) int { return cmp.Compare(distance(a, code), distance(b, code)) })
	if len(near) == 0 {
		fmt.Fprint(w, " Codes begin with:\n")
		for _, f := range finding.Families {
			fmt.Fprintf(w, "  %s  %s\n", f.Prefix, f.Title)
		}
		return
	}
	fmt.Fprint(w, " Near it are:\n")
	for _, r := range near[:min(most, len(near))] {
		fmt.Fprintf(w, "  %s  %s\n", r.Code, r.Title)
	}
}

// distance says how far a code is from what somebody wrote; it is negative if the two have
// nothing in common.
func distance(r *finding.Rule, wrote string) int {
	family, number := r.Code[:2], r.Code[2:]
	rest, same := strings.CutPrefix(strings.ToUpper(wrote), family)
	is, _ := strconv.Atoi(number)
	meant, err := strconv.Atoi(rest)
	switch {
	case same && err == nil:
		return max(is-meant, meant-is)
	case same && rest == "", len(wrote) > 2 && strings.Contains(strings.ToLower(r.Title), strings.ToLower(wrote)):
		return is
	}
	return -1
}
