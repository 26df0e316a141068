package change

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// keyLogLines are enough for the log of one start.
const keyLogLines = 1000

// putBackTime bounds the way back, which begins also after the operation has run out of time.
const putBackTime = 2 * time.Minute

// writeKeys changes the keys of a fabric. If the instance then neither rules the fabric nor stands by, it gets back
// what it had.
func writeKeys(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request, o Options) (Result, error) {
	// What opensm logged before would else be read as the answer to the new keys.
	if err := run(ctx, h, tool.SetAsideLog(l.Port)); err != nil {
		return Result{}, err
	}
	r, err := writeAll(ctx, h, l, d, o)
	if err == nil {
		return r, nil
	}
	// A fabric with half of its keys changed cannot wait for the next run.
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), putBackTime)
	defer cancel()
	failed := fmt.Errorf("%s: the keys of subnet manager %s were not changed: %w", h.Name(), l.Port, err)
	how, err := putBack(back, h, l, d, o)
	if err != nil {
		return r, fmt.Errorf("%w. The keys that it had may not be back: %w. Look at %s, and whether opensm runs", failed, err,
			l.ConfPath)
	}
	if !l.Managed && l.Stopped() {
		r.Changed = false // nothing is left of it
	}
	return r, fmt.Errorf("%w. %s", failed, how)
}

// putBack restores the keys that an instance had, and says what runs now. One that did not run is removed again: with
// keys that do not fit it would compete with the master.
func putBack(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request, o Options) (string, error) {
	now, err := renew(ctx, h, l)
	if err != nil {
		return "", err
	}
	if !l.Managed && l.Stopped() {
		if !now.Managed {
			return "Nothing was started", nil
		}
		_, err = stop(ctx, h, now)
		return "It did not run before, and was removed again", err
	}
	d.Keys = l.FabricKeys
	if err = run(ctx, h, tool.SetAsideLog(l.Port)); err != nil {
		return "", err
	}
	if _, err = writeFiles(ctx, h, now, d); err != nil {
		return "", err
	}
	if err = run(ctx, h, startCommands(now, false)...); err != nil {
		return "", err
	}
	return "It runs with the keys that it had", proveKeys(ctx, h, l, o)
}

// forgetKeys are commands for an instance that starts while another subnet manager rules: the ports have the keys of
// that one already, and the cache of this one may be older.
func forgetKeys(l *found.Look, d opensm.Request) []shellcmd.Command {
	if !judge.ChangesKeys(l, d) || l.SMLID == 0 || l.SMLID == l.LID {
		return nil
	}
	forget := []shellcmd.Command{coreutils.RemoveFile(tool.KeyCache)}
	if fact.Yes(l.Active) {
		// Stopped first: a running opensm writes its cache anew.
		forget = append([]shellcmd.Command{systemctl.Stop(l.Unit)}, forget...)
	}
	return forget
}

// proveKeys waits until the log of an instance that was started anew says that it has set up the whole fabric, or
// found the master and stands by. The ports would look served also if their M_Key kept it out.
func proveKeys(ctx context.Context, h *hosts.Host, l *found.Look, o Options) error {
	begin, deadline := time.Now(), proofEnd(ctx, o.ProofTimeout)
	for {
		_, out, err := ask(ctx, h, tool.Tail(l.Port, keyLogLines))
		if err != nil {
			return err
		}
		log, state := tool.ParseLog(out), ""
		if n := len(log.States); n > 0 {
			state = log.States[n-1]
		}
		switch {
		// A master goes first: the others do not have its new key yet.
		case log.OtherKey && !l.Master():
			return errors.New("another subnet manager of the fabric has another sm_key, and they ignore each other")
		// After the keys were found wrong: opensm says MASTER before it has reached every port.
		case state == "STANDBY", state == "MASTER" && log.SubnetUp:
			return nil
		case state == "MASTER" && log.UnknownKey:
			return errors.New("ports of the fabric have an M_Key that opensm does not know")
		case time.Now().After(deadline):
			return fmt.Errorf("after %s opensm has not set up all ports, as if some had another M_Key or did not answer. Look "+
				"for ERR in its log", time.Since(begin).Round(time.Second))
		}
		if err := poll.Pause(ctx, o.Poll); err != nil {
			return err
		}
	}
}
