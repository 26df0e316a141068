package change

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// writeFiles puts the files there and installs the package. The files come first: the
// package starts itself at once. It says which files it has kept, also if it fails: what is
// replaced shows no edit any more.
func writeFiles(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request) (kept []string, err error) {
	type file struct {
		path, text string
		mode       uint32
	}
	// The drop-in names the file of options, and an instance reads both at its start, which comes last.
	files := []file{{tool.DropInPath(l.Port), found.DropInText(l.Port, d.Keys.Version > 0), 0o644}}
	if len(d.Partitions) > 0 {
		files = append(files, file{tool.PartitionsPath(l.Port), tool.PartitionsText(found.Header(), d.Partitions), 0o644})
	}
	// The options come last: they name the partition file.
	conf := file{l.ConfPath, d.File().Text(found.Header()), 0o644}
	if d.Keys.Version > 0 {
		// Keys of a fabric: who knows the M_Key may change every port.
		conf.mode = 0o600
	}
	files = append(files, conf)
	if err = keepEdited(ctx, h, l, tool.TemplatePath, &kept); err != nil {
		return kept, err
	}
	if err = writeBoot(ctx, h, l); err != nil {
		return kept, err
	}
	for _, f := range files {
		// Unchanged files keep their times: a file that is newer than the unit's start counts as not yet read.
		if l.Snapshot.Files[f.path].Content == f.text {
			continue
		}
		if err = keepEdited(ctx, h, l, f.path, &kept); err != nil {
			return kept, err
		}
		if err = platform.WriteFile(ctx, h, f.path, f.mode, f.text); err != nil {
			return kept, err
		}
	}
	return kept, install(ctx, h, l, platform.FeatureOpenSM)
}

// keepEdited gives a file that somebody has written into a second name, and notes it. Of one with keys of the fabric
// that is a copy without them.
func keepEdited(ctx context.Context, h *hosts.Host, l *found.Look, path string, kept *[]string) error {
	if path == l.ConfPath && l.HasKeys() {
		return keepWithoutKeys(ctx, h, l, kept)
	}
	said, err := platform.KeepEdited(ctx, h, l.Edits, path)
	*kept = append(*kept, said...)
	return err
}

func keepWithoutKeys(ctx context.Context, h *hosts.Host, l *found.Look, kept *[]string) error {
	var text strings.Builder
	for line := range strings.Lines(l.Snapshot.Files[l.ConfPath].Content) {
		text.WriteString(strings.TrimSuffix(tool.WithoutSecret(line), "\n") + "\n")
	}
	for _, e := range l.Edits {
		if e.Path != l.ConfPath || len(e.Added) == 0 {
			continue
		}
		if err := platform.WriteFile(ctx, h, e.Kept, 0o600, text.String()); err != nil {
			return err
		}
		*kept = append(*kept, fmt.Sprintf("%s had lines that somebody has written. A copy without the keys is kept as %s.",
			e.Path, e.Kept))
	}
	return nil
}

// install has the packages of a feature on the host.
func install(ctx context.Context, h *hosts.Host, l *found.Look, feature platform.Feature) error {
	plat, err := platform.Of(l.Snapshot)
	if err != nil {
		return err
	}
	return plat.Install(ctx, h, plat.PackagesFor(feature, l.Kernel)...)
}

// removeFiles takes away our files, and our template unit if no other instance needs it. It
// says which files it has kept.
func removeFiles(ctx context.Context, h *hosts.Host, l *found.Look) (kept []string, err error) {
	paths := []string{tool.DropInPath(l.Port), l.ConfPath, tool.PartitionsPath(l.Port)}
	if l.OwnTemplate && len(judge.FindStaying(l)) == 0 {
		paths = append(paths, tool.TemplatePath)
	}
	for _, file := range paths {
		// Read from the snapshot of this apply: a person may have put another file in its place.
		if !platform.IsOurs(l.Snapshot.Files[file].Content) {
			continue
		}
		if err = keepEdited(ctx, h, l, file, &kept); err != nil {
			return kept, err
		}
		if err = run(ctx, h, coreutils.RemoveFile(file)); err != nil {
			return kept, fmt.Errorf("removing %s: %w", file, err)
		}
	}
	// Drop-ins of others stay.
	return kept, run(ctx, h, coreutils.RemoveFile(found.RereadPath(l.Port)),
		coreutils.RemoveEmptyDirectory(path.Dir(tool.DropInPath(l.Port))))
}
