package change

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sminfo"
)

// discoverTimeout bounds the walk over a fabric; 648 adapters take half a second.
const discoverTimeout = time.Minute

// duplicatePort is how libibnetdisc complains, in all releases from 1.5 on.
var duplicatePort = regexp.MustCompile(`Duplicate Port: Port with guid (0x[0-9a-f]+) already exists`)

// Survey asks the fabric through a port: its subnet managers, or, where none
// answers, whether something will keep one from working. It costs up to three
// round trips and is made when something is to change. A program that fails is no
// error: what it should have told is unknown in the view, with the reason.
func Survey(ctx context.Context, h host.Host, l *found.Look) (found.View, error) {
	if later := l.Unready(); later != "" {
		return found.View{NotReady: later}, nil
	}
	switch {
	case l.FabricKeys.Protection >= judge.Closed:
		why := "the fabric answers nobody without its M_Key"
		return found.View{Ruled: fact.Unknown[bool](why), Listed: fact.Unknown[bool](why),
			Duplicate: fact.Known[[]ib.GUID](nil)}, nil
	case l.Physical == "":
		why := "the physical state of the port could not be read"
		return found.View{Ruled: fact.Unknown[bool](why), Listed: fact.Unknown[bool](why),
			Duplicate: fact.Unknown[[]ib.GUID](why)}, nil
	case l.Physical != "LinkUp": // there is no fabric at this port
		return found.View{Ruled: fact.Known(false), Listed: fact.Known(true),
			Duplicate: fact.Known[[]ib.GUID](nil)}, nil
	}
	v := found.View{Listed: fact.Known(true), Duplicate: fact.Known[[]ib.GUID](nil)}
	status, out, err := ask(ctx, h, sminfo.Query(l.Device, l.Number))
	if err != nil {
		return v, err
	}
	readMaster(&v, status, out, l.PortState)
	// Only then: where a master rules, opensm has walked the fabric itself.
	if !fact.Yes(v.Ruled) {
		v.Duplicate, err = findDuplicates(ctx, h, l.Device, l.Number)
		return v, err
	}
	err = listManagers(ctx, h, l, &v)
	return v, err
}

// readMaster reads the answer of sminfo.
func readMaster(v *found.View, status int, out string, p found.PortState) {
	info, err := sminfo.Parse(out)
	switch {
	case status == 0 && err == nil:
		v.Master = saquery.Manager{LID: info.LID, GUID: info.GUID, Priority: info.Priority, State: int(info.State)}
		v.Managers = []saquery.Manager{v.Master}
		// One that is discovering loops over a duplicate GUID, or has just begun.
		v.Ruled = fact.Known(info.State == sminfo.Master)
	case status == 0:
		v.Ruled = fact.Unknown[bool](fmt.Sprintf("sminfo ended well, and its answer was not understood: %v", err))
	case isUnmanaged(out, p):
		v.Ruled = fact.Known(false)
		if p.SMLID != p.LID && sminfo.NoneAtLID(out) {
			v.Listed = fact.Unknown[bool](fmt.Sprintf("LID %d has no subnet manager any more, so nobody can say whether a "+
				"standby is about to take over", p.SMLID))
		}
	default:
		v.Ruled = fact.Unknown[bool](sminfo.Failure(status, out))
	}
}

// isUnmanaged reports whether it is proven that the fabric has no subnet manager. Either the
// port at the SM LID says so, or the kernel shows no SM LID and the port holds no manager,
// or the SM LID is the port's own, left by a manager that ran on it.
func isUnmanaged(out string, p found.PortState) bool {
	switch {
	case p.SMLID == 0:
		return sminfo.NoManager(out)
	case p.HasPlaceholderLID(), p.SMLID == p.LID && fact.No(p.IsSM):
		return sminfo.NoManager(out) || sminfo.NoAnswer(out)
	}
	return sminfo.NoneAtLID(out)
}

// listManagers asks the administrator of the fabric for all managers.
func listManagers(ctx context.Context, h host.Host, l *found.Look, v *found.View) error {
	status, out, err := ask(ctx, h, saquery.Managers(l.Device, l.Number))
	if err != nil {
		return err
	}
	all, err := saquery.ParseManagers(out)
	switch {
	case status != 0:
		v.Listed = fact.Unknown[bool](describeFailure("saquery SMIR", status, out))
		return nil
	case err != nil:
		v.Listed = fact.Unknown[bool](fmt.Sprintf("the answer of saquery SMIR was not understood: %v", err))
		return nil
	}
	// The list may be empty: then only the answer to sminfo counts.
	if !slices.ContainsFunc(all, func(m saquery.Manager) bool { return m.GUID == v.Master.GUID }) {
		all = append(all, v.Master)
	}
	v.Managers = all
	return nil
}

// findDuplicates walks the fabric without a subnet manager; libibnetdisc complains
// of a GUID that it meets twice.
func findDuplicates(ctx context.Context, h host.Host, device string, port int) (fact.Of[[]ib.GUID], error) {
	cmd := shellcmd.New("ibnetdiscover", "-C", device, "-P", strconv.Itoa(port)).AsRoot().WithTimeout(discoverTimeout)
	status, out, err := ask(ctx, h, cmd)
	if err != nil {
		return fact.Unknown[[]ib.GUID](err.Error()), err
	}
	var all []ib.GUID
	for _, m := range duplicatePort.FindAllStringSubmatch(out, -1) {
		if g, parseErr := ib.ParseGUID(m[1]); parseErr == nil && !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	switch {
	case len(all) > 0: // also of a walk that did not come to its end
		return fact.Known(all), nil
	case status != 0:
		return fact.Unknown[[]ib.GUID](describeFailure("ibnetdiscover", status, out)), nil
	case !strings.Contains(out, "# Initiated from node "):
		return fact.Unknown[[]ib.GUID]("ibnetdiscover ended well, and printed no topology"), nil
	}
	return fact.Known(all), nil
}

// describeFailure is one sentence on a program that failed.
func describeFailure(name string, status int, out string) string {
	if status == 127 {
		return name + " could not be started: it is not on the PATH of the host"
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return fmt.Sprintf("%s ended with status %d: %s", name, status, strings.TrimSpace(lines[len(lines)-1]))
}

// ask returns the status of a program and what it printed on both streams: the
// programs of infiniband-diags print their findings and failures on either.
func ask(ctx context.Context, h host.Host, cmd shellcmd.Command) (int, string, error) {
	r, err := h.Run(ctx, cmd)
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.Status, exit.Stdout + exit.Stderr, nil
	case err != nil:
		return 0, "", err
	}
	return 0, string(r.Stdout) + string(r.Stderr), nil
}
