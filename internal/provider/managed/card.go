package managed

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// CardKind is how what one kind of resource sets of a card is called.
type CardKind struct {
	Name   string // of the resource: "infiniband_guids"
	Thing  string // "GUIDs"
	Change string // verb of an apply: "set"
	Awaits string // what may not be known yet: "the card or a value"
	Stays  string // what a destroy leaves, in sentences
	// Timeout is for each operation that the configuration has no limit for.
	Timeout time.Duration
}

// OnCard are the attributes that all resources of what is stored in a card have. Models embed it.
type OnCard struct {
	ID           types.String     `tfsdk:"id"`
	CardID       attribute.CardID `tfsdk:"card_id"`
	CardIdentity types.String     `tfsdk:"card_identity"`
	Allow        types.Object     `tfsdk:"allow"`
	Activation   types.String     `tfsdk:"activation"`
	Timeouts     timeouts.Value   `tfsdk:"timeouts"`
	attribute.Restart

	Change         types.String `tfsdk:"change"`
	RebootRequired types.Bool   `tfsdk:"reboot_required"`
}

// CardObject is what only one kind of resource can do with a card. M is the model of the resource, Q
// what is asked for, L what a look has found, and S what is kept of that beside the state. The rest
// is the same for all that is stored in a card and judged by a verdict: one card at a time is
// changed, and a destroy leaves it as it is.
type CardObject[M, Q, L, S any] interface {
	Schema(ctx context.Context) schema.Schema
	Fields(m *M) *OnCard
	// Known reports whether everything that the verdict needs is known.
	Known(config *M) bool
	// Look looks at what the card in s.At has.
	Look(ctx context.Context, s *CardStep[M, Q, L, S]) (L, error)
	// Request reads what s.Config asks for. An error belongs to an attribute, unless that is empty.
	Request(s *CardStep[M, Q, L, S]) (q Q, attribute string, err error)
	// Holds reports whether the state has what the configuration asks for. It must follow from these two
	// alone, and from what is asked for.
	Holds(s *CardStep[M, Q, L, S]) bool
	// Keeps reports of a state that holds whether it is the plan, whatever is found.
	Keeps(s *CardStep[M, Q, L, S]) bool
	Assess(ctx context.Context, s *CardStep[M, Q, L, S]) (cards.Assessment, error)
	// Plan fills what the plan knows, and tells what other resources have to know. Live are the
	// attributes that the host decides. Not ok: it refuses.
	Plan(ctx context.Context, s *CardStep[M, Q, L, S]) (live []string, ok bool)
	// ToDo reports whether an apply has anything to do.
	ToDo(s *CardStep[M, Q, L, S]) bool
	// Restarts says why the apply restarts the host, in sentences.
	Restarts(s *CardStep[M, Q, L, S]) string
	// Becomes is the change that would be made of what was found; empty if there is none.
	Becomes(s *CardStep[M, Q, L, S]) string
	// Seen is what is kept of a look beside the state: what the plan of a change rests on.
	Seen(l L) S
	// Apply changes the card, and gives what was read back.
	Apply(ctx context.Context, s *CardStep[M, Q, L, S]) (done L, notes []string, err error)
	// Finish fills the plan after a change.
	Finish(s *CardStep[M, Q, L, S], done L)
	// Refresh fills a state. Not ok: it stays as it is, and diags says why.
	Refresh(ctx context.Context, at *session.FoundCard, state *M, diags *diag.Diagnostics) (found L, ok bool)
}

// CardStep is one plan or one apply, as the hooks of a CardObject see it.
type CardStep[M, Q, L, S any] struct {
	Plan, Config *M
	State        *M   // zero for a new object
	Exists       bool // there is a state
	Planning     bool // false just before the change
	At           *session.CardAt
	Found        L
	Ask          Q
	Held         bool // the state has what is asked for
	cards.Assessment
	// Before is what the plan rests on; nil if nothing is known of that. Becomes is the change that
	// would be made. Both are for Apply.
	Before  *S
	Becomes string
	Diags   *diag.Diagnostics
}
