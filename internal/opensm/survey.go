package opensm

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sminfo"
)

// View is what a fabric says of its subnet managers through one of its ports.
type View struct {
	Asked bool
	Why   string // why it was not asked
	// Master is the one that answers for the fabric; the zero value if none does.
	Master saquery.Manager
	// Managers are all that the master knows of, itself included.
	Managers []saquery.Manager
	// Duplicate are GUIDs that two nodes have.
	Duplicate []ib.GUID
}

// discoverTimeout bounds the walk over a fabric; 648 adapters take half a second.
const discoverTimeout = time.Minute

// duplicatePort is how libibnetdisc complains, in all releases from 1.5 on.
var duplicatePort = regexp.MustCompile(`Duplicate Port: Port with guid (0x[0-9a-f]+) already exists`)

// Survey asks the fabric through a port: its subnet managers, or, where none
// answers, whether something will keep one from working. It costs up to three
// round trips and is made when something is to change.
func Survey(ctx context.Context, h host.Host, s *inventory.Snapshot, port ib.GUID) (View, error) {
	if why := unable(s, port); why != "" {
		return View{Why: why}, nil
	}
	card, p, _ := s.CardByPortGUID(port)
	v := View{Asked: true}
	out, err := ask(ctx, h, sminfo.Query(card.RDMADevice, p.Number))
	if err != nil {
		return v, err
	}
	if info, parseErr := sminfo.Parse(out); parseErr == nil {
		v.Master = saquery.Manager{LID: info.LID, GUID: info.GUID, Priority: info.Priority, State: int(info.State)}
	}
	if v.Master.State != int(sminfo.Master) {
		v.Duplicate, err = duplicates(ctx, h, card.RDMADevice, p.Number)
		return v, err
	}
	v.Managers, err = managers(ctx, h, card.RDMADevice, p.Number)
	if !slices.ContainsFunc(v.Managers, func(m saquery.Manager) bool { return m.GUID == v.Master.GUID }) {
		v.Managers = append(v.Managers, v.Master)
	}
	return v, err
}

// unable says why a fabric cannot be asked through a port; empty if it can.
func unable(s *inventory.Snapshot, port ib.GUID) string {
	card, p, ok := s.CardByPortGUID(port)
	switch {
	case !ok || card.RDMADevice == "" || p.LinkLayer == "Ethernet":
		return "the port is not an InfiniBand port now"
	case p.Physical != "LinkUp":
		return "the port has no link"
	case !s.Commands["sminfo"] && s.Packages["infiniband-diags"] == "":
		return "infiniband-diags is not installed"
	case !s.Modules["ib_umad"]:
		return "the module ib_umad is not loaded"
	}
	return ""
}

// duplicates walks the fabric without a subnet manager; libibnetdisc complains
// of a GUID that it meets twice.
func duplicates(ctx context.Context, h host.Host, device string, port int) ([]ib.GUID, error) {
	out, err := ask(ctx, h, shellcmd.New("ibnetdiscover", "-C", device, "-P", strconv.Itoa(port)).AsRoot().WithTimeout(discoverTimeout))
	var found []ib.GUID
	for _, m := range duplicatePort.FindAllStringSubmatch(out, -1) {
		if g, parseErr := ib.ParseGUID(m[1]); parseErr == nil && !slices.Contains(found, g) {
			found = append(found, g)
		}
	}
	return found, err
}

// managers are those that the administrator of the fabric lists. It may list
// none: the answer to sminfo stands then alone.
func managers(ctx context.Context, h host.Host, device string, port int) ([]saquery.Manager, error) {
	out, err := ask(ctx, h, saquery.Managers(device, port))
	if err != nil {
		return nil, err
	}
	all, err := saquery.ParseManagers(out)
	if err != nil {
		return nil, &host.OutputError{Host: h.Name(), Command: "saquery SMIR", Problem: err.Error(), Output: out}
	}
	return all, nil
}

// ask returns what a program printed on both streams, whatever its status: the
// programs of infiniband-diags print their findings and failures on either.
func ask(ctx context.Context, h host.Host, cmd shellcmd.Command) (string, error) {
	r, err := h.Run(ctx, cmd)
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.Stdout + exit.Stderr, nil
	case err != nil:
		return "", err
	}
	return string(r.Stdout) + string(r.Stderr), nil
}
