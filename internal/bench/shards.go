package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// sideBySide plans several shards at once. Each has a process, a configuration and a state of its own. They
// share the simulated hosts, which answer each shard as hosts of its own would: a lab of its own for each
// would take the memory of this machine.
func (b *suite) sideBySide(ctx context.Context, full *workspace, hosts int, text string, alone figure) error {
	if b.shards < 2 {
		return nil
	}
	shards := make([]*workspace, b.shards)
	for i := range shards {
		shards[i] = &workspace{dir: fmt.Sprintf("%s-shard%d", full.dir, i), engine: full.engine, overrides: full.overrides}
		if err := shards[i].write(text); err != nil {
			return err
		}
		// A copy: engines lock the file itself.
		const state = "terraform.tfstate"
		made, err := os.ReadFile(filepath.Join(full.dir, state))
		if err != nil {
			return err
		}
		if err = os.WriteFile(filepath.Join(shards[i].dir, state), made, 0o600); err != nil {
			return err
		}
	}
	figures := make([]figure, b.shards)
	all, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for i, shard := range shards {
		all.Go(func() (err error) {
			figures[i], err = shard.run(ctx, "plan")
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	took, sum := time.Since(began).Seconds(), figure{}
	for _, f := range figures {
		sum.cpu, sum.megabytes = sum.cpu+f.cpu, sum.megabytes+f.megabytes
	}
	b.notes = append(b.notes, fmt.Sprintf("%d shards of %d hosts at once: all planned in %.1f s, one alone in %.1f s; "+
		"CPU %.1f s (one alone %.1f s), providers %.0f MB together", b.shards, hosts, took, alone.wall, sum.cpu, alone.cpu,
		sum.megabytes))
	return nil
}
