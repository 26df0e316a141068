package clash

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// A QLogic card's own GUID is that of a known vendor.
func TestGUIDValues_vendors(t *testing.T) {
	for guid, known := range map[ib.GUID]bool{0x0011750000791fec: true, 0xe41d2d0300e44ed0: true,
		0xe61d2dfffee44ed0: false} {
		found := GUIDValues(ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid + 3})
		if (len(found) == 0) != known {
			t.Errorf("%s: %v", guid, found)
		}
	}
}
