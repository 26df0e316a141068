package activation

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
)

// named is a host that has nothing but a name.
type named struct{ cards.Host }

func (named) Name() string { return "intel9" }

// TestRestartError_says_the_failure_first holds that a restart that failed behind a
// burn is not told as a burn that failed.
func TestRestartError_says_the_failure_first(t *testing.T) {
	t.Parallel()
	c := cards.Card{Host: named{}, PCI: ib.MustParsePCIAddress("0000:01:00.0")}
	g := Goal{Title: "Firmware of card " + c.ID() + " is burned", Text: "MT_1 2.42.5000"}
	lost := errors.New("no route to host")
	for _, x := range []struct {
		err    error
		starts string
		says   []string
		not    string
	}{
		{&reboot.Error{Host: "intel9", Step: reboot.StepReturn, Elapsed: 4 * time.Second, Err: lost},
			"The restart of host intel9 failed after 4s in this step: waiting for the host to answer with a new boot id. The restart was asked for",
			[]string{"What the card runs now is not known", "Run the same command again when the host answers"}, "still runs"},
		{&reboot.Error{Host: "intel9", Step: reboot.StepDrain, Err: lost},
			"The restart of host intel9 failed after 0s in this step: running a drain command. The host was not restarted.",
			[]string{"The card still runs what it started with"}, "not known"},
		{&reboot.Error{Host: "intel9", Step: reboot.StepDrain, Err: &host.UnreachableError{Host: "intel9"}},
			"The restart of host intel9 failed after 0s in this step: running a drain command. No request for a restart has " +
				"reached the host. The connection broke: the host may have restarted by itself, or lost power.",
			[]string{"What the card runs now is not known"}, "was not restarted"},
		{&reboot.Error{Host: "intel9", Step: reboot.StepReturn, Unresumed: []string{"systemctl start nfs-server"},
			Err: lost}, "The restart of host intel9 failed after 0s in this step: waiting for the host",
			[]string{"may still run, or were not run. Wait until none of them runs. Then run on the host, as root, those that have not " +
				"ended well. A later apply runs them only if it drains the host again:\n\n    systemctl start nfs-server\n\nRun the same command again"}, "still runs"},
		{&reboot.Error{Host: "intel9", Step: reboot.StepReturn, LastState: "still the old boot 1", Err: lost,
			Unresumed: []string{"touch two"}},
			"The restart of host intel9 failed after 0s in this step: waiting for the host to answer with a new boot id. The host " +
				"never went down.",
			[]string{"The card still runs what it started with", "`systemd-inhibit --list`",
				"Drain commands, if there are any, ran before the restart was asked for.", "The resume commands were not run. Find " +
					"out why the host does not restart, and cancel the restart if you do not want it."}, "when the host answers"},
		{&reboot.Error{Host: "intel9", Step: reboot.StepReturn, LastState: "still the old boot 1", Err: context.Canceled},
			"The restart of host intel9 failed after 0s in this step: waiting for the host to answer with a new boot id. The " +
				"restart was asked for and nothing was done after that.", nil, "systemd-inhibit"},
		{&reboot.Error{Host: "intel9", Step: reboot.StepResume, Unresumed: []string{"false", "touch two"}, Err: lost},
			"The host was restarted and has finished starting. A resume command failed then.",
			[]string{"the card should run MT_1 2.42.5000. The next plan reads it", "only if it drains the host again:\n\n    false\n" +
				"    touch two\n\nThen plan again."}, "not known"},
		{&reboot.Error{Host: "intel9", Step: reboot.StepDrain, Undrained: "sleep 999", Unresumed: []string{"touch two"},
			Err: &host.UnreachableError{Op: host.OpRun, MayHaveRun: true, Limit: "15m (reboot.timeout)"}},
			"The restart of host intel9 failed after 0s in this step: running a drain command. The command did not end within " +
				"15m (reboot.timeout) and may still run. The host was not restarted. Raise that limit if the command needs more time.",
			[]string{"The card still runs what it started with", "so the resume commands were not run:\n\n    sleep 999\n\nWait until " +
				"it has ended. Then run the resume commands", "\n\n    touch two\n\nFix what"}, "connection"},
		{&reboot.Error{Host: "intel9", Step: reboot.StepDrain, Undrained: "sleep 999",
			Err: &host.UnreachableError{Op: host.OpRun, MayHaveRun: true, Err: context.Canceled}},
			"The restart of host intel9 failed after 0s in this step: running a drain command. The apply was interrupted while a " +
				"drain command ran. The host was not restarted.",
			[]string{"The card still runs", "Wait until it has ended:\n\n    sleep 999\n\nFix what"}, "connection"},
		{lost, "The restart of host intel9 failed.", []string{"What the card runs now is not known"}, "still runs"},
	} {
		e := restartError(c, "boot", g, x.err)
		want := "Firmware of card intel9/0000:01:00.0 is burned; the restart failed"
		if step := (*reboot.Error)(nil); errors.As(x.err, &step) && step.Step == reboot.StepResume {
			want = "Host intel9 is restarted; a resume command failed after that"
		}
		if e.Title() != want {
			t.Errorf("title %q, want %q", e.Title(), want)
		}
		text := e.Explain()
		if !strings.HasPrefix(text, x.starts) || strings.Contains(text, x.not) {
			t.Errorf("detail, which should begin with %q and not hold %q:\n%s", x.starts, x.not, text)
		}
		for _, want := range append(x.says, "The flash is written and verified") {
			if !strings.Contains(text, want) {
				t.Errorf("lacks %q:\n%s", want, text)
			}
		}
	}
}

// TestGoalError_says_that_somebody_else_wrote: another apply wrote the flash between the request
// for the restart and the restart. No power cycle helps then.
func TestGoalError_says_that_somebody_else_wrote(t *testing.T) {
	t.Parallel()
	c := cards.Card{Host: named{}, PCI: ib.MustParsePCIAddress("0000:01:00.0")}
	for held, says := range map[bool]string{true: "Switch the machine off and on again", false: "Find out who else writes"} {
		g := Goal{Text: "MT_1 2.42.5000", Loads: func(inventory.Flash) bool { return held }}
		card := &inventory.Card{PCI: c.PCI, Flash: &inventory.Flash{Firmware: ib.Firmware{PSID: "MT_2"}}}
		var e *cards.Error
		if err := goalError(c, &cards.Look{Snap: &inventory.Snapshot{}, Card: card}, g, true, false, nil); !errors.As(err, &e) {
			t.Fatal(err)
		}
		if text := e.Explain(); !strings.Contains(text, says) || held == strings.Contains(text, "it holds MT_2") {
			t.Errorf("held %t:\n%s", held, text)
		}
	}
}

// A unit may be seen to run a moment before its end is read: what the shell noted of a signal counts.
func TestReset_cutOff(t *testing.T) {
	for _, c := range []struct {
		reset reset
		want  bool
	}{
		{reset{begun: true, exit: "137"}, true}, {reset{begun: true, runs: true, exit: "137"}, true},
		{reset{begun: true}, true}, {reset{begun: true, runs: true}, false}, {reset{begun: true, exit: "1"}, false},
		{reset{exit: "137"}, false},
	} {
		if got := c.reset.cutOff(); got != c.want {
			t.Errorf("%+v: %v", c.reset, got)
		}
	}
}
