package linktype

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstconfig"
)

// Apply sets the types of a card's ports, for the next boot and now,
// and returns what was read back. Errors are *safety.RefusedError, *Error,
// *NoCardError and those of the host.
func Apply(ctx context.Context, o *cards.Session, l Ask) (State, error) {
	l.PlannedPSID = "" // at apply, what runs is what counts
	var state State
	what := "set link types of card " + l.Card.ID()
	var look Look
	a, err := job.Begin(ctx, o, l.Card, what, &state.Did, func(ctx context.Context) (a cards.Assessment, err error) {
		if look, err = Read(ctx, l.Card); err != nil {
			return a, err
		}
		return Assess(ctx, o, l, look)
	})
	if err != nil {
		return state, err
	}
	if a.Verdict.Action != safety.ActionLinkTypes {
		return readBack(ctx, l, state.Did)
	}
	if !a.Verdict.Permits(safety.ActionLinkTypes, l.Card.ID()) {
		return state, &safety.RefusedError{What: what, Findings: a.Verdict.Findings}
	}
	// After the verdict, which has the better reasons where both speak.
	if found := checkSeen(l.Card.ID(), look.State, l.Before, l.Request.Ports); len(found) > 0 {
		return state, &safety.RefusedError{What: what, Findings: found}
	}
	return noted(ctx, o, l, look.State, func(ctx context.Context) (State, error) {
		// The setting for the next boot comes first: if the run ends in between, the next
		// boot is right.
		if err := makeTypes(ctx, o, l, look, a.Verdict.Activation, &state.Did); err != nil {
			return state, err
		}
		return readBack(ctx, l, state.Did)
	})
}

// readBack gives what the ports are after what was done.
func readBack(ctx context.Context, l Ask, did []string) (State, error) {
	now, err := Read(ctx, l.Card)
	if err != nil {
		return State{Did: did}, err
	}
	now.Did = did
	if now.Unanswered != "" {
		err = notReadBack(l.Card, now.State)
	}
	return now.State, err
}

// notReadBack is the error of types that were set and that nothing shows afterwards.
func notReadBack(c cards.Card, now State) error {
	return &cards.Error{
		Summary: "Unable to read back the link types of card " + c.ID(),
		Heading: "Unable to read back the link types of card " + c.ID(),
		What:    "The link types were set. Afterwards mstconfig did not say what the card's configuration has.",
		Means:   "What the ports will be after the next restart is not proven.",
		Check:   "Run the same command again. It reads the card, and sets what is not set.",
		Facts: []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}, {"Done", strings.Join(now.Did, " ")},
			{"Answer of mstconfig", now.Unanswered}},
	}
}

// makeTypes stores the types and makes them effective: by the driver where it can, else
// by the restart that the verdict allows.
func makeTypes(ctx context.Context, o *cards.Session, l Ask, look Look, how safety.Activation, did *[]string) error {
	// mlx4 takes a type while it runs. mlx5 reads its configuration at the reset of the chip only.
	if !decidesItself(look.at.Card) {
		if err := keep(ctx, o, l, look, did); err != nil {
			return err
		}
		return setInDriver(ctx, o, l, did)
	}
	goal := linkGoal(l.Card, look.at.Card.InFlash(), l.Request)
	// Not written again if it is stored: each set is a write of the card's flash.
	if goal.New = !covers(look.stored.Types.Or(nil), l.Request.Ports); goal.New {
		if err := writeConfig(ctx, o, l.Card, l.Request.Ports); err != nil {
			return err
		}
		*did = append(*did, "Stored the link types in card "+l.Card.ID()+" with mstconfig.")
	}
	return storedSince(ctx, l, activation.Run(ctx, o, l.Card, how, goal, did))
}

// linkGoal is reached when the kernel shows the types. The restart loads the flash that was
// read before, if it could be read.
func linkGoal(c cards.Card, before inventory.Flash, req safety.LinkTypeRequest) activation.Goal {
	want := req.Ports
	text := "link types " + linkText(want)
	reached := func(found *cards.Look) (bool, bool) {
		return typesReached(want, shownTypes(found.Snap, found.Card))
	}
	return activation.Goal{
		Loads: func(flash inventory.Flash) bool {
			return before.FW.IsZero() || flash.Firmware == before.Firmware && flash.GUIDs == before.GUIDs
		},
		Content: text, Text: text, Reached: reached, Consent: req.ManagementPath,
		Written: "The types are stored in the card", Title: "Link types of card " + c.ID() + " are stored",
	}
}

