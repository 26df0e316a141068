package acctest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

var (
	rolloutHosts = flag.Int("rollout.hosts", 0, "hosts of the rollout whose time is measured")
	rolloutSlow  = flag.Duration("rollout.slow", 100*time.Millisecond, "time that a card of it needs for 4 KiB of its flash")
)

// outdated is a fleet on one switch whose cards run older firmware.
func outdated(hosts int) []labs.Host {
	all := labs.Fleet(hosts)
	for i := range all {
		all[i].Switch, all[i].Cards[0].Image = "switch", card.OldVPI()
	}
	return all
}

func hostName(i int) string { return fmt.Sprintf("host%04d", i) }

// fleetRollout is the example of a rollout with all hosts of a lab, in racks of half of them each, with a
// subnet manager in each rack.
type fleetRollout struct {
	*operator
	w        *Lab
	hosts    int
	asBought map[string]int // operations of each flash before
}

func newRollout(t *testing.T, hosts int) *fleetRollout {
	t.Helper()
	w := Start(t, Options{Hosts: outdated(hosts)})
	r := &fleetRollout{operator: newFolder(t, buildProvider(t)), w: w, hosts: hosts, asBought: map[string]int{}}
	r.example("rollout", w)
	cards := map[string]any{}
	for i := range hosts {
		cards[hostName(i)] = map[string]any{"pci_address": w.PCI(hostName(i)), "address": fmt.Sprintf("172.16.0.%d/24", i+1),
			"rack": string(rune('a' + i*2/hosts))}
	}
	text, err := json.Marshal(map[string]any{"cards": cards, "image": w.Image(ImageVPI),
		"image_sha256": w.Images[ImageVPI].SHA256, "subnet_managers": map[string]any{hostName(0): 14, hostName(hosts / 2): 13}})
	if err != nil {
		t.Fatal(err)
	}
	r.write("cards.auto.tfvars.json", string(text))
	r.says(0, "get")
	for i := range hosts {
		r.asBought[hostName(i)] = w.Card(hostName(i)).Flash.Operations()
	}
	return r
}

// untouched holds that nobody wrote to the flash of a host, or restarted it.
func (r *fleetRollout) untouched(host string) {
	r.t.Helper()
	if now := r.w.Card(host).Flash.Operations(); now != r.asBought[host] || r.w.Machine(host).Boots() != 1 {
		r.t.Errorf("%s: %d flash operations, %d boots", host, now-r.asBought[host], r.w.Machine(host).Boots())
	}
}

// notBegun holds that the hosts which a rollout calls so are untouched, and gives them.
func (r *fleetRollout) notBegun(out string) string {
	r.t.Helper()
	_, behind, found := strings.Cut(out, "\nNot begun: ")
	line, _, _ := strings.Cut(behind, "\n")
	if !found {
		r.t.Fatalf("it does not say what is not begun:\n%s", out)
	}
	for _, host := range strings.Split(line, ", ") {
		if host != "none" {
			r.untouched(host)
		}
	}
	return line
}

// rollout is the command of the built provider in the operator's folder.
func (r *fleetRollout) rollout(answer string, options ...string) (*exec.Cmd, *bytes.Buffer) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour) // of -rollout.hosts
	r.t.Cleanup(cancel)
	args := slices.Concat([]string{"rollout", "-engine", r.engine}, options, []string{r.dir})
	cmd := exec.CommandContext(ctx, r.binary, args...)
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(r.dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1")
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(answer), &out, &out
	return cmd, &out
}

// ends runs the command, which must end with a status and say some words.
func (r *fleetRollout) ends(status int, answer string, options []string, words ...string) string {
	r.t.Helper()
	cmd, out := r.rollout(answer, options...)
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != status {
		r.t.Fatalf("rollout %v ended with %d, expected %d:\n%s", options, got, status, out)
	}
	for _, want := range words {
		if !strings.Contains(out.String(), want) {
			r.t.Errorf("rollout %v does not say %q:\n%s", options, want, out)
		}
	}
	return out.String()
}

// settled holds that each host runs the new firmware after one restart, and that nothing is left to do.
func (r *fleetRollout) settled() {
	r.t.Helper()
	for i := range r.hosts {
		host := hostName(i)
		if v := r.w.Card(host).Running().Version; v != [3]uint16{2, 42, 5000} {
			r.t.Errorf("%s runs %v", host, v)
		}
		if boots := r.w.Machine(host).Boots(); boots != 2 {
			r.t.Errorf("%s was restarted %d times, expected once", host, boots-1)
		}
	}
	r.says(0, "plan", "-detailed-exitcode")
}

