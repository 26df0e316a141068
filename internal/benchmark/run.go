package benchmark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iperf3"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/perftest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/qperf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemdrun"
)

const (
	grace    = 30 * time.Second // for a client beyond the length of its test
	patience = 15 * time.Second // for a server that has just been started
	pause    = 500 * time.Millisecond
	cleaning = 30 * time.Second
)

// Run installs what is missing, starts the server, measures from the client and
// stops the server. Whatever happens to this process, the server is ended by its
// own time limit, and the client by its own.
func Run(ctx context.Context, server, client *hosts.Host, d Request, progress func(string)) (Result, error) {
	for _, h := range []*hosts.Host{server, client} {
		if err := install(ctx, h, d.Test, progress); err != nil {
			return Result{}, err
		}
	}
	r, err := choose(ctx, server, client, d, progress)
	if err != nil {
		return r, err
	}
	if r.ServerVersion, err = version(ctx, server, d.Test); err != nil {
		return r, err
	}
	if r.ClientVersion, err = version(ctx, client, d.Test); err != nil {
		return r, err
	}
	// The server holds the lock on its own host too: two benchmarks that meet there fail at their start.
	serve := under(d.serverArgs(r))
	progress(fmt.Sprintf("starting %s on %s", d.Test.Program, server.Name()))
	// As long as the latest client may take: one that is asked until patience is over runs its whole
	// length and grace after that.
	start := systemdrun.WithLimit(d.Length+grace+patience+cleaning, Unit, serve...)
	if _, err = server.Run(ctx, start); err != nil {
		return r, startError(server, err)
	}
	defer stop(ctx, server)
	progress(fmt.Sprintf("measuring %s from %s to %s for %s", d.Test.Name, client.Name(), r.Pair.Addr, d.Length))
	r.MeasuredAt = time.Now()
	r.ServerCommand, r.ClientCommand = shellcmd.Join(d.serverArgs(r)), shellcmd.Join(d.clientArgs(r))
	if err = d.measure(ctx, server, client, &r); err != nil {
		return r, err
	}
	progress(fmt.Sprintf("%s from %s to %s: %s", d.Test.Name, client.Name(), server.Name(), d.Test.Text(r)))
	return r, nil
}

func install(ctx context.Context, h *hosts.Host, t Test, progress func(string)) error {
	s, err := h.Snapshot(ctx)
	if err != nil || s.Commands[t.lookFor] {
		return err
	}
	plat, err := platform.Of(s)
	if err != nil {
		return err
	}
	packages := plat.PackagesFor(t.feature, s.OS.Kernel)
	progress(fmt.Sprintf("installing %s on %s", strings.Join(packages, ", "), h.Name()))
	return plat.Install(ctx, h, packages...)
}

// versionScript: the status of --version says nothing, and some print to standard error.
const versionScript = `"$1" --version 2>&1 | head -n 1`

func version(ctx context.Context, h *hosts.Host, t Test) (string, error) {
	r, err := h.Run(ctx, shellcmd.Script("program-version", versionScript, t.Program).WithTimeout(grace))
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", t.Program, err)
	}
	text := strings.TrimPrefix(strings.TrimSpace(string(r.Stdout)), "Version: ")
	if t.Tool == "perftest" {
		text = "perftest " + text
	}
	return text, nil
}

// under has a program hold the lock of benchmarks: one next to another measures neither.
func under(argv []string) []string { return flock.Under(flock.Benchmark, argv) }

func (d Request) serverArgs(r Result) []string {
	switch d.Test.Tool {
	case "iperf3":
		return iperf3.Server(r.Pair.Addr, d.port())
	case "qperf":
		return qperf.Server(d.port())
	}
	return perftest.Server(d.Test.Program, perftest.Port(r.ServerRDMA), d.port(), d.Length)
}

func (d Request) clientArgs(r Result) []string {
	switch d.Test.Tool {
	case "iperf3":
		return iperf3.Client(r.Pair.Addr, d.port(), d.Length, d.Streams)
	case "qperf":
		return qperf.Client(r.Pair.Addr, d.port(), d.Length, d.Test.Name)
	}
	return perftest.Client(d.Test.Program, perftest.Port(r.ClientRDMA), r.Pair.Addr, d.port(), d.Length)
}

func startError(server *hosts.Host, err error) error {
	var exit *host.ExitError
	if errors.As(err, &exit) && strings.Contains(exit.Stderr, "already loaded") {
		return busy(server)
	}
	return fmt.Errorf("starting the server: %w", err)
}

// busy is the error of a host that is in another benchmark.
func busy(h *hosts.Host) error {
	return fmt.Errorf("another benchmark runs on %s. Two at the same time disturb each other. It ends by itself: %s has "+
		"a time limit. Apply again then", h.Name(), Unit)
}

// stop ends the server also when ctx has ended. A unit that has ended by itself is
// not loaded any more, which is status 5; a host that does not answer ends it by
// the time limit.
func stop(ctx context.Context, server *hosts.Host) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	_, _ = server.Run(ctx, systemctl.Stop(Unit))
}

