// Package answer reads what scripts print that answer with more than a word. All of
// them do so in one format, with the same functions of sh.
//
// It must not know what an answer means.
package answer

import (
	_ "embed"
	"errors"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Functions are the functions with which a script answers; its first lines say how. They
// stand before the script.
//
//go:embed answer.sh
var Functions string

// The words of what is no fact.
const (
	Value  = "="    // the first line of a file
	Denied = "!"    // a file that is there and cannot be read
	File   = "file" // a text file
	Run    = "run"  // what a command printed, on both streams
)

// Item is one part of an answer.
type Item struct {
	Word   string // of a fact, or one of those above
	Name   string // what stands behind the word: the path of a file, the name of a command
	Text   string // the line of a value, the content of a file or a command's output
	Status int    // of a command
	Line   int    // of the answer on which it begins
	line   string
}

// Errorf returns an error about the line on which an item begins.
func (i Item) Errorf(format string, args ...any) error {
	return tool.Errorf(i.Line, i.line, format, args...)
}

// Read takes an answer apart and gives its items to take. An answer without its
// beginning, without its end, and a line that has no place in it are errors.
func Read(output string, take func(Item) error) error {
	var begun, ended bool
	var open *part // the section whose lines follow
	n := 0
	for line := range strings.Lines(output) {
		n++
		line = open.withoutEnd(line)
		if !begun {
			if line != "@begin 1" {
				return tool.Errorf(n, line, `want "@begin 1"`)
			}
			begun = true
			continue
		}
		if ended {
			return tool.Errorf(n, line, "a line behind the end")
		}
		i, whole, err := next(open, n, line)
		if err != nil {
			return err
		}
		open = nil
		switch {
		case !whole:
			open = i
		case i.Word == "end":
			ended = true
		default:
			if err = take(i.Item); err != nil {
				return err
			}
		}
	}
	if !ended {
		return errors.New("the answer is cut: it has no end mark")
	}
	return nil
}

// part is an item that is being read.
type part struct {
	Item
	text strings.Builder
}

// withoutEnd takes the line end away, of Windows too. In a file that is a change that somebody
// made.
func (i *part) withoutEnd(line string) string {
	line = strings.TrimSuffix(line, "\n")
	if i != nil && i.Word == File {
		return line
	}
	return strings.TrimRight(line, "\r")
}

// next reads a line, which may belong to an open section. whole reports whether the item
// that it is, or belongs to, is complete.
func next(open *part, n int, line string) (i *part, whole bool, err error) {
	if open != nil {
		whole, err = open.content(n, line)
		return open, whole, err
	}
	i = &part{Item: Item{Line: n, line: line}}
	if line == "" {
		return nil, false, i.Errorf("an empty line outside of a section")
	}
	switch i.Word, i.Name = line[:1], line[1:]; i.Word {
	case Denied:
		return i, true, nil
	case Value:
		var ok bool
		if i.Name, i.Text, ok = strings.Cut(i.Name, "\t"); !ok {
			return nil, false, i.Errorf("a value without its path")
		}
		return i, true, nil
	case "@":
		i.Word, i.Name, _ = strings.Cut(i.Name, " ")
		if i.Word == Run {
			err = i.run()
		}
		return i, i.Word != Run && i.Word != File, err
	}
	return nil, false, i.Errorf("a line that has no place here")
}

// run reads the status and the name of a command.
func (i *part) run() error {
	status, name, ok := strings.Cut(i.Name, "\t")
	code, err := strconv.Atoi(status)
	if !ok || err != nil {
		return i.Errorf("want a status and a name")
	}
	i.Name, i.Status = name, code
	return nil
}

// content reads a line of a section or its end.
func (i *part) content(n int, line string) (ended bool, err error) {
	text, ok := strings.CutPrefix(line, "|")
	switch {
	case ok:
		i.text.WriteString(text + "\n")
		return false, nil
	case line == "@.+":
		i.Text = strings.TrimSuffix(i.text.String(), "\n")
		return true, nil
	case line == "@.":
		i.Text = i.text.String()
		return true, nil
	}
	return false, tool.Errorf(n, line, "a line that does not belong to section %q", i.Name)
}