// A canary, then waves that keep one subnet manager and one host of each rack out. A failure in the canary, in a wave and in
// the last one stops what follows; the same command goes on. It does no more than a reviewed plan says.
func TestRollout_canary_and_waves(t *testing.T) {
	t.Parallel()
	r := newRollout(t, 6)
	r.says(0, "plan", "-out=reviewed")
	stop := filepath.Join(r.dir, "stop")
	reviewed := []string{"-auto-approve", "-stop-file", stop, "-wave", "3", "-canary", hostName(3), "-plan", filepath.Join(r.dir, "reviewed")}
	r.ends(1, "", slices.Concat(reviewed, []string{"-var", "ipoib_mtu=2000"}),
		"does not say all that has to be done now:", `module.host["host0000"].infiniband_ipoib_interface.fabric["host0000/1"]: `+
			"mtu would not be what the plan that was shown said")
	r.ends(1, "no\n", reviewed[1:],
		"First: host0003\nWave 1: host0000, host0001, host0004\nWave 2: host0002, host0005\n",
		"firmware: MT_9090111019 2.36.5000 -> MT_9090111019 2.42.5000", "nothing was done: it was not approved")
	for i := range r.hosts {
		r.untouched(hostName(i))
	}
	for _, c := range []struct{ fails, says, notBegun string }{
		{hostName(3), "Done: none\nNot done: host0003\n", "host0000, host0001, host0004, host0002, host0005"},
		{hostName(1), "Done: host0003", "host0002, host0005"},
		{hostName(5), "Done: host0", "none"},
	} {
		r.w.Machine(c.fails).Faults.Set(labsim.FaultSpec{FlashVerifyFail: 40})
		out := r.ends(1, "", reviewed, c.says, "Stopped.",
			"Mend what failed, then remove "+stop+", and run the same command again")
		if got := r.notBegun(out); got != c.notBegun {
			t.Errorf("not begun: %s, expected %s:\n%s", got, c.notBegun, out)
		}
		r.w.Machine(c.fails).Faults.Clear()
		r.ends(1, "", reviewed, "nothing was done: a rollout has failed, so no wave is begun. Mend it and remove "+stop)
		if err := os.Remove(stop); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(r.ends(0, "", reviewed, "The plan of all is empty."))
	r.settled()
	r.ends(0, "", reviewed, "Nothing is to be done: the plan of all is empty.")
}

// A first host that does not work stops the rollout, although all of it is applied: in a new fabric without a subnet manager its
// interface has no carrier. Nobody is asked with -auto-approve, so it does not go on by itself.
func TestRollout_first_host_does_not_work(t *testing.T) {
	t.Parallel()
	r := newRollout(t, 2)
	last := `{"subnet_managers": {"host0000": 14}}`
	r.write("managers.auto.tfvars.json", last)
	first := []string{"-canary", hostName(1), "-auto-approve"}
	r.ends(1, "", first, "Done: none\nNot done: host0001\nNot begun: host0000\n", "it is applied, and not all works:\n"+
		`  module.host["host0001"].infiniband_ipoib_interface.fabric["host0001/1"]: the interface has no carrier`)
	r.untouched(hostName(0))
	r.ends(1, "", first, "nothing was done: not all works on hosts on which nothing is left to do, and -auto-approve asks nobody.")
	r.untouched(hostName(0))
	r.ends(0, "yes\n", first[:2], "Not well before it begins:\n", "The plan of all is empty.")
	r.settled()
	// That nothing is planned for a host which does not answer does not say that it is done.
	r.write("keep_override.tf", "provider \"infiniband\" {\n  unreachable = \"keep\"\n}\n")
	r.w.Machine(hostName(1)).Faults.Set(labsim.FaultSpec{Refuse: true})
	r.ends(1, "", first, "  Host host0001 did not answer: nobody knows what is to be done there\n",
		"not all is done: no answer from host0001. Run the same command again when they answer")
}

// An interrupt ends the rollout after what has begun: no other host is changed, and the same command goes on.
func TestRollout_interrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted there")
	}
	t.Parallel()
	r := newRollout(t, 2)
	half, goOn := make(chan struct{}), make(chan struct{})
	left := 100
	r.w.Card(hostName(0)).Flash.SetHook(func(card.Op) error {
		if left--; left == 0 {
			close(half)
			<-goOn
		}
		return nil
	})
	cmd, out := r.rollout("", "-auto-approve")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-half:
	case <-time.After(5 * time.Minute):
		t.Fatal("the first host is not burned")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 1 || !strings.Contains(out.String(), "interrupted; the engine has ended") ||
		r.notBegun(out.String()) != hostName(1) {
		t.Errorf("%d:\n%s", status, out)
	}
	r.ends(0, "yes\n", nil, "The plan of all is empty.")
	r.settled()
}

