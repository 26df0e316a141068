// Command shipped says which modules the programs of a release are built from. It
// checks their licences, writes the list that lies beside each zip file of a
// release, and collects the texts that the licences ask to be passed on. It is
// not part of the provider.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"strings"
	"syscall"
)

const usage = `usage: shipped                     list modules and licences; status 1 if one is not known to be free to ship
       shipped -notices FILE       write the texts of all licences; -of PROGRAM, as
                                   .goreleaser.yml names it, for another than the provider
       shipped -sbom FILE BINARY   write what BINARY is built from, as CycloneDX
`

func main() {
	notices := flag.String("notices", "", "write the texts of all licences into this `file`")
	sbom := flag.String("sbom", "", "write what a binary is built from into this `file`")
	program := flag.String("of", ".", "`program` of -notices, as .goreleaser.yml names it")
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *program, *notices, *sbom, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shipped:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program, notices, sbom string, args []string) error {
	if sbom != "" {
		if len(args) != 1 {
			return errors.New("name one binary")
		}
		return writeSBOM(ctx, sbom, args[0])
	}
	if len(args) != 0 {
		return fmt.Errorf("unknown argument %q", args[0])
	}
	if notices == "" {
		program = "" // all
	}
	found, err := releasedModules(ctx, program)
	if err != nil {
		return err
	}
	if notices != "" {
		return writeNotices(notices, path.Base(importPath(program)), found)
	}
	return check(found)
}

// check prints every module with its licence. A licence that is not recognized
// is an error: a person has to read it.
func check(found []module) error {
	var unknown []string
	for _, m := range found {
		id, err := m.licence()
		if err != nil {
			unknown = append(unknown, fmt.Sprintf("%s %s: %v", m.Path, m.Version, err))
			id = "NOT KNOWN"
		}
		fmt.Printf("%-14s %s %s\n", id, m.Path, m.Version)
	}
	if len(unknown) > 0 {
		return fmt.Errorf("read these licences, and add to internal/tools/shipped/licence.go what may be shipped:\n  %s",
			strings.Join(unknown, "\n  "))
	}
	fmt.Printf("%d modules are shipped; all licences are known.\n", len(found))
	return nil
}
