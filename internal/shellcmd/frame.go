package shellcmd

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strconv"
)

// Frame marks where a command's output begins and ends. Text before the begin
// marker is the login shell's (a .bashrc that prints, a message of the day);
// output without the end marker is incomplete, whatever the session's exit
// status says.
type Frame struct{ nonce string }

// NewFrame returns a frame that no output can contain by accident or intent.
func NewFrame() Frame {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by the contract of crypto/rand
	return Frame{nonce: "tpi-" + hex.EncodeToString(b[:])}
}

// Marks reports whether a text has a mark of the frame: then something of the composed text
// has run.
func (f Frame) Marks(text []byte) bool { return bytes.Contains(text, []byte(f.nonce)) }

func (f Frame) begin() string              { return f.nonce + ":begin" }
func (f Frame) end() string                { return f.nonce + ":end" }
func (f Frame) sudoMark() string           { return f.nonce + ":sudo" }
func (f Frame) left() string               { return f.nonce + ":left" }
func (f Frame) delimiter(of string) string { return "EOF_" + of + "_" + f.nonce }

// Way is how a command that needed root got it, as its answer says.
type Way string

// The ways that an answer can name.
const (
	WayUnknown  Way = ""
	WayRoot     Way = viaRoot     // the session's user has uid 0
	WaySudo     Way = viaSudo     // sudo without a password
	WayPassword Way = viaPassword // sudo with the password
)

const (
	viaRoot     = "root"
	viaSudo     = "sudo"
	viaPassword = "password"
)

// Scanner takes the standard output of a composed text apart as it arrives. It
// is an io.Writer; what lies between the markers goes to Sink unchanged.
type Scanner struct {
	Frame Frame
	Sink  io.Writer

	began, ended bool
	status       int
	preamble     []byte
	tail         []byte // after begin: what may be the start of the end marker
}

// preambleLimit bounds what is kept of the text before the begin marker.
const preambleLimit = 64 << 10

// statusLimit bounds what may stand between the end marker and its line end.
const statusLimit = 16

// ErrEndless says that the end marker came with something else than a status.
var ErrEndless = errors.New("the end marker is not followed by a status and a line end")

// Write implements io.Writer.
func (s *Scanner) Write(p []byte) (int, error) {
	n := len(p)
	if !s.began {
		p = s.seekBegin(p)
	}
	if !s.began || s.ended {
		return n, nil
	}
	if err := s.pass(p); err != nil {
		return 0, err
	}
	return n, nil
}

// seekBegin looks for the begin marker and returns what follows it.
func (s *Scanner) seekBegin(p []byte) []byte {
	marker := []byte(s.Frame.begin() + "\n")
	from := max(0, len(s.preamble)-len(marker))
	s.preamble = append(s.preamble, p...)
	if i := bytes.Index(s.preamble[from:], marker); i >= 0 {
		rest := s.preamble[from+i+len(marker):]
		s.preamble = s.preamble[:from+i]
		s.began = true
		return rest
	}
	if over := len(s.preamble) - preambleLimit; over > 0 {
		s.preamble = append(s.preamble[:0], s.preamble[over:]...)
	}
	return nil
}

// pass hands on all that cannot be part of the end marker.
func (s *Scanner) pass(p []byte) error {
	marker := []byte(s.Frame.end() + " ")
	data := p
	if len(s.tail) > 0 {
		data = slices.Concat(s.tail, p)
		s.tail = nil
	}
	if i := bytes.Index(data, marker); i >= 0 {
		line, _, whole := bytes.Cut(data[i+len(marker):], []byte("\n"))
		if !whole && len(line) > statusLimit {
			return ErrEndless
		}
		if !whole {
			s.tail = append([]byte(nil), data[i:]...)
			return s.emit(data[:i])
		}
		if status, err := strconv.Atoi(string(line)); err == nil {
			s.status, s.ended = status, true
		}
		return s.emit(data[:i])
	}
	keep := partialSuffix(data, marker)
	s.tail = append([]byte(nil), data[len(data)-keep:]...)
	return s.emit(data[:len(data)-keep])
}

func (s *Scanner) emit(p []byte) error {
	if len(p) == 0 || s.Sink == nil {
		return nil
	}
	_, err := s.Sink.Write(p)
	return err
}

// partialSuffix returns the length of the longest end of data that begins marker.
func partialSuffix(data, marker []byte) int {
	for n := min(len(data), len(marker)-1); n > 0; n-- {
		if bytes.HasPrefix(marker, data[len(data)-n:]) {
			return n
		}
	}
	return 0
}

// Began reports whether the begin marker came: the command was started.
func (s *Scanner) Began() bool { return s.began }

// Ended reports whether the end marker came, and the command's exit status.
func (s *Scanner) Ended() (status int, ok bool) { return s.status, s.ended }

// Way returns how root was reached, or WayUnknown if the answer does not say.
func (s *Scanner) Way() Way {
	return Way(s.preambleValue(s.Frame.nonce + ":via "))
}

// Left returns the status with which the way to root ended, if the command was
// never started; 127 means that there is no sudo.
func (s *Scanner) Left() (status int, ok bool) {
	if s.began {
		return 0, false
	}
	status, err := strconv.Atoi(s.preambleValue(s.Frame.left() + " "))
	return status, err == nil
}

// InSudo reports whether sudo was started and has neither run the command nor ended.
func (s *Scanner) InSudo() bool {
	_, left := s.Left()
	return !s.began && !left && bytes.Contains(s.preamble, []byte(s.Frame.sudoMark()+"\n"))
}

// preambleValue returns the rest of the line of the preamble that holds mark. It need
// not begin the line: what the login shell printed may lack its newline.
func (s *Scanner) preambleValue(mark string) string {
	_, rest, ok := bytes.Cut(s.preamble, []byte(mark))
	if !ok {
		return ""
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(line)
}

// Preamble returns what came before the begin marker, our own reports included.
func (s *Scanner) Preamble() []byte { return s.preamble }

// TrimStderr returns the command's own part of what arrived on standard error,
// all of it if the command was never started, and whether it is complete.
func (f Frame) TrimStderr(stderr []byte) (own []byte, complete bool) {
	if _, after, ok := bytes.Cut(stderr, []byte(f.begin()+"\n")); ok {
		stderr = after
	}
	if before, _, ok := bytes.Cut(stderr, []byte(f.end()+"\n")); ok {
		return before, true
	}
	return stderr, false
}
