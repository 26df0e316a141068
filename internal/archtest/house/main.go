// Command house measures the product: its size, the references that run upwards inside its
// packages, and how many functions a value passes on its way. Measures that are held are tests
// of this package. It must not change what it measures.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
)

// The ways that the table shows: where each begins, and the type of the value that is followed.
var ways = []way{
	{"firmware request", `\(\*hca\.Ops\)\.ApplyFirmware`, "Firmware"},
	{"link types", `hca/linktype(/\w+)?\.Apply`, "Ask"},
	{"subnet manager", `opensm(/\w+)?\.Apply`, "Request"},
	{"interface", `ipoib(/\w+)?\.Apply`, "Request"},
}

// roomy are the packages whose references upwards the table always shows.
var roomy = []string{"ipoib", "opensm", "safety", "host/sshhost"}

func main() {
	root := flag.String("C", ".", "root of the module")
	flag.Parse()
	if err := run(*root, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(root string, out io.Writer) error {
	sizes, err := measure(root)
	if err != nil {
		return err
	}
	house, err := load(root)
	if err != nil {
		return err
	}
	return house.table(sizes, out)
}

func (h *house) table(sizes []size, out io.Writer) error {
	total := sum(sizes)
	fmt.Fprintf(out, "Product: %d lines, %d files, %d packages, %d findings, %d error types (%d explain themselves), "+
		"comments %.1f %%\n", total.lines, total.files, len(sizes), total.findings, total.errors, total.explained,
		100*float64(total.comments)/float64(total.goLines))
	fmt.Fprintf(out, "\n%-24s %6s %6s %9s\n", "largest packages", "files", "lines", "comments")
	slices.SortFunc(sizes, func(a, b size) int { return b.lines - a.lines })
	for _, s := range sizes[:min(12, len(sizes))] {
		fmt.Fprintf(out, "%-24s %6d %6d %7.1f %%\n", s.name, s.files, s.lines, 100*float64(s.comments)/float64(s.goLines))
	}
	fmt.Fprintf(out, "\n%-24s %6s %8s\n", "references of files", "all", "upwards")
	for _, f := range h.floors() {
		if slices.Contains(roomy, f.name) || f.tooMany() {
			fmt.Fprintf(out, "%-24s %6d %6d (%d %%)\n", f.name, f.all, f.upwards, f.share())
		}
	}
	fmt.Fprintf(out, "\n%-30s %6s %6s %8s\n", "the way of", "stops", "files", "returns")
	for _, w := range ways {
		seen, err := h.follow(w)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-30s %6d %6d %8d\n", w.of, seen.stops, seen.files, seen.stops-seen.files)
	}
	return nil
}
