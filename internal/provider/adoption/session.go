package adoption

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// Serve starts the provider with the data of a session.
type Serve func(*session.Data) tfprotov6.ProviderServer

// OfSession is the lab of the named hosts of a provider block, and what starts a walk over
// those that could be read. The lab is nil if a name is wrong.
func OfSession(ctx context.Context, data *session.Data, names []string, serve Serve,
	diags *diag.Diagnostics) (*Lab, Starter) {
	for _, name := range names {
		if err := known(data, name); err != nil {
			diagnostic.AddErrorAt(diags, path.Root("hosts"), "read host "+name, err)
		}
	}
	if diags.HasError() {
		return nil, nil
	}
	data.Set.ForgetOlder() // a read during the apply shows what the hosts are after the changes
	found, missing := data.SnapshotsOf(ctx, names)
	var machines []*Machine
	for _, name := range names {
		machines = append(machines, NewMachine(name, "", found[name], missing[name]))
	}
	lab := NewLab(machines, Logged(ctx))
	var up []string
	for _, m := range lab.Up() {
		up = append(up, m.Name)
	}
	return lab, func(ctx context.Context) (*Walk, error) {
		return Start(ctx, serve(data.Fork(up)), map[string]any{})
	}
}

// known reports what keeps a host of the configuration from being asked.
func known(data *session.Data, name string) error {
	if err := data.InMap(name); err != nil {
		return err
	}
	if !data.HostReady(types.StringValue(name)) {
		return errors.New("the provider's entry of this host has a value that is not known yet, so the host cannot be " +
			"asked. Let what reads it depend on the resource that gives the value")
	}
	return nil
}

// Logged is progress that goes to the log of the engine.
func Logged(ctx context.Context) Progress {
	return func(format string, args ...any) { tflog.Info(ctx, diagnostic.Plain(fmt.Sprintf(format, args...))) }
}