// typesReached reports whether the ports have the types that are wanted, and whether that is
// known: of a port that nothing shows it is not.
func typesReached(want map[int]ib.LinkType, shown map[int]string) (reached, known bool) {
	reached, known = true, true
	for port, t := range want {
		now, is := shown[port]
		reached, known = reached && ib.LinkType(now) == t, known && is
	}
	return reached, known
}

// keep writes the place that lasts over a reboot.
func keep(ctx context.Context, o *cards.Session, l Ask, look Look, did *[]string) error {
	// All ports: what is not named would be 0 in the parameter, which leaves the port to the firmware.
	types := wholeCard(l.Request.Ports, look.at.Card)
	switch look.StoredIn {
	case inCardConfig:
		if err := writeConfig(ctx, o, l.Card, types); err != nil {
			return err
		}
		*did = append(*did, "Stored the link types in card "+l.Card.ID()+" with mstconfig.")
		// An old module parameter would override the card; ours overrides the old one.
		if !isOverridden(look.places, types) {
			return nil
		}
	case "":
		return notStored(newError(l.Card, "nothing on this host keeps link types over a reboot: "+look.whyNot, nil))
	}
	if _, err := l.Card.Confirm(ctx, "store the link types of card "+l.Card.ID()); err != nil {
		return err
	}
	if err := l.Card.TypeStore.Keep(ctx, types); err != nil {
		e := newError(l.Card, "the setting for the next boot could not be stored", err)
		if kept := (*platform.KeptError)(nil); errors.As(err, &kept) {
			e.Facts = append(e.Facts, cards.Fact{"Edited file", kept.Said})
		}
		return notStored(e)
	}
	*did = append(*did, fmt.Sprintf("Stored the link types for the next boot of %s (%s).", l.Card.Host.Name(),
		look.places.Ours().Name))
	return nil
}

func writeConfig(ctx context.Context, o *cards.Session, c cards.Card, types map[int]ib.LinkType) error {
	cmd, err := mstconfig.SetLinkTypes(c.PCI, types)
	if err != nil {
		return notStored(newError(c, "the command of mstconfig could not be built", err))
	}
	if _, err = c.Confirm(ctx, "store the link types of card "+c.ID()); err != nil {
		return err
	}
	r, err := o.Exclusive(ctx, c.Host, c.PCI, cmd)
	var busy *cards.InUseError
	if errors.As(err, &busy) {
		return busy.Refusal("set link types of card " + c.ID())
	}
	if err != nil {
		return notStored(newError(c, "mstconfig failed", err))
	}
	applied, err := mstconfig.ParseSet(string(r.Stdout))
	if err != nil {
		return notStored(newError(c, "the answer of mstconfig was not understood", err))
	}
	if !applied {
		return notStored(newError(c, "mstconfig does not say that it applied the change: "+
			cards.Tail(string(r.Stdout), 500), nil))
	}
	return nil
}

// setNowScript writes the types into the driver, port 1 before port 2. On a
// card that cannot have two types at once the first of two changes fails with
// "Operation not supported" and is remembered by the driver; the second then
// changes both (Linux drivers/net/ethernet/mellanox/mlx4/main.c,
// mlx4_change_port_types). So a failure counts only if the outcome is wrong,
// which the read-back decides. A pair is a port and its type.
const setNowScript = `dir=$1
shift
while [ $# -ge 2 ]; do
  if ! printf '%s\n' "$2" >"$dir/mlx4_port$1"; then echo "port $1: writing $2 failed" >&2; fi
  shift 2
done
for f in "$dir"/mlx4_port[12]; do
  if [ -f "$f" ]; then printf '%s ' "${f##*/}"; cat "$f"; fi
done`

// Two minutes: the driver closes both ports, sets them and registers the card anew, all in the write.
func setNow(pci ib.PCIAddress, pairs []string) shellcmd.Command {
	args := append([]string{"/sys/bus/pci/devices/" + pci.String()}, pairs...)
	return shellcmd.Script("set-port-types", setNowScript, args...).AsRoot().Changes().WithTimeout(2 * time.Minute)
}

