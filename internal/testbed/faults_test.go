//go:build testbed && linux

package testbed

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// everyFault adds what takes long: more moments of a burn for each fault. A case takes twenty
// seconds of a processor. TestFaults of acctest hits every operation, on simulated hosts.
var everyFault = flag.Bool("testbed.all", false, "hit a burn at ten operations and not at three, and a later chip in three ways")

// manyPoints is how many operations of a burn each fault then hits.
const manyPoints = 10

// burnOnly cross-flashes without a restart.
func (o *operator) burnOnly() acctest.Config {
	return o.crossFlashTo(imageVPI()).With(firmwareAddress, map[string]any{"activation": "none"}).Without(guidsAddress)
}

// points gives the middle of the operations 1 to n, and the last two, where the new image
// becomes valid and the old one dead. With everyFault it spreads over the erases and the
// pages, and has each of the last three.
func points(n int) []int {
	if !*everyFault {
		return []int{n / 2, n - 1, n}
	}
	list := []int{n - 2, n - 1, n}
	for i := range manyPoints - 3 {
		list = append(list, 1+i*(n-4)/(manyPoints-4))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// fault is one way to disturb a burn at its k-th operation.
type fault struct {
	name string
	hit  func(box *Host) error // in the operation; card.ErrPowerLost tears it
}

func kill(sig syscall.Signal) func(*Host) error {
	return func(box *Host) error {
		box.Signal("mstflint", sig)
		return nil
	}
}

func cutPower(*Host) error { return card.ErrPowerLost }

// TestFault_kill kills the vendor's tool in the middle of a burn.
func TestFault_kill(t *testing.T) {
	t.Parallel()
	underFault(t, "killed", fault{"SIGKILL", kill(syscall.SIGKILL)}, fault{"SIGTERM", kill(syscall.SIGTERM)})
}

// TestFault_kill_leaves_the_semaphore holds that nobody has to clear the flash
// semaphore after a SIGKILL: the next query fails, and frees it.
func TestFault_kill_leaves_the_semaphore(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "semaphore", secondHand())
	o.withoutConfiguration()
	cfg := o.burnOnly()
	model := o.box.Device.Card()
	model.Flash.SetHook(func(op card.Op) error {
		if op.Number == 12 {
			return kill(syscall.SIGKILL)(o.box)
		}
		return nil
	})
	if errs := o.apply(cfg); !errs.HasError() {
		t.Error("the apply whose tool was killed ended without an error")
	}
	model.Flash.SetHook(nil)
	o.bootable(model)
	model.TakeSemaphore() // by a tool that was killed; the apply may have freed the first one's
	if found := o.plan(cfg).Diags.Errors().Find("FW044"); len(found) == 0 {
		t.Error("the plan does not say that the semaphore is taken")
	}
	o.again(cfg, model, "killed")
}

// TestFault_power cuts the power of host and card in the middle of a burn.
func TestFault_power(t *testing.T) {
	t.Parallel()
	underFault(t, "power", fault{"power cut", cutPower})
}

// underFault measures one burn and then disturbs one at each point, with the faults in
// turn. Two hosts share many points.
func underFault(t *testing.T, name string, faults ...fault) {
	t.Helper()
	hosts := 1
	if *everyFault {
		hosts = 2
	}
	for part := range hosts {
		t.Run(fmt.Sprint("host ", part), func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, name+fmt.Sprint(part), secondHand())
			o.withoutConfiguration()
			cfg := o.burnOnly()
			o.mustApply(cfg)
			n := o.box.Device.Card().Flash.Operations()
			for i, k := range points(n) {
				if i%hosts != part {
					continue
				}
				f := faults[i/hosts%len(faults)]
				t.Run(fmt.Sprintf("%s at %d of %d", f.name, k, n), func(t *testing.T) {
					each := *o
					each.t = t
					each.disturb(cfg, f, k)
				})
			}
		})
	}
}

// withoutConfiguration takes mstconfig away. Each look at the host would ask it too,
// whose thousands of register accesses through FUSE take longer than a burn, and a
// burn needs nothing of it.
func (o *operator) withoutConfiguration() {
	o.t.Helper()
	if out, err := o.box.Exec(o.context(), "chmod a-x /usr/bin/mstconfig"); err != nil {
		o.t.Fatalf("%v\n%s", err, out)
	}
}

// applyAndBoot applies, and boots the host again if it goes down meanwhile.
func (o *operator) applyAndBoot(cfg acctest.Config) acctest.Diags {
	o.t.Helper()
	down, back := o.box.Down(), make(chan error, 1)
	ctx, cancel := context.WithCancel(o.context())
	defer cancel()
	go func() {
		select {
		case <-down:
			back <- o.box.Boot(ctx)
		case <-ctx.Done():
			back <- nil
		}
	}()
	errs := o.apply(cfg)
	select {
	case <-down:
		if err := <-back; err != nil {
			o.t.Fatalf("the host does not come back: %v", err)
		}
	default:
	}
	return errs
}

// disturb burns a fresh card, with a fault at the k-th operation of its flash,
// and expects that the next apply ends right.
func (o *operator) disturb(cfg acctest.Config, f fault, k int) {
	o.t.Helper()
	model, err := card.New(secondHand())
	if err != nil {
		o.t.Fatal(err)
	}
	o.box.Device.Insert(model)
	o.work = o.workspace()
	var hit atomic.Bool
	model.Flash.SetHook(func(op card.Op) error {
		if op.Number != k {
			return nil
		}
		hit.Store(true)
		return f.hit(o.box)
	})
	errs := o.applyAndBoot(cfg)
	if !hit.Load() {
		o.t.Fatalf("the burn ended before operation %d", k)
	}
	model.Flash.SetHook(nil)
	o.bootable(model)
	first := "no error"
	if errs.HasError() {
		first = errs[0].Summary
	}
	o.again(cfg, model, first)
}

// bootable holds that the card starts one of the two images, with its own MACs.
func (o *operator) bootable(model *card.Card) {
	o.t.Helper()
	img, err := model.Flash.Bootable()
	if err != nil {
		o.t.Fatalf("the card boots nothing: %v", err)
	}
	if img.PSID != card.PSIDEN && img.PSID != card.PSIDVPI || img.MACs != macs {
		o.t.Errorf("the card boots %s with MACs %x", img.PSID, img.MACs)
	}
	o.t.Logf("the card boots %s", img.PSID)
}

// again applies until it ends right, which the next apply must.
func (o *operator) again(cfg acctest.Config, model *card.Card, first string) {
	o.t.Helper()
	begin := time.Now()
	if errs := o.apply(cfg); errs.HasError() {
		o.t.Fatalf("first apply: %s\nnext apply:\n%s", first, errs)
	}
	img, err := model.Flash.Bootable()
	if err != nil || img.PSID != card.PSIDVPI || img.Version != [3]uint16{2, 42, 5000} || img.MACs != macs {
		o.t.Errorf("after the next apply the card boots %+v: %v", img, err)
	}
	if len(o.backups(card.PSIDEN)) == 0 {
		o.t.Error("there is no backup of the first firmware")
	}
	o.nothingToDo(cfg)
	o.t.Logf("first apply: %s; next one ended right after %s", first, time.Since(begin).Round(time.Millisecond))
}
