//go:build linux

package connectx3

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
)

// BenchmarkConnection_write writes messages of 64 KiB over a cable, in packets of 4 KiB.
func BenchmarkConnection_write(b *testing.B) {
	const size = 64 << 10
	card.SmallImages()
	cards, w := hostilePair(b)
	(&reader{b: ordinary(0)}).run(cards)
	key := make([]byte, 64)
	be.PutUint32(key, keyPhysical|keyRemoteWrite)
	cards[1].must(setMPT, 1, key)
	w.Do(func() { cards[0].hca.qps[qpNumber].Remote.MTU = 4096 })
	request := make([]byte, 48)
	request[7] = 3
	be.PutUint32(request[8:], flagCompleted)
	be.PutUint64(request[16:], pageData<<4)
	be.PutUint32(request[24:], reservedKey)
	be.PutUint32(request[32:], size)
	be.PutUint32(request[36:], reservedKey)
	be.PutUint64(request[40:], pageData<<4)
	b.SetBytes(size)
	b.ReportAllocs()
	for index := uint32(1); b.Loop(); index++ {
		be.PutUint32(request, opWrite|index>>2&1<<31)
		cards[0].put(pageQP+uint64(index%4)*64, request)
		cards[0].WriteRegion(vfiouser.BAR2, 0x14, bits32(qpNumber<<8))
	}
	w.Do(func() {
		if q := cards[0].hca.qps[qpNumber]; q.State != 3 || q.head < 100 {
			b.Fatalf("state %d after %d requests", q.State, q.head)
		}
	})
}
