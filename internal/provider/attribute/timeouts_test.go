package attribute

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestTimeouts_of_an_operation(t *testing.T) {
	t.Parallel()
	kinds := map[string]attr.Type{"create": types.StringType, "update": types.StringType}
	given := timeouts.Value{Object: types.ObjectValueMust(kinds,
		map[string]attr.Value{"create": types.StringValue("90s"), "update": types.StringNull()})}
	for _, c := range []struct {
		of   Operation
		in   timeouts.Value
		want time.Duration
	}{
		{Create, given, 90 * time.Second},
		{Update, given, time.Hour},
		{Delete, given, time.Hour},
		{Create, timeouts.Value{Object: types.ObjectNull(kinds)}, time.Hour},
		{Create, timeouts.Value{Object: types.ObjectUnknown(kinds)}, time.Hour},
	} {
		if got := c.of.Limit(t.Context(), c.in, time.Hour).length; got != c.want {
			t.Errorf("%s of %s: got %s", c.of.name, c.in, got)
		}
	}
	ctx, cancel := TimeLimit{"timeouts.create", -time.Minute}.Start(t.Context())
	defer cancel()
	if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) ||
		cause.Error() != "timeouts.create = -1m is over" {
		t.Errorf("the cause is %v", cause)
	}
}

func TestTimeouts_describe_each_operation(t *testing.T) {
	t.Parallel()
	apply := TimedOperation{Standard: 45 * time.Minute, Covers: "the change", AtEnd: "After that time the apply fails."}
	removal := TimedOperation{Standard: time.Hour, Covers: "the removal", AtEnd: "After that time the destroy fails."}
	for removes, want := range map[*TimedOperation]map[string]string{
		nil: {"create": " (default `45m`): the change. After that time the apply fails.",
			"update": " (default `45m`): the change. After that time the apply fails."},
		&removal: {"create": "`45m`", "update": "`45m`",
			"delete": " (default `1h`): the removal. After that time the destroy fails."},
	} {
		made, ok := TimeoutsAttribute(t.Context(), apply, removes).(schema.SingleNestedAttribute)
		if !ok || len(made.Attributes) != len(want) ||
			strings.Contains(made.MarkdownDescription, "destroy") != (removes != nil) {
			t.Fatalf("got %+v", made)
		}
		for name, text := range want {
			if a := made.Attributes[name]; !strings.Contains(a.GetMarkdownDescription(), text) {
				t.Errorf("%s: %q", name, a.GetMarkdownDescription())
			}
		}
	}
}
