package hosts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
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
		t.Version = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(out), "TrueNAS-"), "SCALE-")
		return nil
	},
	"interface.query":          func(t *inventory.TrueNAS, out string) error { return list(&t.Interfaces, out) },
	"initshutdownscript.query": func(t *inventory.TrueNAS, out string) error { return list(&t.InitScripts, out) },
	"tunable.query":            func(t *inventory.TrueNAS, out string) error { return list(&t.Tunables, out) },
	"system.advanced.config":   readAdvanced,
	"interface.has_pending_changes": func(t *inventory.TrueNAS, out string) error {
		pending, err := midclt.ParseBool([]byte(out))
		t.PendingChanges = fact.Known(pending)
		return err
	},
	"interface.checkin_waiting": func(t *inventory.TrueNAS, out string) error {
		waiting, err := midclt.ParseWaiting([]byte(out))
		t.CheckinWaiting = fact.Known(waiting)
		return err
	},
}

// list keeps a JSON list as it is, after a look that it is one. Warnings of the
// client may stand before it.
func list(to *[]byte, out string) error {
	at := strings.Index(out, "[")
	if at < 0 {
		return fmt.Errorf("no JSON list in %q", firstLine(out))
	}
	text := []byte(strings.TrimSpace(out[at:]))
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
	c, err := midclt.ParseAdvancedConfig([]byte(out))
	if err != nil {
		return fmt.Errorf("not the JSON of a configuration (%d bytes, not shown)", len(out))
	}
	kept, err := json.Marshal(c)
	t.AdvancedConfig = kept
	return err
}
