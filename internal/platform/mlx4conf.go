package platform

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// MLX4ConfPath is the RHEL family's file of port types: "ADDRESS TYPE [TYPE]", one
// line a card. mlx4-setup.sh of rdma-core writes them to the driver right after it
// has loaded. Debian's rdma-core (44.0 and later) has neither that script nor another
// reader of the file: it decides nothing there.
const MLX4ConfPath = "/etc/rdma/mlx4.conf"

// mlx4ConfMark is the line above a line of ours. The file belongs to the distribution,
// and a line cannot hold a remark: the script takes everything after the first type for
// the second one.
const mlx4ConfMark = Owner + " The next line is of infiniband_link_type."

// mlx4ConfStore keeps port types in mlx4.conf: the RHEL family.
type mlx4ConfStore struct{}

// LinkTypesStoredIn implements Platform.
func (mlx4ConfStore) LinkTypesStoredIn() string { return "mlx4.conf" }

// mlx4Line writes the line of a card. The script refuses Ethernet on port 1 with
// InfiniBand on port 2.
func mlx4Line(card ib.PCIAddress, types map[int]ib.LinkType) (string, error) {
	words := []string{card.String()}
	ports := slices.Sorted(maps.Keys(types))
	for i, p := range ports {
		if p != i+1 {
			return "", fmt.Errorf("link types are for the ports %v; want them from 1 on without gaps", ports)
		}
		words = append(words, string(types[p]))
	}
	if types[1] == ib.LinkTypeETH && len(ports) == 2 && types[2] != ib.LinkTypeETH {
		return "", fmt.Errorf("port 1 Ethernet with port 2 %s: mlx4-setup.sh of rdma-core refuses it (for port 1 to be eth, "+
			"port 2 must also be eth); the mixed form is ib on port 1 and eth on port 2", types[2])
	}
	return strings.Join(words, " "), nil
}

// mlx4Conf is the file taken apart at the line of one card.
type mlx4Conf struct {
	others    []string // all other lines, in order
	ours      string   // the line of the card below our mark
	unmanaged string   // a line of the card that is not ours
}

func parseMLX4Conf(content string, card ib.PCIAddress) mlx4Conf {
	var c mlx4Conf
	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	if content == "" {
		lines = nil
	}
	for i := 0; i < len(lines); i++ {
		marked := lines[i] == mlx4ConfMark && i+1 < len(lines)
		line := lines[i]
		if marked {
			line = lines[i+1]
		}
		f := strings.Fields(line)
		switch mine := len(f) > 1 && f[0] == card.String(); {
		case mine && marked:
			c.ours = line
			i++
		case mine:
			c.unmanaged = line
			c.others = append(c.others, line)
		default:
			c.others = append(c.others, lines[i])
		}
	}
	return c
}

func (c mlx4Conf) with(line string) string {
	return strings.Join(append(slices.Clone(c.others), mlx4ConfMark, line), "\n") + "\n"
}

// PersistLinkTypes implements Platform.
func (mlx4ConfStore) PersistLinkTypes(ctx context.Context, h *hosts.Host, card ib.PCIAddress,
	types map[int]ib.LinkType) error {
	line, err := mlx4Line(card, types)
	if err != nil {
		return err
	}
	s, err := h.Snapshot(ctx)
	if err != nil {
		return err
	}
	c := parseMLX4Conf(s.Files[MLX4ConfPath].Content, card)
	switch {
	case c.unmanaged != "":
		return fmt.Errorf("%s: %s has a line of this card that was not written by this provider: %q; take it out", h.Name(),
			MLX4ConfPath, c.unmanaged)
	case c.ours == line && fact.No(staleInitramfs(s, MLX4ConfPath)):
		return nil
	case c.ours == line:
		return storeForBoot(ctx, h, MLX4ConfPath, func() error { return nil })
	}
	return storeForBoot(ctx, h, MLX4ConfPath, func() error {
		return WriteFile(ctx, h, MLX4ConfPath, 0o644, c.with(line))
	})
}

// mlx4SetupWords are those of the line that has modprobe run mlx4-setup.sh (libmlx4.conf of
// rdma-core). Another install line of mlx4_core may leave out the script.
var mlx4SetupWords = []string{"if", "then", "fi", "[", "]", "-f", "-a", "<", ">", "2>", "1", "/dev/null", MLX4ConfPath,
	"/usr/libexec/mlx4-setup.sh", "/sbin/modinfo"}

// LinkTypePlaces implements Platform. The script comes after the options of the driver,
// so the file overrides them.
func (m mlx4ConfStore) LinkTypePlaces(s *inventory.Snapshot, card ib.PCIAddress) Places {
	c := parseMLX4Conf(s.Files[MLX4ConfPath].Content, card)
	ours := Place{Name: m.LinkTypesStoredIn(), Ours: true, Stale: fact.Known(false)}
	if c.unmanaged != "" {
		ours.NotOurs = fmt.Sprintf("the line %q of %s", c.unmanaged, MLX4ConfPath)
	}
	if c.ours != "" {
		ours.Types, ours.Stale = map[int]ib.LinkType{}, staleInitramfs(s, MLX4ConfPath)
		for i, word := range strings.Fields(c.ours)[1:] {
			ours.Types[i+1] = ib.LinkType(word)
		}
	}
	behind, before := filesOfOthers(s, "", ours.Stale, mlx4SetupWords...)
	return inOrder(s, Places{ours}, commandLine(s), behind, before)
}
