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

const wantPrefix = "must be 64 bits in hexadecimal, such as 0xfec0000000000001"

// subnetPrefix takes what can be the upper half of a GID.
var subnetPrefix = attribute.CheckText{Described: wantPrefix, Wrong: func(text string) (_, problem string) {
	prefix, err := ib.ParseGUID(text)
	switch {
	case err != nil:
		problem = "It " + wantPrefix + "."
	case prefix == 0 || prefix>>56 == 0xff:
		problem = "Zero and what begins with 0xff, as multicast addresses do, cannot be a subnet prefix."
	}
	return "", problem
}}

// rateWords are the rates that a group can have.
func rateWords() string {
	words := make([]string, 0, len(ops.Rates()))
	for _, tenths := range ops.Rates() {
		words = append(words, strconv.FormatFloat(float64(tenths)/10, 'f', -1, 64))
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// rateValidator takes the rates that have a code.
type rateValidator struct{ attribute.Described }

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

const wantPolling = "must be whole milliseconds from 100ms to 10m"

// polling takes what opensm can be told: whole milliseconds. What is no duration the type says.
var polling = attribute.CheckText{Described: wantPolling, Wrong: func(text string) (_, problem string) {
	d, err := time.ParseDuration(text)
	if err == nil && (d < 100*time.Millisecond || d > 10*time.Minute || d%time.Millisecond != 0) {
		problem = "It " + wantPolling + "."
	}
	return "", problem
}}
