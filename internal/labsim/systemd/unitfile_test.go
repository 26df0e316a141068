package systemd

import (
	"strings"
	"testing"
)

func TestSystemdExpandsVariables(t *testing.T) {
	got := expandExec([]string{"sh", "-c", `echo ${A} $A $$B`, "$A", "${A}x"}, map[string]string{"A": "1 2"})
	if want := "sh|-c|echo 1 2 $A $B|1|2|1 2x"; strings.Join(got, "|") != want {
		t.Errorf("got %q want %q", strings.Join(got, "|"), want)
	}
}
