// Package record is the command that writes what hosts answer to a plan's questions into one file
// that can be sent to others: without secrets, and with other names.
//
// It must not change a host, or write anything that it has not shown before.
package record

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/recording"
)

const text = `Asks each HOST what a plan asks, and writes the answers into one file that can be sent:
facts of system, cards and fabric, and the files of /etc that the provider reads. Names,
addresses, serial numbers, GUIDs, MAC addresses and P_Keys are replaced, in all hosts
alike. Passwords, keys and comments are left out. It reads only.

With -backup-dir the newest backup of each card goes in, too: what is in its flash, with the GUIDs,
MAC addresses and serial number of the card as they are.

It shows what would go into the file, and asks before it writes it. Without -o it only
shows. Beside the file it writes the table of what was replaced: keep that one.

` + target.Help + `

Exit status: 0 if each host has answered all questions, 1 if nothing was written or an
answer is missing, 2 if the command line is wrong, 3 if a host could not be reached.`

// Command is "record", of this release of the provider.
func Command(version string) command.Command {
	return command.Command{Name: "record",
		Summary: "write what hosts answer into one file that can be sent; reads only",
		Run: func(ctx context.Context, args []string, std command.Streams) int {
			return run(ctx, version, args, std)
		}}
}

// settings are the flags of the command's own.
type settings struct {
	target.Options

	out, backups string
	yes          bool
}

func run(ctx context.Context, version string, args []string, std command.Streams) int {
	fs := command.NewFlags("record [options] HOST… -o FILE", text)
	var s settings
	fs.StringVar(&s.out, "o", "", "write the recording to `FILE`, such as lab.tar.gz, and the table to FILE.names.json")
	fs.StringVar(&s.backups, "backup-dir", "", "put the newest backup of each card in that lies below `DIR`, as backup_dir of the provider block names it")
	fs.BoolVar(&s.yes, "yes", false, "write without asking")
	return s.Run(fs, args, std, func(targets []*target.Target) int {
		if err := s.checkPlaces(); err != nil {
			return command.WrongUsage(fs, err, std)
		}
		var all []asked
		for a := range target.Each(targets, target.AtOnce, func(t *target.Target) asked { return ask(ctx, t, s.backups) }) {
			all = append(all, a)
		}
		l, err := clean(all)
		if err != nil {
			fmt.Fprintf(std.Err, "record: Refusing to show or write the recording: %v. Please report this: the text that "+
				"was found is not in the message.\n", err)
			return command.Failed
		}
		l.Provider = version
		status := l.status()
		if s.JSON {
			status = command.PrintJSON(fs, l.Manifest, status, std)
		} else {
			l.show(std)
		}
		if s.out == "" {
			return status
		}
		return max(status, s.write(l, std))
	})
}

// checkPlaces refuses to overwrite a file: the table of an older recording exists only once. It refuses a folder of
// backups that is not there.
func (s *settings) checkPlaces() error {
	if s.backups != "" {
		if err := backup.NewStore(cards.New(cards.Config{BackupDir: s.backups})).Check(); err != nil {
			return fmt.Errorf("-backup-dir: %w", err)
		}
	}
	if s.out == "" {
		return nil
	}
	for _, file := range []string{s.out, s.table()} {
		if _, err := os.Lstat(file); err == nil {
			return fmt.Errorf("%s exists already", file)
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (s *settings) table() string { return s.out + ".names.json" }

// status is what the recording lacks.
func (l *lab) status() int {
	status := command.OK
	for _, h := range l.Hosts {
		answered := false
		for _, a := range h.Answers {
			answered = answered || a.Status >= 0
		}
		switch {
		case !answered:
			return command.Unreachable
		case h.Problem != "":
			status = command.Failed
		}
	}
	return status
}

// show prints what goes into the file.
func (l *lab) show(std command.Streams) {
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "HOST\tSTATUS\tBYTES\tCOMMAND\n")
	for _, h := range l.Hosts {
		for _, a := range h.Answers {
			fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", h.Name, a.Status, len(l.files[a.Output])+len(l.files[a.Errors]), short(a.Command))
		}
	}
	_ = w.Flush() // Main sees a failure, as with every other line
	for _, h := range l.Hosts {
		for _, a := range h.Answers {
			for line := range strings.Lines(l.files[a.Output]) {
				if m := fileHead.FindStringSubmatch(line); m != nil {
					fmt.Fprintf(std.Out, "%s: file %s\n", h.Name, m[1])
				}
			}
		}
		for _, f := range h.Flashes {
			fmt.Fprintf(std.Out, "%s: flash of card %s, %d bytes, with its own GUIDs, MAC addresses and serial number\n", h.Name,
				f.Card, len(l.files[f.File]))
		}
		if h.Problem != "" {
			fmt.Fprintf(std.Out, "%s: not everything was answered: %s\n", h.Name, h.Problem)
		}
	}
	fmt.Fprintf(std.Out, "%d secrets are left out. %d names and numbers are replaced.\n", l.secrets, len(l.table.Pairs()))
}

func short(s string) string {
	const most = 70
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// write asks, and writes the table first: a recording without it could not be understood at home.
func (s *settings) write(l *lab, std command.Streams) int {
	answer := "yes"
	if l.hasFlashes() {
		answer = "yes with flashes"
		fmt.Fprint(std.Err, "The copies of flashes cannot be made anonymous. Whoever gets the file knows the GUIDs, MAC "+
			"addresses and serial numbers of these cards, and has firmware that its vendor may not allow you to hand out.\n")
	}
	if !s.yes && !confirmed(std, s.out, answer) {
		fmt.Fprintf(std.Err, "record: Nothing was written. To write %s, answer %s, or use -yes.\n", s.out, answer)
		return command.Failed
	}
	table, err := json.MarshalIndent(l.table.Pairs(), "", "  ")
	var archive bytes.Buffer
	err = errors.Join(err, recording.Write(&archive, l.Manifest, l.files))
	for _, f := range []struct {
		name string
		data []byte
	}{{s.table(), append(table, '\n')}, {s.out, archive.Bytes()}} {
		if err == nil {
			err = create(f.name, f.data)
		}
	}
	if err != nil {
		fmt.Fprintf(std.Err, "record: Unable to write the recording: %v\n", err)
		return command.Failed
	}
	goes := "can be sent"
	if l.hasFlashes() {
		goes = "has flashes: send it to nobody who may not have them"
	}
	fmt.Fprintf(std.Err, "%s %s. %s says what stands for what: keep it at home.\n", s.out, goes, s.table())
	return command.OK
}

func (l *lab) hasFlashes() bool {
	return slices.ContainsFunc(l.Hosts, func(h recording.Host) bool { return len(h.Flashes) > 0 })
}

func confirmed(std command.Streams, file, want string) bool {
	fmt.Fprintf(std.Err, "Write this to %s? Only %q writes it: ", file, want)
	answer, _ := bufio.NewReader(std.In).ReadString('\n')
	return strings.TrimSpace(answer) == want
}

// create makes a file that only its owner can read. What was begun and failed is removed.
func create(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}
