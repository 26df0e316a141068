//go:build linux

package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
)

// TestStatus: only a machine that cannot is no failure.
func TestStatus(t *testing.T) {
	lacks := machine.LackingError{"no ssh"}
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {lacks, exitLacking}, {errUsage, exitUsage}, {errors.New("debootstrap"), 1},
		{errors.Join(errors.New("debootstrap"), lacks), 1},
		{fmt.Errorf("install: %w", machine.SeriesError{Version: "1:12.0.0"}), 1},
	} {
		if got := status(tt.err); got != tt.want {
			t.Errorf("%v: status %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestNeedOf(t *testing.T) {
	for _, args := range [][]string{{"none"}, {"0"}, {"-1"}, {"1", "2"}, {"bookworm"}, {"1", "bookworm", "sid"}} {
		if n, err := needOf(args); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v, %v", args, n, err)
		}
	}
	if n, err := needOf(nil); err != nil || n.Machines != 2 {
		t.Errorf("%v, %v", n, err)
	}
	if n, err := needOf([]string{"9"}); err != nil || n.Machines != 9 || len(n.Suites) != 0 {
		t.Errorf("%v, %v", n, err)
	}
	n, err := needOf([]string{"9", "trixie"})
	if err != nil || n.Machines != 9 || !slices.Equal(n.Suites, []string{machine.Trixie}) {
		t.Errorf("%v, %v", n, err)
	}
}
