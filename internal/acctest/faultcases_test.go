package acctest

import (
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// faultCases are all cases, in the order of the page.
func faultCases() []*faultCase {
	var all []*faultCase
	for _, group := range [][]*faultCase{
		connectionCases(), transferCases(), killCases(), powerCases(), rebootCases(), diskCases(), accessCases(), toolCases(),
		localeCases(), elseCases(), backupCases(), slotCases(), meanwhileCases(),
	} {
		all = append(all, group...)
	}
	return all
}

// command is one kind of command of an apply: text that only its script holds, and
// how many of that kind an apply gives before anything depends on chance.
type command struct {
	step  string
	holds string
	times int
}

// commands are those of a burn with everything before and after it.
var commands = []command{
	{"reading host and card", "echo '@begin 1'", 5},
	{"reading host and card", " hw query", 3},
	{"reading host and card", ":00.0 v\n", 3},
	{"reading host and card", ":00.0 checksum", 3},
	{"staging the image", "'sha256sum' -- " + stateDir + "/images", 2},
	{"staging the image", `mkdir -p "$1/images"`, 1},
	{"staging the image", "cannot make the directory", 1},
	{"staging the image", "-i " + stateDir + "/images", 1},
	{"taking the backup", `&& mkdir "$1"`, 1},
	{"taking the backup", " ri ", 2},
	{"taking the backup", "'sha256sum' -- " + stateDir + "/backups", 1},
	{"taking the backup", "-i " + stateDir + "/backups", 1},
	{"taking the backup", ":00.0 q full", 1},
	{"taking the backup", `cat "$1"`, 1},
	{"taking the backup", `mv -f "$1" "$2" && sync "${2%/*}"`, 1},
	{"taking the backup", "'rm' -rf", 1},
	{"starting the job", "Stores a job and starts its unit", 1},
	{"watching the job", "Prints what is known of a job", 1},
	{"settling the job", "Closes a job after the card was read", 1},
	{"restarting the host", "Notes that a reboot is asked for", 1},
	{"restarting the host", "'cat' /proc/sys/kernel/random/boot_id", 2},
	{"restarting the host", "--on-active=2s", 1},
	{"restarting the host", "is-system-running", 1},
}

const answerLost = "Connection lost before the answer arrives"

func connectionCases() []*faultCase {
	var all []*faultCase
	for _, f := range []struct {
		name string
		when labsim.CutWhen
	}{
		{"Connection lost before a command starts", labsim.CutBefore},
		{"Connection lost while a command runs", labsim.CutDuring},
		{answerLost, labsim.CutAfter},
	} {
		points := map[string]int{}
		for i, c := range commands {
			for n := 1; n <= c.times; n++ {
				points[c.step]++
				all = append(all, &faultCase{
					fault: f.name, step: c.step, point: points[c.step], quick: n == 1 && (i+len(f.when))%12 == 0,
					arm: func(r *faultRun) {
						r.m.Faults.Set(labsim.FaultSpec{ExecHolds: c.holds, CutAtExec: n, CutWhen: f.when})
					},
				})
			}
		}
	}
	return all
}

// transferCases lose the connection after so many bytes.
func transferCases() []*faultCase {
	var all []*faultCase
	add := func(fault, step string, points []int, quick func(i int) bool, spec func(n int64) labsim.FaultSpec) {
		for i, n := range sortedKeys(points) {
			all = append(all, &faultCase{
				fault: fault, step: step, point: n, quick: quick(i), misses: spec(1).CutUploadAt > 0,
				arm: func(r *faultRun) { r.m.Faults.Set(spec(int64(n))) },
			})
		}
	}
	every := func(step, last int, more ...int) []int {
		for n := step; n < last; n += step {
			more = append(more, n)
		}
		return append(more, 1, last-1)
	}
	const image = 622592 // bytes of image and backup, about
	add("Connection lost inside a transfer", "the image on its way to the host, by byte",
		every(64<<10, image, 32<<10-1, 32<<10, 32<<10+1),
		func(i int) bool { return i == 4 }, func(n int64) labsim.FaultSpec { return labsim.FaultSpec{CutUploadAt: n} })
	for _, x := range []struct {
		step, holds string
		points      []int
		out         bool
	}{
		{"the backup on its way to the operator, by byte", `cat "$1"`,
			every(64<<10, image, 100, 200, 32<<10-1, 32<<10, 32<<10+1), true},
		{"the job on its way to the host, by byte", "Stores a job and starts its unit", every(512, 9200), false},
		{"the facts of host and card, by byte", "echo '@begin 1'", every(1024, 9000), true},
		{"what is known of the job, by byte", "Prints what is known of a job", every(96, 400), true},
		{"the look at the flash, by byte", ":00.0 v\n", every(512, 1500), true},
	} {
		add("Connection lost inside a transfer", x.step, x.points,
			func(i int) bool { return i == len(x.points)/2 && len(x.points) > 8 }, func(n int64) labsim.FaultSpec {
				spec := labsim.FaultSpec{ExecHolds: x.holds, CutAtExec: 1, CutOutputAt: n}
				if !x.out {
					spec.CutOutputAt, spec.CutInputAt = 0, n
				}
				return spec
			})
	}
	return all
}

// moment is when a program begins on the host in the course of an apply.
type moment struct {
	step, holds string
	nth         int
}

// moments are those of an apply that burns and restarts, in their order.
var moments = []moment{
	{"taking the backup", " ri ", 1},
	{"taking the backup", " ri ", 2},
	{"taking the backup", "sync " + stateDir + "/backups", 1},
	{"taking the backup", "sync " + stateDir + "/backups", 2},
	{"job is stored", "sync " + stateDir + "/jobs/", 1},
	{"job has the lock", "sync " + stateDir + "/jobs/", 2},
	{"job has inspected the card", "sync " + stateDir + "/jobs/", 3},
	{"job is about to burn", "sync " + stateDir + "/jobs/", 4},
	{"job has burned", "sync " + stateDir + "/jobs/", 5},
	{"job has burned", "sync " + stateDir + "/jobs/", 6},
	{"job has burned", "sync " + stateDir + "/jobs/", 7},
	{"job has burned", "sync " + stateDir + "/jobs/", 8},
	{"job is being settled", "sync " + stateDir + "/jobs/", 9},
	{"job is being settled", "sync " + stateDir + "/jobs/", 10},
	{"restarting the host", "sync " + stateDir + "/activation", 1},
	{"restarting the host", "sync " + stateDir + "/activation", 2},
	{"restarting the host", "systemd-run --quiet --collect --unit=infiniband-reboot", 1},
	{"restarting the host", "systemctl is-system-running", 1},
}

// killCases end the provider without any farewell.
func killCases() []*faultCase {
	var all []*faultCase
	points := map[string]int{}
	for i, m := range moments {
		points[m.step]++
		all = append(all, &faultCase{
			fault: "Provider killed", step: m.step, point: points[m.step], quick: i == 4 || i == 9,
			arm: func(r *faultRun) {
				r.m.Faults.Trap(m.holds, m.nth, labsim.ProgramFault{Do: r.kill})
			},
		})
	}
	for i, n := range []int{1, 50, 150, 250, 308} {
		all = append(all, &faultCase{
			fault: "Provider killed", step: "flash is being written", point: i + 1, quick: n == 150,
			arm: func(r *faultRun) {
				r.m.Faults.Set(labsim.FaultSpec{})
				r.hw.Flash.SetHook(r.atFlash(n, r.kill))
			},
		})
	}
	return all
}

// kill ends the provider as SIGKILL does: its connections break, and nothing of it
// reaches the host any more.
func (r *faultRun) kill() {
	r.m.Faults.Update(func(s *labsim.FaultSpec) { s.Refuse = true })
	r.cancel()
	r.w.DropAll()
}

func powerCases() []*faultCase {
	var all []*faultCase
	points := map[string]int{}
	for i, m := range moments {
		points[m.step]++
		all = append(all, &faultCase{
			fault: "Power cut of the host", step: m.step, point: points[m.step], quick: i == 7 || i == 12,
			arm: func(r *faultRun) {
				r.m.Faults.Trap(m.holds, m.nth, labsim.ProgramFault{Do: r.m.PowerCut})
			},
		})
	}
	const operations = 308 // of one burn of the lab's image
	for _, x := range []struct {
		step  string
		guids bool
		quick []int
		every int
	}{
		// Firmware: each of them. GUIDs are written by the same burn of the tool; the
		// first and the last operations decide what boots.
		{"flash is being written, by erase and program operation", false, []int{1, 154, 306, 307, 308}, 1},
		{"GUIDs are being written, by erase and program operation", true, []int{161}, 16},
	} {
		for n := 1; n <= operations; n++ {
			if n%x.every != 1%x.every && n > 3 && n < operations-5 {
				continue
			}
			quick := false
			for _, q := range x.quick {
				quick = quick || q == n
			}
			all = append(all, &faultCase{
				fault: "Power cut of the host", step: x.step, point: n, quick: quick, guids: x.guids, burns: 1,
				arm: func(r *faultRun) { r.m.Faults.Set(labsim.FaultSpec{PowerCutAtFlash: n}) },
			})
		}
	}
	return all
}

// accessCases take away what the provider is allowed.
func accessCases() []*faultCase {
	var all []*faultCase
	points := map[string]int{}
	for i, m := range moments {
		if m.nth > 1 && m.step != "job has the lock" && m.step != "job is about to burn" {
			continue
		}
		points[m.step]++
		all = append(all, &faultCase{
			fault: "sudo withdrawn", step: m.step, point: points[m.step], quick: i == 4,
			says: []string{"sudo"},
			arm: func(r *faultRun) {
				r.m.Faults.Trap(m.holds, m.nth, labsim.ProgramFault{Do: func() {
					r.m.Faults.Update(func(s *labsim.FaultSpec) { s.SudoRefused = true })
				}})
			},
			mend: func(*faultRun) {}, // sudo is given back with the faults that are cleared
		})
	}
	return all
}

// toolCases have the vendor's tool misbehave.
func toolCases() []*faultCase {
	var all []*faultCase
	uses := []struct{ step, holds string }{
		{"reading the silicon's id", "mstflint -d 0000:01:00.0 hw query"},
		{"verifying the flash", "mstflint -d 0000:01:00.0 v"},
		{"taking the backup", " ri "},
		{"verifying the backup", "mstflint -i " + stateDir + "/backups"},
		{"verifying the staged image", "mstflint -i " + stateDir + "/images"},
	}
	for i, u := range uses {
		all = append(all, &faultCase{
			fault: "mstflint crashes (segmentation fault)", step: u.step, point: 1, quick: i == 0,
			arm: func(r *faultRun) {
				r.m.Faults.Trap(u.holds, 0, labsim.ProgramFault{Signal: syscall.SIGSEGV})
			},
			mend: func(*faultRun) {},
		})
	}
	return append(all, flashToolCases()...)
}

// flashToolCases strike the tool while it writes. Killed outright it leaves the
// flash semaphore set: the next query fails, and frees it.
func flashToolCases() []*faultCase {
	var all []*faultCase
	for _, x := range []struct {
		fault  string
		signal syscall.Signal
	}{{"mstflint killed (SIGKILL)", syscall.SIGKILL}, {"mstflint crashes (segmentation fault)", syscall.SIGSEGV}} {
		for _, n := range []int{1, 2, 154, 250, 305, 306, 307, 308} {
			all = append(all, &faultCase{
				fault: x.fault, step: "writing the flash, by erase and program operation", point: n, burns: 1,
				quick: n == 154 && x.signal == syscall.SIGKILL,
				arm: func(r *faultRun) {
					r.m.Faults.Set(labsim.FaultSpec{KillAtFlash: n, KillSignal: int(x.signal)})
				},
			})
		}
	}
	for n := range 6 {
		all = append(all, &faultCase{
			fault: "Flash does not take what is written", step: "writing the flash, by erase and program operation",
			point: 1 + n*60, quick: n == 2, burns: 1,
			arm: func(r *faultRun) { r.m.Faults.Set(labsim.FaultSpec{FlashVerifyFail: 1 + n*60}) },
		})
	}
	return all
}