// A second rollout begins nothing while one runs. After all processes of the first were killed in the middle of a burn, the same
// command goes on from there.
func TestRollout_killed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds the provider's process in /proc")
	}
	t.Parallel()
	r := newRollout(t, 3)
	r.says(0, "plan", "-out=reviewed")
	options := []string{"-auto-approve", "-wave", "2"}
	half, goOn := make(chan struct{}), make(chan struct{})
	left := 100
	r.w.Card(hostName(1)).Flash.SetHook(func(card.Op) error {
		if left--; left == 0 {
			close(half)
			<-goOn
		}
		return nil
	})
	cmd, out := r.rollout("", options...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-half:
	case <-time.After(5 * time.Minute):
		t.Fatalf("no second host is burned:\n%s", out)
	}
	r.ends(1, "", options, "nothing was done: ", "state lock")
	pids := append(r.providers(), cmd.Process.Pid)
	engines, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range engines {
		if dir, err := os.Readlink(link); err == nil && dir == r.dir {
			var pid int
			if _, err := fmt.Sscanf(link, "/proc/%d/cwd", &pid); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = cmd.Wait()
	for _, pid := range pids { // one that is still ending holds the lock of the state
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil {
				break
			}
		}
	}
	close(goOn)
	r.ends(1, "", append(options, "-plan", filepath.Join(r.dir, "reviewed")), "cannot be known before the apply. An earlier apply may "+
		"not have finished: \"plan\" of the engine names its job", "Or run the same without -plan: it shows what it does")
	r.ends(0, "", options, "The plan of all is empty.")
	r.settled()
	for i := range r.hosts {
		if images, _ := r.w.Burns(hostName(i)); images != 1 {
			t.Errorf("%s was burned %d times", hostName(i), images)
		}
	}
}

// Waves take the time of one card each, and not that of all: a rollout of 1 + n hosts in waves of 8 lasts at most twice what a
// single card takes, for each wave.
func TestRollout_waves_in_time(t *testing.T) {
	if *rolloutHosts == 0 {
		t.Skip("measures time, which other tests take: `make fleet` runs it alone, with -rollout.hosts")
	}
	r := newRollout(t, *rolloutHosts)
	for i := range r.hosts {
		r.w.Machine(hostName(i)).Faults.Set(labsim.FaultSpec{FlashSlow: *rolloutSlow})
	}
	begin := time.Now()
	r.says(0, "apply", "-auto-approve", "-target", fmt.Sprintf("module.host[%q]", hostName(0)))
	single := time.Since(begin)
	begin = time.Now()
	out := r.ends(0, "", []string{"-auto-approve", "-wave", "8"}, "The plan of all is empty.")
	all, waves := time.Since(begin), (strings.Count(out, "\nWave ")+strings.Count(out, "\nFirst: "))/2 // shown, then done
	t.Logf("one host %.0f s; the other %d in %d waves of 8: %.0f s, %.2f times one host for each wave", single.Seconds(), r.hosts-1,
		waves, all.Seconds(), all.Seconds()/single.Seconds()/float64(waves))
	if all > 2*single*time.Duration(waves) {
		t.Errorf("%d waves took %s, one host %s:\n%s", waves, all, single, out)
	}
	r.settled()
}

// An ephemeral variable is in no saved plan: each apply gets it again.
func TestRollout_ephemeral_variable(t *testing.T) {
	t.Parallel()
	r := &fleetRollout{operator: newFolder(t, buildProvider(t))}
	r.write("main.tf", "variable \"token\" {\n  type = string\n  ephemeral = true\n}\nvariable \"kept\" {\n  type = string\n}\n"+
		"resource \"terraform_data\" \"it\" {\n  input = var.kept\n}\n")
	r.ends(0, "", []string{"-auto-approve", "-var", "token=secret", "-var", "kept=v"}, "The plan of all is empty.")
}
