package nodenames

import (
	"context"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
)

// Result is what Apply and Remove did.
type Result = managed.Result[Look]

// Apply writes the files that differ. It is safe to repeat. What blocks is *safety.RefusedError.
func Apply(ctx context.Context, h *hosts.Host, l Look, q Request) (Result, error) {
	if err := safety.Refusal("write node names of host "+q.Host, Check(l)); err != nil {
		return Result{}, err
	}
	if len(l.Differences(q)) == 0 {
		return Result{Look: l}, nil
	}
	note := changes.Change{What: changes.Names, Object: "nodes", From: l.Names.words(), To: q.Names.words()}
	return managed.Noted(ctx, h, note, func(ctx context.Context) (Result, error) {
		var r Result
		for _, path := range l.Paths {
			if l.snap.Files[path].Content == q.Names.text() {
				continue
			}
			said, err := platform.KeepEdited(ctx, h, l.edits, path)
			if err != nil {
				return r, err
			}
			r.Warnings = append(r.Warnings, said...)
			if err := platform.WriteFile(ctx, h, path, 0o644, q.Names.text()); err != nil {
				return r, err
			}
			r.Changed = true
		}
		s, err := h.Snapshot(ctx)
		if err != nil {
			return r, err
		}
		if r.Look = Find(s); len(r.Look.Differences(q)) > 0 {
			err = fmt.Errorf("%s was written, and was read back as another one", l.Paths[0])
		}
		return r, err
	})
}

// Remove takes our files away.
func Remove(ctx context.Context, h *hosts.Host, l Look) (Result, error) {
	note := changes.Change{What: changes.Names, Object: "nodes", From: l.Names.words(), To: "none"}
	return managed.Noted(ctx, h, note, func(ctx context.Context) (Result, error) {
		var r Result
		for _, path := range l.Paths {
			if !platform.IsOurs(l.snap.Files[path].Content) {
				continue
			}
			said, err := platform.KeepEdited(ctx, h, l.edits, path)
			if err != nil {
				return r, err
			}
			r.Left = append(r.Left, said...)
			if _, err = h.Run(ctx, coreutils.RemoveFile(path)); err != nil {
				return r, fmt.Errorf("removing %s: %w", path, err)
			}
		}
		return r, nil
	})
}
