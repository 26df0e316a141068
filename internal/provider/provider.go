// Package provider is the Terraform provider: its configuration, and the list
// of its resources, data sources and functions.
//
// It must not do the work of a resource, or dial while it is configured.
package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/hostpool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/adoptiondata"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/benchmark"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/cardsdata"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/connectivity"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/fabricfile"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/firmware"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/firmwarebackup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/firmwarecatalog"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/firmwareimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/functions"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/guids"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/historydata"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/hostdata"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/linktype"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/listing"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/nodenames"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/nvconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/port"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/rdmaready"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/runlog"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/sriov"
)

// Address is the provider's address in the registry.
const Address = "registry.terraform.io/ibfabric/infiniband"

var (
	_ provider.ProviderWithFunctions     = &Provider{}
	_ provider.ProviderWithListResources = &Provider{}
	_ provider.ProviderWithActions       = &Provider{}
)

// Provider is the provider "infiniband".
type Provider struct {
	version string
	tuning  Tuning
	session *session.Data // since it was configured
}

// Tuning is what tests and measurements change; a release sets Configured alone.
type Tuning struct {
	// Trace listens to what is done over SSH.
	Trace func(host.Event)
	// Pace is the pause between two looks at a job or a restarting host, and Lost
	// how long a host may stay away while a job is watched. Zero means the usual.
	Pace, Lost time.Duration
	// Confirm is how long a host waits until it undoes a change of its network that
	// nobody confirmed. Zero means the usual.
	Confirm time.Duration
	// Configured is told how many hosts are configured.
	Configured func(hosts int)
	// Cards changes how operations on cards are carried out: the operator's clock,
	// the disk of the backups.
	Cards func(*cards.Config)
}

// New returns the provider's constructor for a released version.
func New(version string) func() provider.Provider {
	return NewTraced(version, nil)
}

// NewTraced is New with a listener for what is done over SSH, for counting in
// tests and measurements.
func NewTraced(version string, trace func(host.Event)) func() provider.Provider {
	return NewTuned(version, Tuning{Trace: trace})
}

// NewTuned is New with another pace than that of real hosts.
func NewTuned(version string, tuning Tuning) func() provider.Provider {
	return func() provider.Provider { return &Provider{version: version, tuning: tuning} }
}

// Metadata implements provider.Provider.
func (p *Provider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "infiniband"
	resp.Version = p.version
}

// Configure reads the configuration. It never dials: a host is reached when a
// resource first needs it.
func (p *Provider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var cfg model
	resp.Diagnostics.Append(req.Config.Get(ctx, &cfg)...)
	if resp.Diagnostics.HasError() {
		return
	}
	data := p.data(cfg)
	var err error
	data.Approved, err = approved(cfg.Approved.ValueString())
	diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("approved_images"), "read approved images "+
		cfg.Approved.ValueString(), err)
	if p.tuning.Configured != nil {
		p.tuning.Configured(len(data.Hosts))
	}
	p.session = data
	resp.ResourceData, resp.DataSourceData, resp.ListResourceData = data, data, data
	resp.ActionData = data
}

func (p *Provider) data(cfg model) *session.Data {
	onCards := cards.Config{
		BackupDir: attribute.ExpandHome(cfg.BackupDir.ValueString()), Poll: p.tuning.Pace, Lost: p.tuning.Lost,
		Progress: func(ctx context.Context, message string) { tflog.Info(ctx, diagnostic.Plain(message)) },
	}
	if p.tuning.Cards != nil {
		p.tuning.Cards(&onCards)
	}
	log := runlog.New(onCards.BackupDir)
	onCards.Step = log.Add
	data := &session.Data{
		Hosts: map[string]session.HostConfig{},
		Ready: !cfg.Hosts.IsUnknown() && !cfg.SSH.IsUnknown() && !cfg.BackupDir.IsUnknown() &&
			!cfg.Approved.IsUnknown(),
		Fabrics:   cfg.fabrics(),
		NodeNames: cfg.nodeNames(),
		NamesOpen: !attribute.Known(cfg.NodeNames),
		BackupDir: onCards.BackupDir,
		Planned:   planned.NewWalk(),
		Turns:     session.NewTurns(int(cfg.CardsAtOnce.ValueInt64())),
		Restores:  planned.NewRestores(),
		Cards:     hca.New(onCards),
		RunLog:    log,
		Confirm:   p.tuning.Confirm,
		Began:     time.Now(),
	}
	transports := map[string]sshhost.Config{}
	for name, v := range cfg.Hosts.Elements() {
		entry, ok := v.(types.Object)
		if !ok {
			continue
		}
		s := settings{own: entry.Attributes(), defaults: cfg.defaults()}
		host := s.policy()
		host.Pending = entry.IsUnknown() || s.pending()
		host.Reboot.Poll = p.tuning.Pace
		data.Hosts[name] = host
		transport := s.transport()
		transport.Trace = p.tuning.Trace
		transports[name] = transport
	}
	pool := hostpool.New(transports)
	data.Set = hosts.NewSet(pool.Host)
	data.Lock = pool.Lock
	return data
}

// Resources implements provider.Provider.
func (p *Provider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		card.New, firmwarebackup.New, firmwareimage.New, firmware.New, guids.New, linktype.New, nvconfig.New,
		activation.New, port.New, sriov.New, opensm.New, nodenames.New, ipoib.New, benchmark.New, fabric.NewBaseline,
		fabricfile.New,
	}
}

// DataSources implements provider.Provider.
func (p *Provider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		hostdata.New, cardsdata.New, historydata.New, fabric.New, connectivity.New, rdmaready.New,
		firmwareimage.NewDataSource, firmwarecatalog.New,
		adoptiondata.New(walk),
	}
}

// ListResources implements provider.ProviderWithListResources.
func (p *Provider) ListResources(context.Context) []func() list.ListResource {
	return listing.All(walk)
}

// Actions implements provider.ProviderWithActions.
func (p *Provider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{benchmark.NewAction, opensm.NewFailOver, fabric.NewClearCounters, card.NewSettleJob,
		activation.NewRestartHost}
}

// Functions implements provider.ProviderWithFunctions.
func (p *Provider) Functions(context.Context) []func() function.Function { return functions.All() }
