//go:build linux

package connectx3

import (
	"sync"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// TestCards_at_once has four machines, two switches, cables and a person use the lab at
// the same time. The race detector is what looks.
func TestCards_at_once(t *testing.T) {
	const machines = 4
	w := &wire.World{}
	switches := []*fabric.Switch{fabric.NewSwitch(w, "left", 0x10, 4), fabric.NewSwitch(w, "right", 0x20, 4)}
	between := wire.Connect(switches[0].Port(4), switches[1].Port(4))
	var all []*driver
	for i := range machines {
		d := newDriver(t, w, card.VPI(), uint64(i))
		wire.Connect(d.Port(1), switches[i/2].Port(1+i%2))
		all = append(all, d)
	}
	stop := make(chan struct{})
	time.AfterFunc(500*time.Millisecond, func() { close(stop) })
	var running sync.WaitGroup
	forever := func(f func(turn int)) {
		running.Go(func() {
			for turn := 0; ; turn++ {
				select {
				case <-stop:
					return
				default:
					f(turn)
				}
			}
		})
	}
	for i, d := range all {
		pair := [2]*driver{d, d}
		forever(func(turn int) {
			(&reader{b: ordinary([]byte{0, 3, 7}[turn%3])}).run(pair)
			if turn%5 == 4 {
				d.WriteRegion(vfiouser.BAR0, regReset, bits32(1))
			}
		})
		forever(func(int) { d.bus.Interrupt(uint32(i)) })
		forever(func(int) { d.Written() })
	}
	forever(func(turn int) {
		switch turn % 4 {
		case 0:
			between.Pull()
		case 1:
			between.Plug()
		case 2:
			between.Disturb(3)
			between.LoseEvery(2)
		default:
			between.Degrade(1, wire.Quality)
			_ = between.Lost()
		}
	})
	running.Wait()
	for _, d := range all {
		d.must(queryFW, 0, nil)
	}
}
