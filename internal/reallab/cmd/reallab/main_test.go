//go:build linux

package main

import (
	"errors"
	"fmt"
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
		{nil, 0}, {lacks, exitLacking}, {errors.New("debootstrap"), 1},
		{errors.Join(errors.New("debootstrap"), lacks), 1},
		{fmt.Errorf("install: %w", machine.SeriesError{Version: "1:12.0.0"}), 1},
	} {
		if got := status(tt.err); got != tt.want {
			t.Errorf("%v: status %d, want %d", tt.err, got, tt.want)
		}
	}
}