func setInDriver(ctx context.Context, o *cards.Session, l Ask, did *[]string) error {
	now, err := l.Card.Look(ctx)
	if err != nil {
		return err
	}
	var pairs, text []string
	for _, port := range sortedPorts(l.Request.Ports) {
		want := l.Request.Ports[port]
		p, ok := now.Card.Port(port)
		if !ok {
			continue
		}
		// What was asked for counts, not what is on the wire: "auto (ib)" is not "ib", and changes with the peer.
		if configured, _ := shownType(p.TypeNow); configured != want {
			pairs = append(pairs, strconv.Itoa(port), string(want))
			text = append(text, fmt.Sprintf("port %d from %s to %s", port, p.TypeNow, want))
		}
	}
	// A write of the present type changes nothing in the driver (6.1 to 7.3), and is not made.
	if len(pairs) == 0 {
		return nil
	}
	if _, err = l.Card.Confirm(ctx, "set link types of card "+l.Card.ID()); err != nil {
		return err
	}
	r, err := l.Card.Host.Run(ctx, setNow(l.Card.PCI, pairs))
	if err != nil {
		return newError(l.Card, "writing the types into the driver failed", err)
	}
	if err := waitFor(ctx, o, l, strings.TrimSpace(string(r.Stderr))); err != nil {
		return err
	}
	*did = append(*did, "Changed "+strings.Join(text, ", ")+" on card "+l.Card.ID()+".")
	return nil
}

// deviceTime is how long the kernel may take to load mlx4_ib by itself; a second is usual.
const deviceTime = 5 * time.Second

// awaitDevice waits for the RDMA device of a card that has an InfiniBand port now. The
// driver asks for the module mlx4_ib and does not wait for it (mlx4_request_modules in
// Linux drivers/net/ethernet/mellanox/mlx4/main.c). A host that does not load it is no
// error here: what needs the device loads the module, or says that it is not there.
func awaitDevice(ctx context.Context, o *cards.Session, l Ask) error {
	deadline := time.Now().Add(min(o.Settle, deviceTime))
	expected := slices.Contains(slices.Collect(maps.Values(l.Request.Ports)), ib.LinkTypeIB)
	for {
		now, err := l.Card.Look(ctx)
		if err != nil {
			return err
		}
		l.Card.Host.Invalidate() // udev may not have named the device that was read
		if now.Card.RDMADevice != "" || !expected || time.Now().After(deadline) {
			return nil
		}
		if err := o.Pause(ctx); err != nil {
			return err
		}
	}
}

// waitFor waits until the driver has registered its ports anew.
func waitFor(ctx context.Context, o *cards.Session, l Ask, said string) error {
	deadline := time.Now().Add(o.Settle)
	for {
		// Every interface of the card has gone and come, with another name or with none yet.
		l.Card.Host.Invalidate()
		now, err := l.Card.Look(ctx)
		if err != nil {
			return err
		}
		wrong := wrongTypes(l.Request.Ports, now.Card)
		if len(wrong) == 0 {
			return awaitDevice(ctx, o, l)
		}
		// The kernel has said no. To wait would not change that.
		if said != "" || time.Now().After(deadline) {
			e := newError(l.Card, "the driver did not take them: "+strings.Join(wrong, ", "), nil)
			e.Means = "The firmware of the card was not changed. The driver remembers a type that it refused, and applies it " +
				"as soon as a change of the other port makes it possible."
			e.Facts = append(e.Facts, cards.Fact{"Stderr", said})
			return e
		}
		if err := o.Pause(ctx); err != nil {
			return err
		}
	}
}

func wrongTypes(want map[int]ib.LinkType, card *inventory.Card) []string {
	var wrong []string
	for _, port := range sortedPorts(want) {
		p, ok := card.Port(port)
		if !ok {
			wrong = append(wrong, fmt.Sprintf("port %d is not there", port))
			continue
		}
		if configured, _ := shownType(p.TypeNow); configured != want[port] {
			wrong = append(wrong, fmt.Sprintf("port %d is %q instead of %q", port, p.TypeNow, want[port]))
		}
	}
	return wrong
}

// notStored is the error of types that could not be stored: the driver was not asked yet, so
// its log says nothing of it.
func notStored(e *cards.Error) error {
	e.Means += " The types of the ports were not switched."
	e.Check = "Mend what is named as the cause, and run apply again."
	return e
}

func newError(c cards.Card, what string, err error) *cards.Error {
	e := &cards.Error{
		Summary: "Unable to set link types of card " + c.ID(),
		What:    "The link types were not set as asked: " + what + ".",
		Means:   "The firmware of the card was not changed.",
		Check: "Look into the kernel log of the host: the driver says there why it refuses a type (Only same port types " +
			"supported, Requested port type is not supported).",
		Facts: []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}},
		Err:   err,
	}
	return cards.WithExit(e)
}
