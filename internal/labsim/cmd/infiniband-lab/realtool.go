package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/realflint"
)

// realTool is the mstflint of this machine, if it is to answer for the hosts; else nil.
type realTool struct{ *realflint.Tool }

func (s source) tool(ctx context.Context, dir string) (*realTool, error) {
	if !s.realTool {
		return nil, nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	card.SmallImages() // each word that the tool reads takes its time
	tool, err := realflint.Find(ctx, dir)
	return &realTool{tool}, err
}

// answerFor has the tool answer on hosts, and says whose version it is not, and for which cards it does not.
func (t *realTool) answerFor(hosts []labs.Host, options *labsim.Options, out io.Writer) error {
	if t == nil {
		return nil
	}
	options.Setup = append(options.Setup, t.SetUp)
	fmt.Fprintf(out, "mstflint %s of this machine answers on the hosts.\n", t.Version)
	emulated := 0
	for _, h := range hosts {
		if had := cmp.Or(h.MstflintVersion, h.OS.System().MSTFlint, "none"); had != "none" && had != t.Version {
			fmt.Fprintf(out, "%s has mstflint %s, and gets %s here.\n", h.Name, had, t.Version)
		}
		for _, c := range h.Cards {
			switch {
			case realflint.Emulates(c):
				emulated++
			case c.Fixed == nil:
				fmt.Fprintf(out, "%s: for the card %s (%s), which cannot be emulated, the lab's own mstflint answers.\n", h.Name,
					c.BDF, c.Chip.Name)
			}
		}
	}
	if emulated == 0 {
		return errors.New("-real-tool: no card of this lab can be emulated; it has to be a " + realflint.Emulated)
	}
	return nil
}
