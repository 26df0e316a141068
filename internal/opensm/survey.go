package opensm

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
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sminfo"
)

// View is what a fabric says of its subnet managers through one of its ports.
type View struct {
	// NotReady says why the fabric is asked at apply only; empty if it was asked.
	NotReady string
	// Ruled is whether a subnet manager answers for the fabric as its master.
	Ruled fact.Bool
	// Master is the one that answered; the zero value if none did.
	Master saquery.Manager
	// Managers are those that are known, the one that answered included.
	Managers []saquery.Manager
	// Listed is whether the master has said which others there are; known also where
	// there never was a master to ask, or where it ran on this port. One that has ended
	// elsewhere may have a standby.
	Listed fact.Bool
	// Duplicate are GUIDs that two nodes have. They are looked for where no master
	// answers: one that rules has set up the fabric.
	Duplicate fact.Of[[]ib.GUID]
}

// discoverTimeout bounds the walk over a fabric; 648 adapters take half a second.
const discoverTimeout = time.Minute

// duplicatePort is how libibnetdisc complains, in all releases from 1.5 on.
var duplicatePort = regexp.MustCompile(`Duplicate Port: Port with guid (0x[0-9a-f]+) already exists`)

// Survey asks the fabric through a port: its subnet managers, or, where none
// answers, whether something will keep one from working. It costs up to three
// round trips and is made when something is to change. A program that fails is no
// error: what it should have told is unknown in the view, with the reason.
func Survey(ctx context.Context, h host.Host, s *inventory.Snapshot, port ib.GUID) (View, error) {
	if later := unready(s, port); later != "" {
		return View{NotReady: later}, nil
	}
	card, p, _ := s.CardByPortGUID(port)
	switch {
	case p.Physical == "":
		why := "the physical state of the port could not be read"
		return View{Ruled: fact.Unknown[bool](why), Listed: fact.Unknown[bool](why),
			Duplicate: fact.Unknown[[]ib.GUID](why)}, nil
	case p.Physical != "LinkUp": // there is no fabric at this port
		return View{Ruled: fact.Known(false), Listed: fact.Known(true), Duplicate: fact.Known[[]ib.GUID](nil)}, nil
	}
	v := View{Listed: fact.Known(true), Duplicate: fact.Known[[]ib.GUID](nil)}
	status, out, err := ask(ctx, h, sminfo.Query(card.RDMADevice, p.Number))
	if err != nil {
		return v, err
	}
	v.master(status, out, p)
	if !fact.Yes(v.Ruled) {
		v.Duplicate, err = duplicates(ctx, h, card.RDMADevice, p.Number)
		return v, err
	}
	err = v.list(ctx, h, card.RDMADevice, p.Number)
	return v, err
}

// master reads the answer of sminfo.
func (v *View) master(status int, out string, p *inventory.Port) {
	info, err := sminfo.Parse(out)
	switch {
	case status == 0 && err == nil:
		v.Master = saquery.Manager{LID: info.LID, GUID: info.GUID, Priority: info.Priority, State: int(info.State)}
		v.Managers = []saquery.Manager{v.Master}
		// One that is discovering loops over a duplicate GUID, or has just begun.
		v.Ruled = fact.Known(info.State == sminfo.Master)
	case status == 0:
		v.Ruled = fact.Unknown[bool](fmt.Sprintf("sminfo ended well, and its answer was not understood: %v", err))
	case nobody(out, p):
		v.Ruled = fact.Known(false)
		if p.SMLID != p.LID && sminfo.NoneAtLID(out) {
			v.Listed = fact.Unknown[bool](fmt.Sprintf("LID %d has no subnet manager any more, so nobody can say whether a "+
				"standby is about to take over", p.SMLID))
		}
	default:
		v.Ruled = fact.Unknown[bool](sminfo.Failure(status, out))
	}
}

// nobody reports whether it is proven that the fabric has no subnet manager. Either the
// port at the SM LID says so, or the kernel shows no SM LID and the port holds no manager,
// or the SM LID is the port's own, left by a manager that ran on it.
func nobody(out string, p *inventory.Port) bool {
	switch {
	case p.SMLID == 0:
		return sminfo.NoManager(out)
	case p.SMLID == placeholderLID && p.State != "Active", p.SMLID == p.LID && fact.No(p.IsSM):
		return sminfo.NoManager(out) || sminfo.NoAnswer(out)
	}
	return sminfo.NoneAtLID(out)
}

// list asks the administrator of the fabric for all managers.
func (v *View) list(ctx context.Context, h host.Host, device string, port int) error {
	status, out, err := ask(ctx, h, saquery.Managers(device, port))
	if err != nil {
		return err
	}
	all, err := saquery.ParseManagers(out)
	switch {
	case status != 0:
		v.Listed = fact.Unknown[bool](failure("saquery SMIR", status, out))
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

// unready says what is missing, until an apply, to ask the fabric through the port;
// empty if nothing is.
func unready(s *inventory.Snapshot, port ib.GUID) string {
	card, p, ok := s.CardByPortGUID(port)
	switch {
	case !ok || card.RDMADevice == "" || p.LinkLayer == "Ethernet":
		return "the port is not an InfiniBand port now"
	case !s.Commands["sminfo"] && s.Packages["infiniband-diags"] == "":
		return "infiniband-diags is not installed"
	case !s.Modules["ib_umad"]:
		return "the module ib_umad is not loaded"
	}
	return ""
}

// duplicates walks the fabric without a subnet manager; libibnetdisc complains
// of a GUID that it meets twice.
func duplicates(ctx context.Context, h host.Host, device string, port int) (fact.Of[[]ib.GUID], error) {
	cmd := shellcmd.New("ibnetdiscover", "-C", device, "-P", strconv.Itoa(port)).AsRoot().WithTimeout(discoverTimeout)
	status, out, err := ask(ctx, h, cmd)
	if err != nil {
		return fact.Unknown[[]ib.GUID](err.Error()), err
	}
	var found []ib.GUID
	for _, m := range duplicatePort.FindAllStringSubmatch(out, -1) {
		if g, parseErr := ib.ParseGUID(m[1]); parseErr == nil && !slices.Contains(found, g) {
			found = append(found, g)
		}
	}
	switch {
	case len(found) > 0: // also of a walk that did not come to its end
		return fact.Known(found), nil
	case status != 0:
		return fact.Unknown[[]ib.GUID](failure("ibnetdiscover", status, out)), nil
	case !strings.Contains(out, "# Initiated from node "):
		return fact.Unknown[[]ib.GUID]("ibnetdiscover ended well, and printed no topology"), nil
	}
	return fact.Known(found), nil
}

// failure is one sentence on a program that failed.
func failure(name string, status int, out string) string {
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
