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
	sizes := flag.String("hosts", "1x20,2,20,50x20,100",
		"numbers of hosts to plan, each with seven resources or as many as follow an x")
	down := flag.String("down", "", "per cent of the hosts that are down, hang or are slow in more plans: \"1,5\"")
	shards := flag.Int("shards", 0, "shards of each fleet that are also planned at once")
	runs := flag.Int("runs", 5, "plans per figure; the median is printed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bench(ctx, *sizes, *down, &suite{engine: *engine, provider: *provider, runs: *runs, shards: *shards})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, sizes, down string, b *suite) error {
	dir, err := os.MkdirTemp("", "infiniband-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, name := range []string{"floor", "hollow"} {
		var out []byte
		out, err = exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, name),
			"./internal/bench/"+name).CombinedOutput()
		if err != nil {
			return fmt.Errorf("build the provider that does nothing: %w\n%s", err, out)
		}
	}
	if b.provider, err = filepath.Abs(b.provider); err != nil {
		return err
	}
	b.dir, b.floor, b.hollow = dir, filepath.Join(dir, "floor"), filepath.Join(dir, "hollow")
	if b.down, err = percentages(down); err != nil {
		return err
	}
	fmt.Printf("%s; plans without changes, medians of %d.\n\n%s\n", machine(ctx, b.engine), b.runs, tableHead)
	for size := range strings.SplitSeq(sizes, ",") {
		n, each, wrong := fleetSize(size)
		if wrong != nil {
			return wrong
		}
		if err = b.fleet(ctx, n, each); err != nil {
			return fmt.Errorf("%s hosts: %w", size, err)
		}
	}
	fmt.Println()
	for _, line := range b.notes {
		fmt.Println("- " + line)
	}
	return b.image(ctx)
}

// percentages reads "1,5"; an empty text has none.
func percentages(text string) (all []int, err error) {
	for share := range strings.SplitSeq(text, ",") {
		if share == "" {
			continue
		}
		percent, wrong := strconv.Atoi(share)
		if wrong != nil || percent < 1 || percent > 100 {
			return nil, fmt.Errorf("-down: not a percentage: %q", share)
		}
		all = append(all, percent)
	}
	return all, nil
}

// fleetSize reads "100" and "50x20": hosts, and resources for each of them.
func fleetSize(text string) (hosts, perHost int, err error) {
	first, second, found := strings.Cut(text, "x")
	if !found {
		second = strconv.Itoa(resourcesPerHost)
	}
	hosts, err = strconv.Atoi(first)
	if err == nil {
		perHost, err = strconv.Atoi(second)
	}
	if err != nil || hosts < 1 || perHost < resourcesPerHost {
		return 0, 0, fmt.Errorf("not a number of hosts, or of hosts x resources: %q", text)
	}
	return hosts, perHost, nil
}

// machine describes what was measured on.
func machine(ctx context.Context, engine string) string {
	version, _ := exec.CommandContext(ctx, engine, "version").Output()
	name, _, _ := strings.Cut(string(version), "\n")
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, model, _ := strings.Cut(string(info), "model name\t: ")
	model, _, _ = strings.Cut(model, "\n")
	load, _ := os.ReadFile("/proc/loadavg")
	return fmt.Sprintf("%s, %s, %s/%s, %d CPUs (%s), load before %.4s", name, runtime.Version(), runtime.GOOS,
		runtime.GOARCH, runtime.NumCPU(), model, load)
}

// suite holds what all measurements share.
type suite struct {
	dir, engine, provider string
	floor, hollow         string // two providers that do nothing
	runs, shards          int
	notes                 []string // lines for below the table
	down                  []int    // per cent of the hosts
}

