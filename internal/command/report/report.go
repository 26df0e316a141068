// Package report is the command that shows a lab from outside: one page for people, and
// a file of metrics for node_exporter.
//
// It must not change a host, judge, or write anything but the two files that it was asked for.
package report

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/atomicfile"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
)

const text = `Reads each HOST as check and history do, lets one host look at each fabric, and writes
what was found as one HTML page: hosts, cards, firmware, ports, cables, subnet managers,
partitions, interfaces, findings, benchmarks, last changes. The page needs nothing else
and no network. It holds no secret. It reads only.

With -metrics it writes the same for Prometheus: a file for the textfile collector of
node_exporter. Files are replaced whole, and left as they are if the command is interrupted.

` + target.Help + `

Exit status: 0 if each host was read, 1 if one was reached and not read or a file cannot
be written, 3 if one could not be reached, 2 if the command line is wrong. What was read
is written with 1 and 3, too.`

// Command is "report".
var Command = command.Command{Name: "report",
	Summary: "write a page, or metrics, of hosts, cards, fabric and findings; reads only", Run: run}

// outputs are the files that a command line asks for.
type outputs struct {
	page, metrics, backups string
}

func run(ctx context.Context, args []string, std command.Streams) int {
	fs := command.NewFlags("report [options] HOST…", text)
	var to outputs
	fs.StringVar(&to.page, "o", "", "write the page to `FILE`; without it and -metrics, to standard output")
	fs.StringVar(&to.metrics, "metrics", "", "write metrics to `FILE`, whose name has to end in .prom")
	fs.StringVar(&to.backups, "backup-dir", "", "`DIR` of the provider's backups, to show the last one of each card")
	options := target.Options{NoJSON: true}
	return options.Run(fs, args, std, func(targets []*target.Target) int {
		if err := to.check(); err != nil {
			return command.WrongUsage(fs, err, std)
		}
		lab := look(ctx, targets, to.backups)
		if err := ctx.Err(); err != nil {
			fmt.Fprintln(std.Err, "report: interrupted before all was read; nothing was written")
			return command.Failed
		}
		status := lab.status()
		for _, h := range lab.Hosts {
			if h.Snap == nil {
				fmt.Fprintf(std.Err, "%s: %s\n", h.Name, h.Failure)
			}
		}
		if err := to.write(lab, time.Now(), std); err != nil {
			fmt.Fprintf(std.Err, "report: %v\n", err)
			return command.Failed
		}
		return status
	})
}

// check refuses files that cannot be what was meant.
func (o outputs) check() error {
	switch {
	case o.metrics != "" && !strings.HasSuffix(o.metrics, ".prom"):
		return fmt.Errorf("-metrics %s: node_exporter reads only files that end in .prom", o.metrics)
	case o.metrics != "" && filepath.Clean(o.metrics) == filepath.Clean(o.page):
		return fmt.Errorf("-o and -metrics name one file, %s", o.page)
	case o.backups == "":
		return nil
	}
	if err := backup.NewStore(cards.New(cards.Config{BackupDir: o.backups})).Check(); err != nil {
		return fmt.Errorf("-backup-dir: %w", err)
	}
	return nil
}

// write writes what was asked for; the page is made whole before its file is touched.
func (o outputs) write(lab *lab, now time.Time, std command.Streams) error {
	if o.page != "" || o.metrics == "" {
		page, err := lab.page(now)
		if err != nil {
			return err
		}
		if o.page == "" {
			_, _ = std.Out.Write(page) // Main sees a failure
		} else if err = atomicfile.Write(o.page, page); err != nil {
			return fmt.Errorf("the page was not written: %w", err)
		}
	}
	if o.metrics == "" {
		return nil
	}
	if err := atomicfile.Write(o.metrics, lab.metrics(now)); err != nil {
		return fmt.Errorf("the metrics were not written: %w", err)
	}
	return nil
}
