package watch

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// TestWatch_a_host_that_stays_away_for_a_while has the host refuse every connection in
// the middle of a burn.
func TestWatch_a_host_that_stays_away_for_a_while(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	burned, release := w.begin(nil)
	out, status := newScreen(), make(chan int, 1)
	go func() { status <- w.watch(out, out, long, labs.Intel9) }()
	out.await(t, "burning")
	machine := w.lab.Machine(labs.Intel9)
	machine.Faults.Update(func(f *labsim.FaultSpec) { f.Refuse = true })
	w.lab.Servers[labs.Intel9].DropAll()
	out.await(t, "; trying again")
	machine.Faults.Update(func(f *labsim.FaultSpec) { f.Refuse = false })
	release()
	if err := <-burned; err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != command.OK {
		t.Errorf("status %d:\n%s", got, out)
	}
	out.has(t, "verified    100%  read back: the card holds what was asked for")
	if n := strings.Count(out.String(), "; trying again"); n != 1 {
		t.Errorf("said %d times that the host does not answer:\n%s", n, out)
	}
}

// TestWatch_a_job_whose_directory_is_removed holds that such a job counts as running
// until it is gone, and that nothing is then said of how it ended.
func TestWatch_a_job_whose_directory_is_removed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	burned, release := w.begin(nil)
	out, status := newScreen(), make(chan int, 1)
	go func() { status <- w.watch(out, out, long, labs.Intel9) }()
	out.await(t, "burning")
	w.lab.Machine(labs.Intel9).FS.Drop(inventory.StateDir + "/jobs")
	out.await(t, "running           somebody has removed the directory of the job")
	w.once(Undecided, "somebody has removed the directory of the job")
	release()
	if err := <-burned; err == nil {
		t.Error("the apply says nothing")
	}
	if got := <-status; got != Undecided {
		t.Errorf("status %d:\n%s", got, out)
	}
	out.has(t, "how it ended is not known; the next apply reads the card")
}
