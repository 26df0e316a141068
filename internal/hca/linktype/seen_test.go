package linktype

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// A port that somebody has switched after the plan is not switched back, and what was stored
// after it is not replaced, unless it is what is asked for.
func TestCheckSeen(t *testing.T) {
	t.Parallel()
	state := func(now1, stored1, now2, stored2 ib.LinkType) State {
		return State{Boot: "one", Ports: map[int]Port{1: {Port: 1, Configured: now1, Persistent: stored1},
			2: {Port: 2, Configured: now2, Persistent: stored2}}}
	}
	const ibType, eth, auto = ib.LinkTypeIB, ib.LinkTypeETH, ib.LinkTypeAuto
	before := state(ibType, ibType, eth, eth)
	restarted, silent := state(eth, eth, eth, eth), state(ibType, eth, eth, eth)
	restarted.Boot, silent.Unanswered = "two", "busy"
	both, second := map[int]ib.LinkType{1: ibType, 2: ibType}, map[int]ib.LinkType{2: ibType}
	for name, tt := range map[string]struct {
		now     State
		want    map[int]ib.LinkType
		changed string
	}{
		"nothing":                       {before, both, ""},
		"switched":                      {state(eth, ibType, eth, eth), both, "port 1 was ib and is eth"},
		"switched to what is asked for": {state(ibType, ibType, ibType, eth), both, ""},
		"switched, and not asked for":   {state(eth, ibType, eth, eth), second, ""},
		"stored": {state(ibType, auto, eth, eth), both,
			"port 1 had ib stored for the next boot and has auto"},
		"stored, and not asked for":   {state(ibType, auto, eth, eth), second, "port 1 had ib stored"},
		"stored what is asked for":    {state(ibType, ibType, eth, ibType), both, ""},
		"no longer stored":            {state(ibType, "", eth, eth), both, ""},
		"restarted":                   {restarted, both, ""},
		"mstconfig does not answer":   {silent, both, ""},
		"driver not loaded":           {State{Boot: "one"}, both, ""},
		"switched, driver's own auto": {state(auto, ibType, eth, eth), both, "port 1 was ib and is auto"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(SeenOf(before)) // as it is kept beside a state
			var seen Seen
			if err != nil || json.Unmarshal(text, &seen) != nil {
				t.Fatal(err)
			}
			found := checkSeen("intel9/0000:01:00.0", tt.now, &seen, tt.want)
			if tt.changed == "" && len(found) > 0 || tt.changed != "" && (len(found) != 1 || found[0].Rule.Code != "HO019" ||
				!strings.Contains(found[0].Evidence, tt.changed)) {
				t.Errorf("got %v", found)
			}
			if found := checkSeen("x", tt.now, nil, tt.want); len(found) > 0 {
				t.Errorf("of a new object: %v", found)
			}
		})
	}
}

// A plan has said of a port that its type is stored already, or that it runs already, and that the
// apply does only the other half. Who takes the first half back after the plan is not overruled.
func TestCheckSeen_takenBack(t *testing.T) {
	t.Parallel()
	const ibType, eth = ib.LinkTypeIB, ib.LinkTypeETH
	one := func(now, stored, written ib.LinkType) State {
		return State{Boot: "one", Ports: map[int]Port{1: {Port: 1, Configured: now, Persistent: stored, Written: written}}}
	}
	for name, tt := range map[string]struct {
		before, now State
		port        int // that is to be Ethernet
		changed     string
	}{
		"stored":               {one(ibType, eth, ""), one(ibType, ibType, ""), 1, "had eth stored"},
		"not asked for":        {one(ibType, eth, ""), one(ibType, ibType, ""), 2, ""},
		"not in the RAM disk":  {one(ibType, ibType, ibType), one(ibType, "", "auto"), 1, "and has auto"},
		"RAM disk is older":    {one(ibType, ibType, ibType), one(ibType, "", ibType), 1, ""},
		"RAM disk was rebuilt": {one(ibType, "", "auto"), one(ibType, "", "auto"), 1, ""},
		"switched":             {one(eth, ibType, ""), one(ibType, ibType, ""), 1, "was eth and is ib"},
	} {
		seen := SeenOf(tt.before)
		found := checkSeen("x", tt.now, &seen, map[int]ib.LinkType{tt.port: eth})
		if tt.changed == "" && len(found) > 0 ||
			tt.changed != "" && (len(found) != 1 || !strings.Contains(found[0].Evidence, tt.changed)) {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// A note of the history says what is stored, and where, if that changes too.
func TestWords(t *testing.T) {
	t.Parallel()
	want := map[int]ib.LinkType{1: ib.LinkTypeIB}
	port := func(stored ib.LinkType) State {
		return State{StoredIn: "modprobe.d", Ports: map[int]Port{1: {Shown: "ib", Configured: "ib", Persistent: stored}}}
	}
	unanswered := port("")
	unanswered.Unanswered = "busy"
	for name, tt := range map[string]struct {
		before   State
		from, to string
	}{
		"kept":       {port("ib"), "port 1 ib", "port 1 ib"},
		"not stored": {port(""), "port 1 ib (not stored)", "port 1 ib, stored in modprobe.d"},
		"otherwise":  {port("eth"), "port 1 ib (eth from the next restart)", "port 1 ib, stored in modprobe.d"},
		"not known":  {unanswered, "port 1 ib", "port 1 ib"},
	} {
		if from, to := tt.before.words(want), tt.before.wanted(want); from != tt.from || to != tt.to {
			t.Errorf("%s: from %q to %q", name, from, to)
		}
	}
}
