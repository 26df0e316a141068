package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// Keeps reports whether an object whose hosts failed in this way stays as the state has it. A
// host that refuses a key, or shows another one, is not down: somebody has to look.
func (d *Data) Keeps(lost map[string]error) bool {
	for name, err := range lost {
		if !d.Hosts[name].Keep || !hosts.IsAway(err) {
			return false
		}
	}
	return len(lost) > 0
}

// noteUnseen takes the hosts of lost that the walk goes on without into the warning. It gives
// the others.
func (d *Data) noteUnseen(lost map[string]error) (rest map[string]error) {
	rest = map[string]error{}
	d.unseen.mu.Lock()
	defer d.unseen.mu.Unlock()
	for name, err := range lost {
		switch {
		case !d.Keeps(map[string]error{name: err}):
			rest[name] = err
		case !d.unseen.told[name]:
			if d.unseen.reason == nil {
				d.unseen.reason, d.unseen.told = map[string]error{}, map[string]bool{}
			}
			d.unseen.reason[name] = err
		}
	}
	return rest
}

// SeekUnseen asks all hosts that the walk can go on without, so that one warning names all that
// are down. It costs no more than the wait for the first of them.
func (d *Data) SeekUnseen(ctx context.Context, lost map[string]error) {
	var names []string
	for name, cfg := range d.Hosts {
		if cfg.Keep && !cfg.Pending {
			names = append(names, name)
		}
	}
	d.SnapshotsOf(ctx, names)
	d.noteUnseen(lost) // last, or another request would tell of this one alone
}

// TellUnseen gives a warning that names the hosts which no other one has named; ok is false
// if there are none.
func (d *Data) TellUnseen() (summary, detail string, ok bool) {
	d.unseen.mu.Lock()
	defer d.unseen.mu.Unlock()
	if len(d.unseen.reason) == 0 {
		return "", "", false
	}
	names := slices.Sorted(maps.Keys(d.unseen.reason))
	reasons := make([]string, len(names))
	for i, name := range names {
		reasons[i] = name + ": " + reasonOf(d.unseen.reason[name])
		d.unseen.told[name] = true
	}
	clear(d.unseen.reason)
	detail = unseenDetail + diagnostic.GoneForGood + "\n\n" + strings.Join(reasons, "\n")
	return "Not seen: " + allNames("host", names), detail, true
}

const unseenDetail = "A host that did not answer may have been changed: the state keeps what was read last. The " +
	"other hosts are planned. The apply refuses what this plan changes on a host that was not seen.\n\n" +
	"Its cards are not compared with others, and two cards with one GUID make a fabric unusable. Start the host and " +
	"plan again before you write GUIDs, or compare them by hand.\n\n"

// reasonOf says in one line why a host was not seen.
func reasonOf(err error) string {
	var lost *host.UnreachableError
	if errors.As(err, &lost) {
		return diagnostic.Line(fmt.Sprintf("%s %s: %v", lost.Op, lost.Address, lost.Err))
	}
	return diagnostic.Line(err.Error())
}

func allNames(kind string, names []string) string {
	if len(names) == 1 {
		return kind + " " + names[0]
	}
	return kind + "s " + strings.Join(names, ", ")
}
