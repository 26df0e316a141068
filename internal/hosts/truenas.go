package hosts

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
)

// readTrueNAS reads the answers of the middleware. Its os-release is Debian's, so the
// middleware's client identifies the platform. If the middleware does not answer, Error
// says so, and the cards are read all the same.
func readTrueNAS(s *inventory.Snapshot, a *collect.Answer) error {
	if !a.Commands["midclt"] {
		return nil
	}
	s.OS.ID = "truenas"
	t := &inventory.TrueNAS{UdevRulesDirectory: a.Rules}
	s.TrueNAS = t
	for _, method := range slices.Sorted(maps.Keys(truenasReaders)) {
		run, ok := a.Runs["midclt "+method]
		if !ok {
			return in("midclt "+method, fmt.Errorf("no answer in the collection"))
		}
		if run.Status != 0 {
			t.Error = method + ": " + midclt.Messages(run.Output)
			noteUnknown(t, method)
			continue
		}
		if err := truenasReaders[method](t, run.Output); err != nil {
			return in("midclt "+method, err)
		}
	}
	s.OS.VersionID = t.Version
	s.OS.PrettyName = "TrueNAS " + t.Version
	return nil
}

// noteUnknown notes why a question has no answer.
func noteUnknown(t *inventory.TrueNAS, method string) {
	switch method {
	case "interface.has_pending_changes":
		t.PendingChanges = fact.Unknown[bool](t.Error)
	case "interface.checkin_waiting":
		t.CheckinWaiting = fact.Unknown[int](t.Error)
	}
}

var truenasReaders = map[string]func(*inventory.TrueNAS, string) error{
	"system.version": func(t *inventory.TrueNAS, out string) error {
		version := strings.TrimSpace(answerLine(out, versionForm))
		t.Version = strings.TrimPrefix(strings.TrimPrefix(version, "TrueNAS-"), "SCALE-")
		return nil
	},
	"interface.query":          func(t *inventory.TrueNAS, out string) error { return list(&t.Interfaces, out) },
	"initshutdownscript.query": func(t *inventory.TrueNAS, out string) error { return list(&t.InitScripts, out) },
	"tunable.query":            func(t *inventory.TrueNAS, out string) error { return list(&t.Tunables, out) },
	"system.advanced.config":   readAdvanced,
	"interface.has_pending_changes": func(t *inventory.TrueNAS, out string) error {
		pending, err := midclt.ParseBool([]byte(answerLine(out, boolForm)))
		t.PendingChanges = fact.Known(pending)
		return err
	},
	"interface.checkin_waiting": func(t *inventory.TrueNAS, out string) error {
		waiting, err := midclt.ParseWaiting([]byte(answerLine(out, waitingForm)))
		t.CheckinWaiting = fact.Known(waiting)
		return err
	},
}

var (
	versionForm = regexp.MustCompile(`^(TrueNAS-.*|[0-9]+\.[0-9].*)$`)
	boolForm    = regexp.MustCompile(`^([Tt]rue|False|false)$`)
	waitingForm = regexp.MustCompile(`^(null|None|[0-9]+)$`)
)

// answerLine is the line of an answer that has a form, among remarks of the client and its
// libraries; all of the answer if none has.
func answerLine(out string, form *regexp.Regexp) string {
	for _, line := range tool.Lines(out) {
		if form.MatchString(strings.TrimSpace(line)) {
			return line
		}
	}
	return out
}

// answerJSON is the value that begins in a line of its own; all of the answer if none does.
func answerJSON(out, begin string) []byte {
	at := strings.Index("\n"+out, "\n"+begin)
	if at < 0 {
		return []byte(out)
	}
	var value json.RawMessage
	if json.NewDecoder(strings.NewReader(out[at:])).Decode(&value) != nil {
		return []byte(out)
	}
	return value
}

// list keeps a JSON list as it is, after a look that it is one.
func list(to *[]byte, out string) error {
	if !strings.Contains(out, "[") {
		return fmt.Errorf("no JSON list in %q", firstLine(out))
	}
	text := answerJSON(out, "[")
	var entries []json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return err
	}
	*to = text
	return nil
}

// readAdvanced keeps the one setting that is used: the configuration holds the
// password of self-encrypting drives and tokens, which must not stay in memory
// or reach a message.
func readAdvanced(t *inventory.TrueNAS, out string) error {
	c, err := midclt.ParseAdvancedConfig(answerJSON(out, "{"))
	if err != nil {
		return fmt.Errorf("not the JSON of a configuration (%d bytes, not shown)", len(out))
	}
	kept, err := json.Marshal(c)
	t.AdvancedConfig = kept
	return err
}
