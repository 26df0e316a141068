//go:build !linux

package realflint

import (
	"context"
	"errors"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// Tool is the mstflint of this machine.
type Tool struct{ Version string }

// Find says that there is none.
func Find(context.Context, string) (*Tool, error) {
	return nil, errors.New("an emulated card needs Linux")
}

// SetUp does nothing.
func (t *Tool) SetUp(*labsim.Machine) {}
