package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/modprobe"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// KindTrueNAS is TrueNAS SCALE.
const KindTrueNAS Kind = "truenas"

var truenas = Description{
	Kind: KindTrueNAS, Title: "TrueNAS SCALE 25.10", Short: "TrueNAS",
	// Its os-release says Debian; whoever collects facts puts the id in its place.
	IDs: []string{"truenas"}, Releases: []string{"25.10"},
	called: func(os inventory.OS) string { return "TrueNAS SCALE " + os.VersionID },
	Tools: []ToolAdvice{{Advice: "TrueNAS carries mstflint with its system from 25.10 on, and nothing may be installed " +
		"on it. Update TrueNAS, or move the card to another machine for the time of the burn."}},
	Stacks: []string{"TrueNAS middleware"}, portTypes: trueNAS{},
	Note: "Nothing is installed on it; mstflint and pciutils are in the image. The user `truenas_admin` is enough; " +
		"its sudo asks for a password unless you allow it without one.",
	platform: func(is system) Platform { return trueNAS{is} },
}

// trueNAS is TrueNAS SCALE: an appliance whose middleware owns /etc and the
// boot loader. Nothing is installed on it and no file of /etc is edited,
// because the middleware rewrites them and an upgrade loses them.
type trueNAS struct{ system }

const (
	modulesLoadToken = "modules_load"
	postInitUnit     = "ix-postinit.service"
	kernelOptionsMax = 1024 // characters; the middleware refuses more
	truenasDelay     = 5 * time.Second
)

// Reboot implements Platform.
func (trueNAS) Reboot(ctx context.Context, h *hosts.Host, policy reboot.Policy) (string, error) {
	reason := policy.Reason
	reason = cmp.Or(reason, "Terraform (infiniband provider)")
	return reboot.Run(ctx, h, policy, reboot.Restart{
		Request:  midclt.Reboot(reason, truenasDelay),
		Withdraw: notTaken,
		Started:  trueNASStarted,
	})
}

// notTaken reports whether the middleware has refused a restart or was not reached. It takes
// none back. Where midclt has waited for the answer in vain, the middleware may have it.
func notTaken(_ context.Context, _ host.Host, _ time.Time, failed *host.ExitError) bool {
	return !strings.Contains(failed.Stderr, "Call timeout")
}

// trueNASStarted waits for the middleware and for the post-init scripts: the middleware
// is READY before they run.
func trueNASStarted(ctx context.Context, h host.Host) (bool, string, error) {
	r, err := h.Run(ctx, midclt.SystemState())
	if err != nil {
		return false, "", notYet(err)
	}
	state := strings.TrimSpace(string(r.Stdout))
	if state != "READY" {
		return false, "the middleware says " + strconv.Quote(state), nil
	}
	unit, err := reboot.StateOf(h.Run(ctx, systemctl.IsActive(postInitUnit)))
	return err == nil && unit == "active", postInitUnit + " is " + strconv.Quote(unit), err
}

// notYet turns the failure of midclt without a running middleware into a plain message.
func notYet(err error) error {
	var exit *host.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("the middleware does not answer yet: %s", strings.TrimSpace(exit.Stderr))
	}
	return err
}

// Install implements Platform.
func (t trueNAS) Install(_ context.Context, h *hosts.Host, packages ...string) error {
	if len(packages) == 0 {
		return nil
	}
	return &UnsupportedError{
		Host: h.Name(), Platform: t.Name(), What: "installing " + strings.Join(packages, ", "),
		Reason:      "package management is disabled on the appliance, and the next update would remove what was added",
		Alternative: "Use another host for what needs the package.",
	}
}

// MissingModules implements Platform.
func (t trueNAS) MissingModules(s *inventory.Snapshot, want ...string) (now, boot []string) {
	return missingModules(s, t.StoredModules(s).Or(nil), want)
}

// ModulesStoredIn implements Platform.
func (trueNAS) ModulesStoredIn() string { return "kernel_extra_options" }

// StoredModules implements Platform.
func (trueNAS) StoredModules(s *inventory.Snapshot) fact.Of[[]string] {
	options := readKernelOptions(s)
	tokens, known := options.Get()
	if !known {
		return fact.Unknown[[]string](options.Why())
	}
	return fact.Known(loadedByOptions(tokens))
}

// EnsureModules implements Platform. modules_load= on the kernel command line
// is read by systemd-modules-load, which runs before the middleware configures
// the network.
func (t trueNAS) EnsureModules(ctx context.Context, h *hosts.Host, modules ...string) error {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return err
	}
	now, boot := t.MissingModules(s, modules...)
	for _, m := range now {
		if _, err := h.Run(ctx, modprobe.Load(m)); err != nil {
			return fmt.Errorf("loading the kernel module %s: %w", m, err)
		}
	}
	if len(boot) == 0 {
		return nil
	}
	return setKernelOptions(ctx, h, s, func(tokens []string) []string {
		return addModules(tokens, boot)
	})
}

