package opensm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// partition is one element of the map partitions; the key is its name.
type partition struct {
	PKey    attribute.PKey `tfsdk:"pkey"`
	IPoIB   types.Bool     `tfsdk:"ipoib"`
	MTU     types.Int64    `tfsdk:"mtu"`
	Rate    types.Float64  `tfsdk:"rate_gbps"`
	Index0  types.Bool     `tfsdk:"index0"`
	Full    types.Set      `tfsdk:"full"`
	Limited types.Set      `tfsdk:"limited"`
}

var partitionType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"pkey": attribute.PKeyType{}, "ipoib": types.BoolType, "mtu": types.Int64Type, "rate_gbps": types.Float64Type,
	"index0": types.BoolType,
	"full":   types.SetType{ElemType: types.StringType}, "limited": types.SetType{ElemType: types.StringType},
}}

func (p partition) read(ctx context.Context, name string) (ops.Partition, error) {
	out := ops.Partition{
		Name: name, SL: -1, Scope: -1, IPoIB: p.IPoIB.ValueBool(), Index0: p.Index0.ValueBool(),
		MTU: int(p.MTU.ValueInt64()), Rate: int(p.Rate.ValueFloat64()*10 + 0.5),
	}
	if err := validName(name); err != nil {
		return out, err
	}
	var err error
	if out.PKey, err = pkey(name, p.PKey.ValueString()); err != nil {
		return out, err
	}
	for kind, set := range map[ops.Membership]types.Set{ops.Full: p.Full, ops.Limited: p.Limited} {
		if slices.ContainsFunc(set.Elements(), attr.Value.IsNull) {
			return out, fmt.Errorf("a member is null. %s", attribute.NoPortGUID)
		}
		var words []string
		if diags := set.ElementsAs(ctx, &words, false); !set.IsNull() && diags.HasError() {
			return out, fmt.Errorf("members: %v", diags)
		}
		for _, w := range words {
			port, err := member(w)
			if err != nil {
				return out, err
			}
			out.Members = append(out.Members, ops.Member{Port: port, Membership: kind})
		}
	}
	if len(out.Members) == 0 {
		return out, fmt.Errorf("it has no members: give it full or limited ones, such as full = [\"ALL\"]")
	}
	return out, nil
}

// validName keeps out what the file would read as something else.
func validName(name string) error {
	if name == "" || strings.ContainsAny(name, " \t\n,=:;#\"'") {
		return fmt.Errorf("the name must be one word without , = : ; # and quotes")
	}
	return nil
}

// pkey reads a P_Key. In a partitions.conf it has no membership bit.
func pkey(name, text string) (uint16, error) {
	if text == "" {
		if name == ops.DefaultPartition {
			return ops.DefaultPKey, nil
		}
		if strings.EqualFold(name, ops.DefaultPartition) {
			return 0, fmt.Errorf("the one with the P_Key 0xffff, which opensm makes the default, is called %q",
				ops.DefaultPartition)
		}
		// opensm would draw one, and another when partitions are added before it.
		return 0, fmt.Errorf("it needs a pkey from 0x8001 to 0xfffe")
	}
	n, err := strconv.ParseUint(text, 0, 16)
	key := uint16(n) & ops.DefaultPKey
	switch {
	case err != nil || key == 0:
		return 0, fmt.Errorf("%q is no P_Key: want 0x8001 to 0xffff", text)
	case (key == ops.DefaultPKey) != (name == ops.DefaultPartition):
		return 0, fmt.Errorf("the P_Key 0xffff belongs to the partition %q, and only to it", ops.DefaultPartition)
	}
	return key, nil
}

func member(word string) (string, error) {
	if slices.Contains(ops.Keywords(), word) {
		return word, nil
	}
	g, err := ib.ParseGUID(word)
	if err != nil {
		return "", fmt.Errorf("member %q is neither a port GUID nor one of %s", word, strings.Join(ops.Keywords(), ", "))
	}
	return g.String(), nil
}

// partitionModel is a partition as a configuration would write it.
func partitionModel(p ops.Partition) partition {
	out := partition{
		PKey: attribute.PKeyOf(p.PKey), IPoIB: types.BoolNull(), MTU: types.Int64Null(), Rate: types.Float64Null(),
		Index0: types.BoolNull(),
		Full:   types.SetNull(types.StringType), Limited: types.SetNull(types.StringType),
	}
	if p.IPoIB {
		out.IPoIB = types.BoolValue(true)
	}
	if p.Index0 {
		out.Index0 = types.BoolValue(true)
	}
	if p.MTU != 0 {
		out.MTU = types.Int64Value(int64(p.MTU))
	}
	if p.Rate != 0 {
		out.Rate = types.Float64Value(float64(p.Rate) / 10)
	}
	members := map[bool][]attr.Value{}
	for _, m := range p.Members {
		limited := m.Membership == ops.Limited
		members[limited] = append(members[limited], types.StringValue(m.Port))
	}
	if len(members[false]) > 0 {
		out.Full = attribute.SetOf(types.StringType, members[false])
	}
	if len(members[true]) > 0 {
		out.Limited = attribute.SetOf(types.StringType, members[true])
	}
	return out
}
