package session

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

func TestUnknownHost_saysWhatToCheck(t *testing.T) {
	t.Parallel()
	want := "Host \"intel\" is not in the provider's hosts map; known hosts: intel9, xeon2zfs.\n\nCheck the spelling, or add the host to the hosts map of the provider block.\n\n" + retired
	if got := diagnostic.Detail(unknownHost("intel", []string{"intel9", "xeon2zfs"})); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
