package mstflint

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Question is one "(y/n)" of the tool.
type Question string

// The questions of a burn and of sg that are known, in the order in which the
// tool asks them on ConnectX-3.
const (
	QuestionROM         Question = "use the expansion ROM of the image"
	QuestionGUIDs       Question = "change GUIDs and MACs"
	QuestionOlder       Question = "the new version is older"
	QuestionSame        Question = "the new version is the same"
	QuestionPSID        Question = "replace the PSID"
	QuestionNotFailsafe Question = "burn without failsafe"
	QuestionUnknown     Question = "a question that is not known"
)

// questionMarks are the texts that precede each question, oldest known form.
var questionMarks = []struct {
	text     string
	question Question
}{
	{"The new FW version is older than", QuestionOlder},
	{"The new FW version is the same as", QuestionSame},
	{"You are about to replace current PSID", QuestionPSID},
	{"You are about to change the Guids/Macs/Uids", QuestionGUIDs},
	{"Burn process will not be failsafe", QuestionNotFailsafe},
	{"Use the ROM from the image file", QuestionROM},
}

// Exchange is a question that was asked.
type Exchange struct {
	Question Question
	// Answer is "y" or "n" as echoed; empty if the answer came from standard
	// input, which the tool does not echo.
	Answer string
}

// Step is one "Name - OK" of a write.
type Step struct {
	Name   string
	Result string // "OK", or what stood there
}

// Session is what a burn, an sg or the removal of a ROM printed, whole or cut.
type Session struct {
	CurrentFW, NewFW   string // versions announced before the write
	Asked              []Exchange
	PSIDFrom, PSIDTo   ib.PSID // announced by the PSID question or the refusal
	NewGUIDs, OldGUIDs ib.GUIDSet
	GUIDTable          bool // NewGUIDs and OldGUIDs were printed
	Steps              []Step
	Percent            int // last progress, -1 if none was printed
	Errors             []string
	Warnings           []string
	Infos              []string
	Notes              []string // "Note:" lines before a question
	Signal             int      // the tool said that it was ended by this signal

	pending Question
}

var (
	// promptText also ends the ROM question, which has a text of its own.
	promptText   = regexp.MustCompile(`\(y/n\) \[n\] :\s*`)
	versionText  = regexp.MustCompile(`^(Current FW version on flash|New FW version):\s+(\S+)$`)
	stepText     = regexp.MustCompile(`^(\S.*?)\s+-\s+(OK|[A-Z][A-Za-z ]*)$`)
	progressText = regexp.MustCompile(`^(\S.*?)\s+-\s+(\d{1,3})%`)
	guidRow      = regexp.MustCompile(`^(Node\s+GUID|Port1 GUID|Port2 GUID|Sys\.Image GUID|Port1 MAC|Port2 MAC):\s+([0-9a-f]+)\s+([0-9a-f]+)$`)
	psidChange   = regexp.MustCompile(`replace current PSID on flash - "([^"]*)" with a different PSID - "([^"]*)"`)
	psidMismatch = regexp.MustCompile(`PSID mismatch\. (?:The PSID on flash \(([^)]*)\) differs from the PSID in the given image \(([^)]*)\)|Device PSID \(([^)]*)\) differs from image PSID \(([^)]*)\))`)
	signalText   = regexp.MustCompile(`Received signal (\d+)\. Cleaning up`)
)

// ParseSession reads the output of Burn or SetGUIDs, standard output and error
// together. It never fails, because a write may be cut at any byte. The tool overwrites
// progress with carriage returns and prints errors right behind it. So both ends of
// line count, and errors are looked for anywhere.
func ParseSession(output string) Session {
	s := Session{Percent: -1}
	for _, line := range strings.FieldsFunc(output, func(r rune) bool { return r == '\r' || r == '\n' }) {
		s.line(strings.TrimSpace(line))
	}
	return s
}

