package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// figure is what one plan costs. cpu is the processor time of the engine and of
// the providers that it started; provider is the part of the busiest provider.
// The simulated hosts run in this process and are counted by lab alone.
type figure struct{ wall, cpu, provider, lab, megabytes float64 }

// run runs the engine and watches the providers that it starts.
func (w *workspace) run(ctx context.Context, args ...string) (figure, error) {
	cmd := exec.CommandContext(ctx, w.engine, append(args, "-no-color", "-input=false")...)
	cmd.Dir = w.dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "TF_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+filepath.Join(w.dir, "rc"), "CHECKPOINT_DISABLE=1")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	began, own := time.Now(), ownCPU()
	if err := cmd.Start(); err != nil {
		return figure{}, err
	}
	stop, seen := make(chan struct{}), make(chan figure)
	go func() { seen <- watch(cmd.Process.Pid, stop) }()
	err := cmd.Wait()
	took := time.Since(began)
	close(stop)
	f := <-seen
	if err != nil {
		return figure{}, fmt.Errorf("%s: %w\n%s", args[0], err, out.String())
	}
	if args[0] == "plan" && !strings.Contains(out.String(), "No changes.") {
		return figure{}, fmt.Errorf("the plan is not empty:\n%s", out.String())
	}
	// The engine waits for its providers, so that its times hold theirs.
	f.wall, f.cpu = took.Seconds(), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	f.lab = ownCPU() - own
	return f, nil
}

// ownCPU is the processor time of this process so far, in seconds.
func ownCPU() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// watch gives the highest resident size, in MB, and the longest processor time
// that any child of the engine reached. The kernel keeps both marks, so that a
// coarse look is enough.
func watch(engine int, stop <-chan struct{}) figure {
	most := figure{}
	for {
		select {
		case <-stop:
			return most
		case <-time.After(50 * time.Millisecond):
		}
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", engine))
		for _, list := range lists {
			children, _ := os.ReadFile(list) // of a thread that has ended: none
			for pid := range strings.FieldsSeq(string(children)) {
				status, _ := os.ReadFile("/proc/" + pid + "/status")
				if !strings.HasPrefix(string(status), "Name:\tterraform-provi") {
					continue // a copy of the engine on its way to become a provider
				}
				most.megabytes = max(most.megabytes, field(string(status), "VmHWM:")/1024)
				stat, _ := os.ReadFile("/proc/" + pid + "/stat")
				most.provider = max(most.provider, processorTime(string(stat)))
			}
		}
	}
}

// processorTime reads utime and stime of /proc/PID/stat, in ticks of 10 ms.
func processorTime(stat string) float64 {
	_, rest, _ := strings.Cut(stat, ") ") // the name may hold blanks
	words := strings.Fields(rest)
	if len(words) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(words[11], 64)
	system, _ := strconv.ParseFloat(words[12], 64)
	return (user + system) / 100
}

// field gives the number after a key of /proc/PID/status.
func field(status, key string) float64 {
	_, rest, found := strings.Cut(status, "\n"+key)
	words := strings.Fields(rest)
	if !found || len(words) == 0 {
		return -1
	}
	n, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		return -1
	}
	return n
}

// medianOfPlans gives the medians of several plans after one that does not count.
func (b *suite) medianOfPlans(ctx context.Context, w *workspace) (figure, error) {
	all, err := b.together(ctx, w)
	if err != nil {
		return figure{}, err
	}
	return all[0], nil
}

// together plans several workspaces in turn, so that all see the same machine.
func (b *suite) together(ctx context.Context, workspaces ...*workspace) ([]figure, error) {
	all := make([][]figure, len(workspaces))
	for range b.runs + 1 {
		for i, w := range workspaces {
			f, err := w.run(ctx, "plan")
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], f)
		}
	}
	medians := make([]figure, len(all))
	for i, figures := range all {
		medians[i] = median(figures)
	}
	return medians, nil
}

func median(all []figure) figure {
	if len(all) < 2 {
		return figure{}
	}
	middle := func(of func(figure) float64) float64 {
		var values []float64
		for _, f := range all[1:] { // the first one warms the caches
			values = append(values, of(f))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return figure{
		wall: middle(func(f figure) float64 { return f.wall }), cpu: middle(func(f figure) float64 { return f.cpu }),
		provider: middle(func(f figure) float64 { return f.provider }), lab: middle(func(f figure) float64 { return f.lab }),
		megabytes: middle(func(f figure) float64 { return f.megabytes }),
	}
}