// measure runs the client, again while the server is not listening yet.
func (d Request) measure(ctx context.Context, server, client *hosts.Host, r *Result) error {
	// timeout runs on the host: a client whose connection is lost would load the fabric without an end.
	argv := append([]string{"timeout", strconv.Itoa(int((d.Length + grace).Seconds()))}, d.clientArgs(*r)...)
	flocked := under(argv)
	cmd := shellcmd.New(flocked[0], flocked[1:]...).AsRoot().Changes().WithTimeout(d.Length + 2*grace)
	// systemd-run returns when the program is started, which is before it listens.
	for deadline := time.Now().Add(patience); ; {
		out, said, err := d.once(ctx, client, cmd, r.ClientRDMA.Device)
		switch {
		case err != nil:
			return err
		case said == "":
			return d.read(client, cmd, out, r)
		case time.Now().After(deadline) || !isRefused(said):
			if log := d.serverEnd(ctx, server); log != "" {
				return fmt.Errorf("the server on %s ended before it was asked: %s", server.Name(), log)
			}
			return fmt.Errorf("the server on %s does not answer at %s: %s. The usual cause is a firewall, which has to let %s "+
				"through; infiniband_connectivity says whether ping gets there", server.Name(), r.Pair.Addr, said, d.ports())
		}
		if err := poll.Pause(ctx, pause); err != nil {
			return err
		}
	}
}

// isRefused reports whether a client says that nobody listens yet, or that it is not let through.
func isRefused(said string) bool {
	return slices.ContainsFunc([]string{"refused", "failed to connect", "Couldn't connect"},
		func(text string) bool { return strings.Contains(said, text) })
}

// once runs the client; said is what kept it from the server.
func (d Request) once(ctx context.Context, client *hosts.Host, cmd shellcmd.Command,
	device string) (out []byte, said string, err error) {
	answer, err := client.Run(ctx, cmd)
	var exit *host.ExitError
	if errors.As(err, &exit) {
		if exit.Status == flock.Taken {
			return nil, "", busy(client)
		}
		text := strings.TrimSpace(exit.Stdout + "\n" + exit.Stderr)
		if d.Test.RDMA && strings.Contains(text, "Unable to find the Infiniband/RoCE device") {
			return nil, "", fmt.Errorf("perftest cannot open the RDMA device %s of %s, which the kernel shows. It goes through "+
				"/dev/infiniband/uverbsN, which the module ib_uverbs makes, and through the card's user-space driver, which is in "+
				"the package ibverbs-providers of Debian and Ubuntu and libibverbs of others. It says: %s", device, client.Name(),
				strings.Join(strings.Fields(text), " "))
		}
		// iperf3 reports in its JSON also where it ends with a status (3.12 and newer differ in that).
		if isRefused(text) || d.Test.Tool == "iperf3" && strings.HasPrefix(text, "{") {
			answer.Stdout, err = []byte(exit.Stdout), nil
			said = refusal(text)
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("measuring from %s: %w", client.Name(), err)
	}
	var problem *iperf3.Error
	if d.Test.Tool == "iperf3" {
		if _, parsed := iperf3.Parse(answer.Stdout); errors.As(parsed, &problem) {
			said = problem.Message
		}
	}
	return answer.Stdout, said, nil
}

// refusal is what a client says from the line that tells of the connection on: perftest has
// another one after it.
func refusal(text string) string {
	lines := strings.Split(text, "\n")
	at := slices.IndexFunc(lines, isRefused)
	if at < 0 {
		at = len(lines) - 1
	}
	return strings.Join(strings.Fields(strings.Join(lines[at:], " ")), " ")
}

// serverEnd is what a server that has ended said; empty if it runs.
func (d Request) serverEnd(ctx context.Context, server *hosts.Host) string {
	// A server that runs and does not answer is behind a firewall; one that has ended says why in its log.
	if _, err := server.Run(ctx, systemctl.IsActive(Unit)); err == nil {
		return ""
	}
	r, err := server.Run(ctx, systemctl.Journal(Unit, 5))
	if text := strings.TrimSpace(string(r.Stdout)); err == nil && text != "" {
		return text
	}
	return "its log is empty; it may have met another benchmark on that host"
}

func (d Request) read(client *hosts.Host, cmd shellcmd.Command, out []byte, r *Result) error {
	var err error
	switch d.Test.Tool {
	case "iperf3":
		var v iperf3.Result
		v, err = iperf3.Parse(out)
		r.Gbps, r.Retransmits = v.BitsPerSecond/1e9, v.Retransmits
	case "qperf":
		var v qperf.Result
		v, err = qperf.Parse(string(out))
		// qperf counts bytes and nanoseconds with -uu, perftest prints Gb/s and microseconds.
		r.Gbps, r.LatencyUS = v.BytesPerSecond*8/1e9, v.LatencyNS/1e3
	default:
		var v perftest.Result
		v, err = perftest.Parse(string(out))
		r.Gbps, r.LatencyUS = v.Gbps, v.LatencyUS
	}
	if err != nil {
		return &host.OutputError{Host: client.Name(), Command: cmd.String(), Problem: err.Error(), Output: string(out)}
	}
	return nil
}