func (s *Session) line(text string) {
	// A prompt ends without a line end if the answer comes from standard
	// input: what follows it is a line of its own.
	if at := promptText.FindStringIndex(text); at != nil {
		s.context(text[:at[0]])
		s.prompt(text[at[1]:])
		return
	}
	if at := strings.Index(text, "-E- "); at >= 0 {
		if at > 0 {
			s.line(strings.TrimSpace(text[:at]))
		}
		s.fail(text[at:])
		return
	}
	s.context(text)
	s.facts(text)
}

func (s *Session) prompt(rest string) {
	asked := Exchange{Question: s.pending}
	asked.Question = cmp.Or(asked.Question, QuestionUnknown)
	s.pending = ""
	rest = strings.TrimSpace(rest)
	if word, after, _ := strings.Cut(rest, " "); word == "y" || word == "n" {
		asked.Answer, rest = word, strings.TrimSpace(after)
	}
	s.Asked = append(s.Asked, asked)
	if rest != "" {
		s.line(rest)
	}
}

// context remembers what the next question is about.
func (s *Session) context(text string) {
	for _, m := range questionMarks {
		if strings.Contains(text, m.text) {
			s.pending = m.question
		}
	}
	if m := psidChange.FindStringSubmatch(text); m != nil {
		s.PSIDFrom, s.PSIDTo = ib.PSID(m[1]), ib.PSID(m[2])
	}
}

// fail splits errors that the tool glued together.
func (s *Session) fail(text string) {
	for part := range strings.SplitSeq(text, "-E- ") {
		if part = strings.TrimSpace(part); part != "" {
			s.Errors = append(s.Errors, part)
		}
	}
	if m := psidMismatch.FindStringSubmatch(text); m != nil {
		s.PSIDFrom, s.PSIDTo = ib.PSID(m[1]+m[3]), ib.PSID(m[2]+m[4])
	}
}

func (s *Session) facts(text string) {
	switch {
	case strings.HasPrefix(text, "-W- "):
		s.Warnings = append(s.Warnings, text[len("-W- "):])
	case strings.HasPrefix(text, "-I- "):
		s.Infos = append(s.Infos, text[len("-I- "):])
	case strings.HasPrefix(text, "FATAL"), strings.HasPrefix(text, "Segmentation fault"), strings.HasPrefix(text,
		"Bus error"):
		s.Errors = append(s.Errors, text)
	case strings.HasPrefix(text, "Note: "):
		s.Notes = append(s.Notes, text[len("Note: "):])
	default:
		s.values(text)
	}
}

func (s *Session) values(text string) {
	if m := versionText.FindStringSubmatch(text); m != nil {
		if m[1] == "New FW version" {
			s.NewFW = m[2]
		} else {
			s.CurrentFW = m[2]
		}
		return
	}
	if m := guidRow.FindStringSubmatch(text); m != nil {
		s.guids(m[1], m[2], m[3])
		return
	}
	if m := signalText.FindStringSubmatch(text); m != nil {
		// Digits only, by the expression.
		s.Signal, _ = strconv.Atoi(m[1])
		return
	}
	if m := progressText.FindStringSubmatch(text); m != nil {
		s.Percent, _ = strconv.Atoi(m[2])
		return
	}
	if m := stepText.FindStringSubmatch(text); m != nil {
		s.Steps = append(s.Steps, Step{Name: m[1], Result: m[2]})
	}
}

func (s *Session) guids(row, newValue, oldValue string) {
	for _, column := range []struct {
		set   *ib.GUIDSet
		value string
	}{{&s.NewGUIDs, newValue}, {&s.OldGUIDs, oldValue}} {
		if strings.HasSuffix(row, "MAC") {
			mac, err := parseMAC(column.value)
			if err != nil {
				continue
			}
			if row == "Port1 MAC" {
				column.set.MAC1 = mac
			} else {
				column.set.MAC2 = mac
			}
			continue
		}
		guid, err := ib.ParseGUID(column.value)
		if err != nil {
			continue
		}
		switch {
		case strings.HasPrefix(row, "Node"):
			column.set.Node = guid
		case strings.HasPrefix(row, "Port1"):
			column.set.Port1 = guid
		case strings.HasPrefix(row, "Port2"):
			column.set.Port2 = guid
		default:
			column.set.SystemImage = guid
		}
	}
	s.GUIDTable = true
}
