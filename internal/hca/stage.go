package hca

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// ImagePath is where an image with this SHA-256 is staged on a host.
func ImagePath(sha256 string) string { return inventory.StateDir + "/images/" + sha256 + ".bin" }

// StageImage puts an image on a host under its hash and has the host's own
// tool verify it. An image that is there already with its content is left
// alone. size is in bytes, sha256 lower-case hexadecimal.
func (o *Ops) StageImage(ctx context.Context, h cards.Host, r io.ReaderAt, size int64, sha256 string) error {
	path := ImagePath(sha256)
	c := cards.Card{Host: h}
	if sums, err := o.hashes(ctx, c, path); err != nil {
		if _, exit := cards.Exit(err); exit == nil {
			return err
		}
	} else if sums[0] == sha256 {
		return nil
	}
	if _, err := h.Run(ctx, makeImageDir()); err != nil {
		return stageFailed(h, path, "its directory could not be made", err)
	}
	if err := h.Upload(ctx, r, size, host.RemoteFile{Path: path, Mode: 0o600, SHA256: sha256}); err != nil {
		return stageFailed(h, path, "it could not be copied to the host", err)
	}
	good, err := o.verifyFile(ctx, c, path, true)
	if err != nil {
		return stageFailed(h, path, "the host's mstflint could not verify it", err)
	}
	if !good {
		return stageFailed(h, path, "the host's mstflint calls it damaged", nil)
	}
	return nil
}

func stageFailed(h cards.Host, path, what string, err error) error {
	e := &cards.Error{
		Summary: "Unable to stage a firmware image on host " + h.Name(),
		What:    "The image is not ready on the host: " + what + ".",
		Means:   "No card was touched.",
		Check:   cards.TransferAdvice(err, "Look for space and permissions below "+inventory.StateDir+", and whether mstflint is installed."),
		Facts:   []cards.Fact{{"Host", h.Name()}, {"File", path}},
		Err:     err,
	}
	return e.WithExit()
}

// UnstageImage removes a staged image; one that is not there is no error.
func (o *Ops) UnstageImage(ctx context.Context, h cards.Host, sha256 string) error {
	_, err := h.Run(ctx, shellcmd.New("rm", "-f", "--", ImagePath(sha256)).AsRoot().Changes())
	return err
}

// OpenStagedImage fetches a staged image and parses it. It is for a caller that
// has only the id of an image; whoever has the file parses that.
func (o *Ops) OpenStagedImage(ctx context.Context, h host.Host, sha256 string) (*fwimage.Image, int64, error) {
	var buf bytes.Buffer
	size, sum, err := h.Download(ctx, ImagePath(sha256), &buf)
	if err != nil {
		return nil, 0, err
	}
	if sum != sha256 {
		return nil, size, fmt.Errorf("%s: the image %s has SHA-256 %s", h.Name(), ImagePath(sha256), sum)
	}
	img, err := fwimage.Parse(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	return img, size, err
}

func makeImageDir() shellcmd.Command {
	return shellcmd.Script("make-image-directory", `umask 077; mkdir -p "$1/images"`, inventory.StateDir).AsRoot().Changes()
}
