package changes

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed" // the script is a file so that a shell checker can read it
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

//go:embed script/note.sh
var noteScript string

const (
	// limit is how large a file of records grows before it is put aside. Another one is
	// kept beside it.
	limit = 128 << 10
	// longest is how much of one value is noted.
	longest = 600
	// endLimit is how long the note on the end of a change may take.
	endLimit = 30 * time.Second
)

// What was changed, by the name of the resource.
const (
	LinkType = "link_type"
	Settings = "nv_config"
	Network  = "ipoib_interface"
	SM       = "opensm"
	Port     = "port"
	Names    = "node_names"
	VFs      = "virtual_functions"
)

// Benchmark is no change. Its results have a file of their own, so that a lab that is measured each hour keeps
// the notes of its changes.
const Benchmark = "benchmark"

// Change is one change of a host.
type Change struct {
	ID     string
	What   string
	Object string // card, port or interface
	From   string
	To     string
	// The rest is filled in by those who note it, or read it.
	Operator string
	Time     string // when it began, by the clock of the host
	Outcome  Outcome
	Text     string // more on the outcome
}

// Outcome is how a change ended.
type Outcome string

// The outcomes of a change.
const (
	Begun    Outcome = "begun"    // it runs, or stopped without a note
	Verified Outcome = "verified" // read back: as asked for
	Failed   Outcome = "failed"
	Undone   Outcome = "undone" // the host has what it had before
)

// NotNoted is what is known of a change that has only begun.
const NotNoted = "outcome not noted"

// Note is the record of a change while it is made.
type Note struct {
	change Change
	begun  *host.Note
}

// Begin has the first command of the change that is made with the returned context note
// that it has begun. Without such a command nothing is noted.
func Begin(ctx context.Context, c Change) (context.Context, *Note) {
	c.Operator = cmp.Or(c.Operator, Operator())
	n := &Note{change: c}
	ctx, n.begun = host.WithNote(ctx, n.write(string(Begun)))
	return ctx, n
}

// End notes how the change ended. It gives a warning if that could not be noted, and
// nothing if the change was never begun.
func (n *Note) End(ctx context.Context, h host.Host, outcome Outcome, text string) (warning string) {
	if !n.begun.Sent() {
		return ""
	}
	n.change.Text = text
	if err := n.send(ctx, h, outcome); err != nil {
		return fmt.Sprintf("How this change ended is not noted on %s, so that the command history does not show it: %v",
			h.Name(), err)
	}
	return ""
}

// Add notes in one line what has no begin; c has its Outcome.
func Add(ctx context.Context, h host.Host, c Change) error {
	c.ID, c.Operator = rand.Text(), cmp.Or(c.Operator, Operator())
	return (&Note{change: c}).send(ctx, h, c.Outcome)
}

func (n *Note) send(ctx context.Context, h host.Host, outcome Outcome) error {
	// Also after Ctrl-C.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	_, err := h.Run(ctx, n.write(string(outcome)))
	return err
}

// Close notes the end of a change that ended with err, or was proven.
func (n *Note) Close(ctx context.Context, h host.Host, err error) (warning string) {
	if err != nil {
		return n.End(ctx, h, Failed, err.Error())
	}
	return n.End(ctx, h, Verified, "")
}

// write is the command that notes an event. It is not marked as one that changes the
// host: it changes no fact that is read of it, and all of them would be read anew.
func (n *Note) write(event string) shellcmd.Command {
	c := n.change
	fields := []string{"id=" + c.ID, "by=" + line(c.Operator), "what=" + c.What, "object=" + line(c.Object),
		"from=" + line(c.From), "to=" + line(c.To)}
	if c.Text != "" {
		fields = append(fields, "text="+line(c.Text))
	}
	file := "changes"
	if c.What == Benchmark {
		file = "benchmarks"
	}
	return shellcmd.Script("note-change", noteScript, inventory.StateDir, file, strconv.Itoa(limit), event,
		strings.Join(fields, "\t")).AsRoot().WithTimeout(endLimit)
}

var oneLine = strings.NewReplacer("\n", " ", "\r", " ", "\t", " ", "\x00", " ")

func line(s string) string {
	if len(s) > longest {
		s = s[:longest] + "…"
	}
	return strings.ToValidUTF8(oneLine.Replace(s), "?")
}

// Operator is who changes something, as it is noted on hosts: user, machine and process.
func Operator() string {
	name, machine := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		machine = h
	}
	return fmt.Sprintf("%s@%s pid %d", name, machine, os.Getpid())
}

// RootModule names a configuration and its state: the working directory, which is that of the root module, with the
// data directory and the workspace where they are chosen. Two with the same hosts differ in it.
func RootModule() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	if target, failed := filepath.EvalSymlinks(dir); failed == nil {
		dir = target
	}
	data, workspace := os.Getenv("TF_DATA_DIR"), os.Getenv("TF_WORKSPACE")
	if workspace == "" {
		file := filepath.Join(cmp.Or(data, ".terraform"), "environment")
		chosen, _ := os.ReadFile(file) //nolint:gosec // the engine's own folder
		workspace = strings.TrimSpace(string(chosen))
	}
	if data != "" {
		dir += " with data in " + data
	}
	if workspace != "" && workspace != "default" {
		dir += ", workspace " + workspace
	}
	return dir
}

// Parse gives the changes of the lines of the records, oldest first. Of each event the
// line has all that is known, but for that of an undo by the host. Damaged is the number of
// lines that are cut, or of an event that is not known: a change may be missing, or its end.
func Parse(lines []string) (noted []Change, damaged int) {
	var all []*Change
	byID := map[string]*Change{}
	for _, text := range lines {
		if strings.TrimSpace(text) == "" {
			continue
		}
		event, fields, ok := fieldsOf(text)
		if !ok {
			damaged++
			continue
		}
		c := byID[fields["id"]]
		if c == nil {
			c = &Change{ID: fields["id"], Time: fields["time"], Outcome: Begun, Text: NotNoted}
			byID[c.ID] = c
			all = append(all, c)
		}
		c.take(event, fields)
	}
	noted = make([]Change, len(all))
	for i, c := range all {
		noted[i] = *c
	}
	return noted, damaged
}

func (c *Change) take(event Outcome, fields map[string]string) {
	for key, to := range map[string]*string{"by": &c.Operator, "what": &c.What, "object": &c.Object, "from": &c.From,
		"to": &c.To} {
		*to = cmp.Or(fields[key], *to)
	}
	switch {
	case event == Begun: // and a later one comes of a command that was sent twice
	case c.Outcome == Undone:
		c.Text = cmp.Or(fields["text"], c.Text)
	case event == Undone && c.Outcome == Begun:
		c.Outcome, c.Text = Undone, cmp.Or(fields["text"], "by the host itself, as nobody had confirmed the change")
	case event == Undone:
		c.Outcome = Undone
	default:
		c.Outcome, c.Text = event, fields["text"]
	}
}

// fieldsOf reads one line.
func fieldsOf(text string) (event Outcome, fields map[string]string, ok bool) {
	parts := strings.Split(strings.TrimRight(text, "\r\n"), "\t")
	event = Outcome(parts[0])
	switch event {
	case Begun, Verified, Failed, Undone:
	default:
		return "", nil, false
	}
	if parts[len(parts)-1] != "." {
		return "", nil, false
	}
	fields = map[string]string{}
	for _, p := range parts[1 : len(parts)-1] {
		if key, value, found := strings.Cut(p, "="); found {
			fields[key] = value
		}
	}
	return event, fields, fields["id"] != ""
}
