package platform

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

const (
	mlx4Module    = "mlx4_core"
	portTypeParam = "port_type_array"
)

// portTypeArray writes link types for mlx4_core: for each port 0 (what the firmware
// prefers), 1 (InfiniBand) or 2 (Ethernet). The driver accepts other numbers without
// complaint and misreads them (Linux 6.1 to 7.3, drivers/net/ethernet/mellanox/mlx4).
func portTypeArray(types map[int]ib.LinkType) (string, error) {
	ports := slices.Sorted(mapKeys(types))
	words := make([]string, 0, len(ports))
	for i, p := range ports {
		if p != i+1 {
			return "", fmt.Errorf("link types are for the ports %v; want them from 1 on without gaps", ports)
		}
		switch types[p] {
		case ib.LinkTypeIB:
			words = append(words, "1")
		case ib.LinkTypeETH:
			words = append(words, "2")
		case ib.LinkTypeAuto:
			words = append(words, "0")
		default:
			return "", fmt.Errorf("port %d: unknown link type %q", p, types[p])
		}
	}
	if len(words) == 0 {
		return "", fmt.Errorf("no port has a link type")
	}
	return strings.Join(words, ","), nil
}

func mapKeys(types map[int]ib.LinkType) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for p := range types {
			if !yield(p) {
				return
			}
		}
	}
}

// parsePortTypeArray is the inverse; nil if the text is not understood.
func parsePortTypeArray(text string) map[int]ib.LinkType {
	types := map[int]ib.LinkType{}
	for i, w := range strings.Split(strings.TrimSpace(text), ",") {
		switch n, err := strconv.Atoi(w); {
		case err != nil:
			return nil
		case n == 0:
			types[i+1] = ib.LinkTypeAuto
		case n == 1:
			types[i+1] = ib.LinkTypeIB
		case n == 2:
			types[i+1] = ib.LinkTypeETH
		default:
			return nil
		}
	}
	return types
}

// portTypesFor writes the types for the driver's option, which counts for all its
// cards: whether another one may change is the verdict's to say (LT007).
func portTypesFor(ctx context.Context, h *hosts.Host,
	types map[int]ib.LinkType) (s *inventory.Snapshot, array string, err error) {
	if array, err = portTypeArray(types); err != nil {
		return nil, "", err
	}
	s, err = h.Snapshot(ctx)
	return s, array, err
}
