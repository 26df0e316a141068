package hosts

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

func TestMachineID(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("0a", 16)
	for _, tt := range []struct {
		answer collect.Answer
		why    string
	}{
		{collect.Answer{Values: map[string]collect.Value{machineIDPath: {Text: id}}}, ""},
		{collect.Answer{Values: map[string]collect.Value{machineIDPath: {Text: "uninitialized"}}}, "holds no id"},
		{collect.Answer{Values: map[string]collect.Value{machineIDPath: {}}}, "holds no id"},
		{collect.Answer{Denied: map[string]bool{machineIDPath: true}}, "cannot be read"},
		{collect.Answer{}, "there is no"},
	} {
		got := machineID(&tt.answer)
		if v, known := got.Get(); known != (tt.why == "") || known && v != id || !strings.Contains(got.Why(), tt.why) {
			t.Errorf("%+v gives %+v", tt.answer, got)
		}
	}
}
