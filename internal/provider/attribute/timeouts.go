package attribute

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
)

// TimeoutsName is the argument that limits the operations of a resource.
const TimeoutsName = "timeouts"

// Operation is what an entry of timeouts limits.
type Operation struct {
	name string
	in   func(timeouts.Value, context.Context, time.Duration) (time.Duration, diag.Diagnostics)
}

// The operations of resources that have a limit.
var (
	Create = Operation{"create", timeouts.Value.Create}
	Update = Operation{"update", timeouts.Value.Update}
	Delete = Operation{"delete", timeouts.Value.Delete}
)

// TimeLimit is how long one operation may take.
type TimeLimit struct {
	argument string
	length   time.Duration
}

// Limit is what timeouts say of the operation, or standard. Validation refuses a text
// that is no duration; a state that was edited by hand may hold one, and standard
// counts then.
func (o Operation) Limit(ctx context.Context, given timeouts.Value, standard time.Duration) TimeLimit {
	length, _ := o.in(given, ctx, standard)
	return TimeLimit{TimeoutsName + "." + o.name, length}
}

// Start gives a context that ends with the time limit; its cause names the argument.
func (l TimeLimit) Start(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, l.length, overError(l))
}

// overError says which limit ended an operation.
type overError TimeLimit

func (e overError) Error() string { return e.argument + " = " + poll.Text(e.length) + " is over" }

func (overError) Unwrap() error { return context.DeadlineExceeded }

// TimedOperation describes operations with a limit.
type TimedOperation struct {
	Standard time.Duration
	Covers   string // what the time is for, behind a colon
	AtEnd    string // what becomes of the operation then: a sentence
}

// TimeoutsAttribute limits the applies of a resource and, unless removal is nil, its
// destroy.
func TimeoutsAttribute(ctx context.Context, apply TimedOperation, removal *TimedOperation) schema.Attribute {
	opts := timeouts.Opts{Create: true, Update: true, Delete: removal != nil}
	texts := map[string]string{
		Create.name: apply.describe("How long the apply that creates the resource may take"),
		Update.name: apply.describe("How long the apply of a change may take"),
	}
	text := "How long operations may take, each as a duration such as `90s` or `20m`. Changing only this is stored in " +
		"the state and changes nothing on a host."
	if removal != nil {
		texts[Delete.name] = removal.describe("How long a destroy may take")
		text = "How long operations may take, each as a duration such as `90s` or `20m`; changing only this changes nothing " +
			"on a host. A destroy has no configuration: apply a change of `delete` before the destroy that it is for."
	}
	made := timeouts.Attributes(ctx, opts)
	all, ok := made.(schema.SingleNestedAttribute)
	if !ok {
		return made
	}
	all.MarkdownDescription = text
	for name, described := range texts {
		if one, isText := all.Attributes[name].(schema.StringAttribute); isText {
			one.Description, one.MarkdownDescription = "", described
			one.Validators = []validator.String{durationValidator{"must be " + Described(DurationKind{}.Noun())}}
			all.Attributes[name] = one
		}
	}
	return all
}

func (t TimedOperation) describe(what string) string {
	return fmt.Sprintf("%s (default `%s`): %s. %s", what, poll.Text(t.Standard), t.Covers, t.AtEnd)
}

// durationValidator replaces the library's, which accepts zero and negative durations.
type durationValidator struct{ Described }

func (durationValidator) ValidateString(ctx context.Context, req validator.StringRequest,
	resp *validator.StringResponse) {
	var found xattr.ValidateAttributeResponse
	Duration{req.ConfigValue}.ValidateAttribute(ctx, xattr.ValidateAttributeRequest{Path: req.Path}, &found)
	resp.Diagnostics.Append(found.Diagnostics...)
}
