package opensm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// Validate says what no partition can be.
func (o object) Validate(ctx context.Context, config *model, diags *diag.Diagnostics) {
	validateKeys(config, diags)
	if !attribute.Known(config.Partitions) {
		return
	}
	if _, err := config.partitions(ctx); err != nil {
		diags.AddAttributeError(path.Root("partitions"), "Invalid value for partitions",
			diagnostic.Sentence(err.Error()))
	}
}

// prefixValidator takes what can be the upper half of a GID.
type prefixValidator struct{}

func (prefixValidator) Description(context.Context) string {
	return "must be 64 bits in hexadecimal, such as 0xfec0000000000001"
}

func (v prefixValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v prefixValidator) ValidateString(ctx context.Context, req validator.StringRequest,
	resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	prefix, err := ib.ParseGUID(req.ConfigValue.ValueString())
	switch {
	case err != nil:
		resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("Invalid value for %s", req.Path),
			"It "+v.Description(ctx)+".")
	case prefix == 0 || prefix>>56 == 0xff:
		resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("Invalid value for %s", req.Path),
			"Zero and what begins with 0xff, as multicast addresses do, cannot be a subnet prefix.")
	}
}

// rateWords are the rates that a group can have.
func rateWords() string {
	words := make([]string, 0, len(ops.Rates()))
	for _, tenths := range ops.Rates() {
		words = append(words, strconv.FormatFloat(float64(tenths)/10, 'f', -1, 64))
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// rateValidator takes the rates that have a code.
type rateValidator struct{}

func (rateValidator) Description(context.Context) string { return "must be " + rateWords() }

func (v rateValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v rateValidator) ValidateFloat64(ctx context.Context, req validator.Float64Request,
	resp *validator.Float64Response) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if rate := req.ConfigValue.ValueFloat64(); !slices.ContainsFunc(ops.Rates(),
		func(tenths int) bool { return float64(tenths)/10 == rate }) {
		resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("Invalid value for %s: no link has %g Gb/s", req.Path, rate),
			"It "+v.Description(ctx)+".")
	}
}

// pollingValidator takes what opensm can be told: whole milliseconds.
type pollingValidator struct{}

func (pollingValidator) Description(context.Context) string {
	return "must be whole milliseconds from 100ms to 10m"
}

func (v pollingValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v pollingValidator) ValidateString(ctx context.Context, req validator.StringRequest,
	resp *validator.StringResponse) {
	d, err := time.ParseDuration(req.ConfigValue.ValueString())
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() || err != nil {
		return // what is no duration the type says
	}
	if d < 100*time.Millisecond || d > 10*time.Minute || d%time.Millisecond != 0 {
		resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("Invalid value for %s", req.Path),
			"It "+v.Description(ctx)+".")
	}
}
