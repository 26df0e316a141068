// Command bench measures the budgets of the design on the simulated lab: round
// trips of a refresh, the time of a plan against a provider that does nothing,
// the same over a slow line, memory, and the reading of a firmware image. It is
// not part of the provider and must not be linked into it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

func main() {
	engine := flag.String("engine", "terraform", "Terraform or OpenTofu program")
	provider := flag.String("provider", "bin/terraform-provider-infiniband", "built provider")
	sizes := flag.String("hosts", "2,20,100", "numbers of hosts to plan")
	runs := flag.Int("runs", 5, "plans per figure; the median is printed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bench(ctx, *engine, *provider, *sizes, *runs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, engine, provider, sizes string, runs int) error {
	dir, err := os.MkdirTemp("", "infiniband-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fmt.Printf("# %s, %d CPUs, %s/%s, medians of %d\n", runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runs)
	floor := filepath.Join(dir, "terraform-provider-floor")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", floor, "./internal/bench/floor").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the provider that does nothing: %w\n%s", err, out)
	}
	if provider, err = filepath.Abs(provider); err != nil {
		return err
	}
	b := &suite{dir: dir, engine: engine, provider: provider, floor: floor, runs: runs}
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return fmt.Errorf("not a number of hosts: %q", size)
		}
		if err := b.fleet(ctx, n); err != nil {
			return fmt.Errorf("%d hosts: %w", n, err)
		}
	}
	return b.image(ctx)
}

// suite holds what all measurements share.
type suite struct {
	dir, engine, provider, floor string
	runs                         int
}

const resourcesPerHost = 7

// fleet measures a lab of n hosts with seven resources each.
func (b *suite) fleet(ctx context.Context, n int) error {
	dir := filepath.Join(b.dir, fmt.Sprintf("fleet%d", n))
	lab, err := labs.Start(filepath.Join(dir, "lab"), labsim.Options{}, labs.Fleet(n)...)
	if err != nil {
		return err
	}
	defer lab.Close()
	full := &workspace{dir: filepath.Join(dir, "real"), engine: b.engine, overrides: map[string]string{"infiniband": b.provider}}
	base := &workspace{dir: filepath.Join(dir, "floor"), engine: b.engine, overrides: map[string]string{"floor": b.floor}}
	if err = full.write(fleetConfiguration(lab)); err != nil {
		return err
	}
	if err = base.write(floorConfiguration(n)); err != nil {
		return err
	}
	began := time.Now()
	for _, w := range []*workspace{full, base} {
		if _, err = w.run(ctx, "apply", "-auto-approve"); err != nil {
			return err
		}
	}
	fmt.Printf("\n%d hosts, %d resources (state made in %s)\n", n, n*resourcesPerHost, time.Since(began).Round(time.Second))
	before := sessions(lab)
	a, z, err := b.paired(ctx, full, base)
	if err != nil {
		return err
	}
	perPlan := float64(sessions(lab)-before) / float64(b.runs+1) / float64(n)
	fmt.Printf("  plan, no changes     %6.2f s   nothing-provider %6.2f s   ratio %.2f\n", a.seconds, z.seconds, a.seconds/z.seconds)
	fmt.Printf("  memory of provider   %6.1f MB  nothing-provider %6.1f MB  ratio %.2f\n", a.megabytes, z.megabytes, a.megabytes/z.megabytes)
	fmt.Printf("  commands per host and refresh: %.2f\n", perPlan)
	if n <= 2 {
		return b.slowLine(ctx, lab, full, a)
	}
	return nil
}

// slowLine repeats the plan with latency between operator and hosts.
func (b *suite) slowLine(ctx context.Context, lab *labs.Lab, w *workspace, fast figure) error {
	for _, rtt := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond} {
		for _, m := range lab.Machines() {
			m.Faults.Update(func(f *labsim.FaultSpec) { f.Latency = rtt / 2 })
		}
		slow, err := b.repeated(ctx, w)
		if err != nil {
			return err
		}
		fmt.Printf("  plan at %3d ms round trip  %.2f s, %.2f s more than at 0 ms\n", rtt.Milliseconds(), slow.seconds, slow.seconds-fast.seconds)
	}
	for _, m := range lab.Machines() {
		m.Faults.Clear()
	}
	return nil
}

func sessions(lab *labs.Lab) int {
	n := 0
	for _, m := range lab.Machines() {
		n += m.Counters().Sessions
	}
	return n
}

// image runs the Go benchmark of the image reader.
func (b *suite) image(ctx context.Context) error {
	fmt.Println("\nfirmware image, 16 MiB, read, parsed and verified")
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", ".", "-benchtime", "1s", "./internal/fwimage")
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "Benchmark") {
			fmt.Print("  ", line)
		}
	}
	return err
}