// addModules extends the first modules_load= token, or adds one.
func addModules(tokens, modules []string) []string {
	out := slices.Clone(tokens)
	for i, tok := range out {
		if key, value, ok := strings.Cut(tok, "="); ok && key == modulesLoadToken {
			out[i] = key + "=" + strings.Join(append(strings.Split(value, ","), modules...), ",")
			return out
		}
	}
	return append(out, modulesLoadToken+"="+strings.Join(modules, ","))
}

func loadedByOptions(tokens []string) []string {
	var modules []string
	for _, tok := range tokens {
		if key, value, ok := strings.Cut(tok, "="); ok && key == modulesLoadToken {
			modules = append(modules, strings.Split(value, ",")...)
		}
	}
	return modules
}

// kernelOptions returns the tokens of the shared kernel_extra_options string.
func kernelOptions(s *inventory.Snapshot) []string { return readKernelOptions(s).Or(nil) }

func readKernelOptions(s *inventory.Snapshot) fact.Of[[]string] {
	if s.TrueNAS == nil {
		return fact.Unknown[[]string]("the middleware did not answer")
	}
	c, err := midclt.ParseAdvancedConfig(s.TrueNAS.AdvancedConfig)
	if err != nil {
		return fact.Unknown[[]string](err.Error())
	}
	return fact.Known(strings.Fields(c.KernelExtraOptions))
}

// setKernelOptions edits the shared string token by token: tokens of others stay in
// their places.
func setKernelOptions(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, edit func([]string) []string) error {
	if s.TrueNAS == nil {
		return fmt.Errorf("%s: the middleware did not answer, so its kernel options are not known", h.Name())
	}
	if _, err := midclt.ParseAdvancedConfig(s.TrueNAS.AdvancedConfig); err != nil {
		return fmt.Errorf("%s: reading kernel_extra_options: %w", h.Name(), err)
	}
	old := kernelOptions(s)
	text := strings.Join(edit(slices.Clone(old)), " ")
	if text == strings.Join(old, " ") {
		return nil
	}
	if len(text) > kernelOptionsMax || strings.ContainsAny(text, "\"\n") {
		return fmt.Errorf("%s: the middleware would refuse the kernel options %q: at most %d characters, no quotes", h.Name(),
			text, kernelOptionsMax)
	}
	if _, err := h.Run(ctx, midclt.SetKernelOptions(text)); err != nil {
		return fmt.Errorf("storing kernel_extra_options %q: %w", text, err)
	}
	return nil
}

// LinkTypesStoredIn implements Platform.
func (trueNAS) LinkTypesStoredIn() string { return "kernel_extra_options" }

const portTypeToken = mlx4Module + "." + portTypeParam

// PersistLinkTypes implements Platform.
func (trueNAS) PersistLinkTypes(ctx context.Context, h *hosts.Host, _ ib.PCIAddress,
	types map[int]ib.LinkType) error {
	s, array, err := portTypesFor(ctx, h, types)
	if err != nil {
		return err
	}
	return setKernelOptions(ctx, h, s, func(tokens []string) []string {
		return append(withoutTypes(tokens), portTypeToken+"="+array)
	})
}

// withoutTypes leaves out the setting of the ports in all its forms: kmod and the kernel take a dash for an
// underscore, and a quote may stand before it.
func withoutTypes(tokens []string) []string {
	return slices.DeleteFunc(tokens, func(t string) bool {
		name, _, ok := strings.Cut(strings.TrimPrefix(t, `"`), "=")
		return ok && strings.ReplaceAll(name, "-", "_") == portTypeToken
	})
}

// LinkTypePlaces implements Platform. The token carries no mark of its owner, so whoever set it,
// it is ours. The middleware gives it to the kernel of the next boot, so what the running one
// was given is no place.
func (t trueNAS) LinkTypePlaces(s *inventory.Snapshot, _ ib.PCIAddress) Places {
	o := modprobe.ReadCommandLine(strings.Join(kernelOptions(s), " "), mlx4Module, portTypeParam)
	ours := placeOf(t.LinkTypesStoredIn(), o, fact.Known(false))
	ours.Ours = true
	if len(ours.Unclear) > len(o.Unclear) { // a value without sense is written anew
		ours.Types, ours.Unclear = nil, ours.Unclear[:len(o.Unclear)]
	}
	behind, before := filesOfOthers(s, "", ours.Stale)
	return inOrder(s, Places{ours}, behind, before)
}