// fleet measures a lab of n hosts with some resources each.
func (b *suite) fleet(ctx context.Context, n, perHost int) error {
	dir := filepath.Join(b.dir, fmt.Sprintf("fleet%d-%d", n, perHost))
	lab, err := labs.Start(filepath.Join(dir, "lab"), labsim.Options{}, labs.Fleet(n)...)
	if err != nil {
		return err
	}
	defer lab.Close()
	full := &workspace{dir: filepath.Join(dir, "real"), engine: b.engine,
		overrides: map[string]string{"infiniband": b.provider}}
	base := &workspace{dir: filepath.Join(dir, "floor"), engine: b.engine, overrides: map[string]string{"floor": b.floor}}
	shape := &workspace{dir: filepath.Join(dir, "hollow"), engine: b.engine,
		overrides: map[string]string{"infiniband": b.hollow}}
	text := fleetConfiguration(lab, perHost)
	if err = shape.write(text); err != nil {
		return err
	}
	if err = full.write(text); err != nil {
		return err
	}
	if err = base.write(floorConfiguration(n, perHost)); err != nil {
		return err
	}
	began, first := time.Now(), sessions(lab)
	applied := map[*workspace]figure{}
	for _, w := range []*workspace{full, base} {
		if applied[w], err = w.run(ctx, "apply", "-auto-approve"); err != nil {
			return err
		}
	}
	b.noteApply(n, perHost, applied[full], applied[base], float64(sessions(lab)-first)/float64(n))
	fmt.Fprintf(os.Stderr, "%d hosts, %d resources: state made in %s\n", n, n*perHost,
		time.Since(began).Round(time.Second))
	if err = os.Link(filepath.Join(full.dir, "terraform.tfstate"),
		filepath.Join(shape.dir, "terraform.tfstate")); err != nil {
		return err
	}
	before := sessions(lab)
	all, err := b.together(ctx, full, base, shape)
	if err != nil {
		return err
	}
	a, z, h := all[0], all[1], all[2]
	perPlan := float64(sessions(lab)-before) / float64(b.runs+1) / float64(n)
	fmt.Printf("| %d × %d | %.2f | %.2f | %.2f | %.2f | %.2f | **%.2f** | %.2f | **%.2f** | %.2f | %.2f | %.2f | %.2f | "+
		"%.0f | %.0f | %.0f | %.2f |\n", n, perHost,
		a.wall, z.wall, a.wall/z.wall, a.cpu, z.cpu, a.cpu/z.cpu, h.cpu, a.cpu/h.cpu, a.provider, z.provider, h.provider,
		a.lab, a.megabytes, z.megabytes, h.megabytes, perPlan)
	if n <= 2 {
		return b.slowLine(ctx, lab, full, a)
	}
	if err = b.sideBySide(ctx, full, n, text, a); err != nil {
		return err
	}
	return b.troubled(ctx, lab, full, a)
}

// noteApply tells what it took to make everything.
func (b *suite) noteApply(n, perHost int, a, z figure, commands float64) {
	b.notes = append(b.notes, fmt.Sprintf("%d × %d, apply of all: %.1f s (floor %.1f), CPU %.1f s (%.1f), provider's "+
		"part %.1f s (%.1f), lab CPU %.1f s, provider %.0f MB (%.0f), %.1f commands per host",
		n, perHost, a.wall, z.wall, a.cpu,
		z.cpu, a.provider, z.provider, a.lab, a.megabytes, z.megabytes, commands))
}

// troubles are what may be wrong with a host while others are planned.
var troubles = []struct {
	name string
	set  func(*labsim.Machine)
}{
	{"down", func(m *labsim.Machine) { m.Faults.Set(labsim.FaultSpec{Refuse: true}) }},
	{"silent at the login", func(m *labsim.Machine) { m.Faults.Set(labsim.FaultSpec{Hang: true}) }},
	{"silent in an answer", func(m *labsim.Machine) { m.Faults.Trap("lspci", 0, labsim.ProgramFault{Hang: true}) }},
	{"250 ms away", func(m *labsim.Machine) { m.Faults.Set(labsim.FaultSpec{Latency: 125 * time.Millisecond}) }},
}

// troubled plans once more for each trouble of some of the hosts. Those that do not answer stay as the state has them.
func (b *suite) troubled(ctx context.Context, lab *labs.Lab, w *workspace, up figure) error {
	machines := lab.Machines()
	for _, percent := range b.down {
		few := (len(machines)*percent + 99) / 100
		for _, trouble := range troubles {
			for i := range few {
				trouble.set(machines[i*len(machines)/few])
			}
			f, err := w.run(ctx, "plan")
			if err != nil {
				return fmt.Errorf("%d hosts %s: %w", few, trouble.name, err)
			}
			for _, m := range machines {
				m.Faults.Clear()
			}
			b.notes = append(b.notes, fmt.Sprintf("%d of %d hosts %s: plan %.1f s, %.1f s more than with all up; CPU %.1f s, "+
				"provider %.0f MB", few, len(machines), trouble.name, f.wall, f.wall-up.wall, f.cpu, f.megabytes))
		}
	}
	return nil
}

const tableHead = `| hosts × resources | plan s | floor s | ratio | CPU s | floor CPU s | ratio | hollow CPU s | ratio | provider's part | floor's | hollow's | lab CPU s | provider MB | floor's | hollow's | commands per host |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|`

// slowLine repeats the plan with latency between operator and hosts.
func (b *suite) slowLine(ctx context.Context, lab *labs.Lab, w *workspace, fast figure) error {
	for _, rtt := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond} {
		for _, m := range lab.Machines() {
			m.Faults.Update(func(f *labsim.FaultSpec) { f.Latency = rtt / 2 })
		}
		slow, err := b.medianOfPlans(ctx, w)
		if err != nil {
			return err
		}
		b.notes = append(b.notes, fmt.Sprintf("%d hosts at %d ms round trip: plan %.2f s, %.2f s more than at 0 ms",
			len(lab.Machines()), rtt.Milliseconds(), slow.wall, slow.wall-fast.wall))
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
	fmt.Println("\nFirmware image of 16 MiB, parsed and verified, in memory:")
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", ".", "-benchtime", "1s", "./internal/fwimage")
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "Benchmark") {
			fmt.Print("  ", line)
		}
	}
	return err
}
