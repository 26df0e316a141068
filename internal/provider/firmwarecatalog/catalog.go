// Package firmwarecatalog is the data source infiniband_firmware_catalog: which firmware each
// board is to have, from a file of the repository, and which cards are behind it.
//
// It must not open an image, ask a host, or decide whether a card is burned.
package firmwarecatalog

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/ibfabric/terraform-provider-infiniband/internal/download"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// largestCatalog is far above what all boards of all vendors need.
const largestCatalog = 1 << 20

// line is one image of the file.
type line struct {
	PSID    string   `json:"psid"`
	Version string   `json:"version"`
	SHA256  string   `json:"sha256"`
	Source  string   `json:"source"`
	Member  string   `json:"member"`
	Boards  []string `json:"boards"`

	version ib.FWVersion
}

// read gives the images by PSID. Paths in it are relative to dir.
func read(from io.Reader, dir string) (map[string]line, error) {
	var file struct {
		Images []line `json:"images"`
	}
	limited := &io.LimitedReader{R: from, N: largestCatalog + 1}
	d := json.NewDecoder(limited)
	d.DisallowUnknownFields()
	err := d.Decode(&file)
	switch {
	case limited.N <= 0:
		return nil, fmt.Errorf("it has more than %d KiB", largestCatalog>>10)
	case err != nil:
		return nil, fmt.Errorf("it is no catalogue: %w. Write { \"images\": [ { \"psid\": …, \"version\": …, \"sha256\": …, "+
			"\"source\": … } ] }", err)
	case d.More():
		return nil, errors.New("there is more text after the catalogue")
	case file.Images == nil:
		return nil, errors.New("images is missing. An empty catalogue is { \"images\": [] }")
	}
	images := map[string]line{}
	for i, l := range file.Images {
		if err := l.complete(dir); err != nil {
			return nil, fmt.Errorf("image %d (%s): %w", i+1, l.PSID, err)
		}
		if _, twice := images[l.PSID]; twice {
			return nil, fmt.Errorf("PSID %s has two images: one board gets one", l.PSID)
		}
		images[l.PSID] = l
	}
	return images, nil
}

// complete checks a line, and makes its path one of this machine.
func (l *line) complete(dir string) error {
	if _, err := ib.ParsePSID(l.PSID); err != nil {
		return err
	}
	var err error
	if l.version, err = ib.ParseFWVersion(l.Version); err != nil {
		return err
	}
	if sum, err := hex.DecodeString(l.SHA256); err != nil || len(sum) != 32 {
		return fmt.Errorf("sha256 %q: want 64 hexadecimal digits", l.SHA256)
	}
	switch {
	case l.Source == "":
		return errors.New("source is missing: want a path or an https address")
	case !download.IsRemote(l.Source) && !filepath.IsAbs(l.Source):
		l.Source = filepath.Join(dir, l.Source)
	}
	return nil
}
