// Command terraform-provider-infiniband is the provider's plugin process, and the
// commands that come with it.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/adopt"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/check"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/history"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/report"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/review"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/rollout"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/watch"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
)

// version is set by the linker.
var version = "dev"

func main() {
	program := command.Program{Name: "terraform-provider-infiniband", Version: version, Commands: commands, Serve: serve}
	os.Exit(program.Main(context.Background(), os.Args[1:], command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// commands are what the binary does for a person who starts it.
var commands = []command.Command{
	check.Command,
	adopt.Command(func() tfprotov6.ProviderServer { return provider.Server(provider.New(version)()) }),
	adopt.Init,
	watch.Command,
	history.Command,
	report.Command,
	explain.Command,
	review.Command,
	record.Command(version),
	rollout.Command,
}

func serve(debug bool) error {
	quietLogs()
	collectGarbage(0)
	// Core's death closes the pipe behind stderr; a write to it must not end the
	// process in the middle of a change.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if !debug {
		go watchParent(ctx, os.Getppid())
	}
	var options []tf6server.ServeOpt
	if debug {
		options = append(options, tf6server.WithManagedDebug())
	}
	return tf6server.Serve(provider.Address, func() tfprotov6.ProviderServer {
		return provider.Server(provider.NewTuned(version, provider.Tuning{Configured: collectGarbage})())
	}, options...)
}

// quietLogs switches the SDK's loggers off unless the user asked for logs.
// plugin-log means TRACE when no level is set, which costs a third of the time
// of a plan for lines that core drops.
func quietLogs() {
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "TF_LOG") && !strings.HasSuffix(kv, "=") {
			return
		}
	}
	for _, name := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_PROVIDER"} {
		_ = os.Setenv(name, "OFF") // fails only for names with "=" or NUL
	}
}

// orphanGrace is what remains to a change that only watches a job of the host
// when core was killed. The job itself goes on without us.
const orphanGrace = 3 * time.Second

// watchParent ends the process some time after its parent did: core that is
// killed cannot stop its plugins, which would live for ever.
func watchParent(ctx context.Context, parent int) {
	tick := time.NewTicker(time.Second)
	for os.Getppid() == parent {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
	time.Sleep(orphanGrace)
	os.Exit(1)
}

// A plan allocates a hundred times what it keeps, and Go's collector takes a quarter of its processor time. So the
// plugin lets more garbage wait than Go does. What waits grows with what is kept, and that with the hosts: beyond
// lazyHosts of them the collector comes more often, so that about 350 MB wait at most.
const (
	usualGC   = 100 // percent, as GOGC
	lazyGC    = 400
	lazyHosts = 100
)

// collectGarbage says how often garbage is collected. What the operator has set stays.
func collectGarbage(hosts int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent(hosts))
	}
}

func gcPercent(hosts int) int { return min(lazyGC, max(usualGC, lazyGC*lazyHosts/max(hosts, 1))) }
