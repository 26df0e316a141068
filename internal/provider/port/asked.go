package port

import (
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/port"
)

// seen is what is kept beside the state: what the last look has found, and what the last apply
// was asked for. The state shows what differs from that. It cannot be compared with itself:
// with another port than unit, each refresh would show the other of the two.
type seen struct {
	ops.Seen
	Asked *setting `json:",omitempty"`
}

// setting is what the arguments say. A set without names is not managed.
type setting struct {
	Enabled        bool
	Speeds, Widths []string
}

func (m *model) setting() *setting {
	if m.Enabled.IsNull() { // an import, for which nothing was asked
		return nil
	}
	return &setting{m.Enabled.ValueBool(), texts(m.Speeds), texts(m.Widths)}
}
