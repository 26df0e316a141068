package image

import (
	"bytes"
	"context"
	hashes "crypto/sha256"
	"fmt"
	"io"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/devlink"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// Path is where an image with this SHA-256 is staged on a host.
func Path(sha256 string) string { return inventory.StateDir + "/images/" + sha256 + ".bin" }

// Stage puts an image on a host under its hash and has the host's own
// tool verify it. An image that is there already with its content is left
// alone. size is in bytes, sha256 lower-case hexadecimal.
func Stage(ctx context.Context, h cards.Host, r io.ReaderAt, size int64, sha256 string) error {
	path := Path(sha256)
	// A status means that the file is not there, which is the usual case.
	if sums, err := Hashes(ctx, h, path); err != nil {
		if _, exit := cards.Exit(err); exit == nil {
			return err
		}
	} else if sums[0] == sha256 {
		return nil
	}
	if _, err := h.Run(ctx, makeImageDir()); err != nil {
		return stageFailed(h, path, "its directory could not be made", err)
	}
	// Under its hash: two applies stage the same file under one name, and no file is there half.
	if err := h.Upload(ctx, r, size, host.RemoteFile{Path: path, Mode: 0o600, SHA256: sha256}); err != nil {
		return stageFailed(h, path, "it could not be copied to the host", err)
	}
	// Such a host burns through its driver (devlink).
	if s, err := h.Snapshot(ctx); err == nil && !s.MSTFlint.Present {
		return nil // every checksum of it was verified here
	}
	good, err := Verify(ctx, h, path, true)
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
		Check: cards.TransferAdvice(err,
			"Check free space and permissions below "+inventory.StateDir+". Check that mstflint is installed."),
		Facts: []cards.Fact{{"Host", h.Name()}, {"File", path}},
		Err:   err,
	}
	return cards.WithExit(e)
}

// Unstage removes a staged image; one that is not there is no error.
func Unstage(ctx context.Context, h cards.Host, sha256 string) error {
	_, err := h.Run(ctx, shellcmd.New("rm", "-f", "--", Path(sha256)).AsRoot().Changes())
	return err
}

// Open fetches a staged image and parses it, for callers that have only the id of an
// image.
func Open(ctx context.Context, h host.Host, sha256 string) (*fwimage.Image, int64, error) {
	img, file, err := fetch(ctx, h, sha256)
	return img, int64(len(file)), err
}

// fetch is Open with the file itself.
func fetch(ctx context.Context, h host.Host, sha256 string) (*fwimage.Image, []byte, error) {
	var buf bytes.Buffer
	_, sum, err := h.Download(ctx, Path(sha256), &buf)
	if err != nil {
		return nil, nil, err
	}
	// The name promises the hash. A person may have put another file there.
	if sum != sha256 {
		return nil, nil, fmt.Errorf("%s: the image %s has SHA-256 %s. Somebody changed it after it was staged. "+
			"Plan again: its infiniband_firmware_image stages it anew",
			h.Name(), Path(sha256), sum)
	}
	img, err := fwimage.Parse(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	return img, buf.Bytes(), err
}

// StagePackage puts beside a staged image the package by which the driver of a card has its firmware take it.
func StagePackage(ctx context.Context, h cards.Host, sha256 string) (journal.Package, error) {
	p := journal.Package{Path: strings.TrimSuffix(Path(sha256), ".bin") + ".mfa2",
		// The kernel takes a name relative to the directory of firmware, so it is copied there for the burn.
		At: devlink.Folder + packageName(sha256)}
	data, err := makePackage(ctx, h, sha256)
	if err != nil {
		return p, stageFailed(h, p.Path, "no package for the driver could be made of the staged image", err)
	}
	p.SHA256 = fmt.Sprintf("%x", hashes.Sum256(data))
	err = h.Upload(ctx, bytes.NewReader(data), int64(len(data)),
		host.RemoteFile{Path: p.Path, Mode: 0o600, SHA256: p.SHA256})
	if err != nil {
		return p, stageFailed(h, p.Path, "the package for the driver could not be copied to the host", err)
	}
	return p, nil
}

// SendPackage is the command that has the driver send a staged package.
func SendPackage(pci ib.PCIAddress, sha256 string) shellcmd.Command {
	return devlink.Flash(pci, packageName(sha256))
}

func packageName(sha256 string) string { return "terraform-infiniband-" + sha256 + ".mfa2" }

func makePackage(ctx context.Context, h host.Host, sha256 string) ([]byte, error) {
	img, file, err := fetch(ctx, h, sha256)
	if err != nil {
		return nil, err
	}
	return devlink.Package(img.PSID, img.Component(file))
}

func makeImageDir() shellcmd.Command {
	return shellcmd.Script("make-image-directory", `umask 077; mkdir -p "$1/images"`,
		inventory.StateDir).AsRoot().Changes()
}

// Hashes gives the SHA-256 of files on the host.
func Hashes(ctx context.Context, h host.Host, paths ...string) ([]string, error) {
	cmd := shellcmd.New("sha256sum", append([]string{"--"}, paths...)...).AsRoot()
	r, err := h.Run(ctx, cmd)
	if err != nil {
		return nil, err
	}
	lines := strings.Fields(string(r.Stdout))
	var sums []string
	for i := 0; i+1 < len(lines); i += 2 {
		// sha256sum begins the line with a backslash if it has to quote the name (coreutils).
		sums = append(sums, strings.ToLower(strings.TrimPrefix(lines[i], `\`)))
	}
	if len(sums) != len(paths) || len(sums[0]) != 64 {
		return nil, &host.OutputError{Host: h.Name(), Command: cmd.String(),
			Problem: fmt.Sprintf("want %d lines of a hash and a path", len(paths)), Output: string(r.Stdout)}
	}
	return sums, nil
}

// Verify has the tool verify an image file on the host. A card that never
// had GUIDs gives an image that the tool calls not bootable for that alone.
// Status and output both count: see mstflint.Verification.
func Verify(ctx context.Context, h host.Host, path string, blank bool) (bool, error) {
	cmd, err := mstflint.VerifyImage(path)
	if err != nil {
		return false, err
	}
	r, err := h.Run(ctx, cmd)
	out := string(r.Stdout)
	status, exit := cards.Exit(err)
	if exit != nil {
		out = exit.Stdout
	} else if err != nil {
		return false, err
	}
	v, err := mstflint.ParseVerify(out)
	if err != nil {
		return false, &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(), Output: out}
	}
	return v.OK && status == 0 || blank && v.OnlyBlankGUIDs(), nil
}
