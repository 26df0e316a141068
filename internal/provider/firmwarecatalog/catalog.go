// Package firmwarecatalog is the data source infiniband_firmware_catalog: which firmware each
// board is to have, from a file of the repository, and which cards are behind it.
//
// It must not open an image, ask a host, or decide whether a card is burned.
package firmwarecatalog

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"

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
	// Serials and Hosts narrow the image to some cards; without both it is for all.
	Serials []string `json:"serial_numbers"`
	Hosts   []string `json:"hosts"`

	version ib.FWVersion
}

// everywhere reports whether the image is for all hosts.
func (l line) everywhere() bool { return len(l.Serials)+len(l.Hosts) == 0 }

// read gives the images. Paths in it are relative to dir.
func read(from io.Reader, dir string) ([]line, error) {
	var file struct {
		Images []line `json:"images"`
	}
	text, err := io.ReadAll(io.LimitReader(from, largestCatalog+1))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(&file)
	// JSON is YAML as well, whose reader refuses a key that is there twice. That of JSON takes the last one, and the
	// serial numbers of the first are lost.
	twice := yaml.Unmarshal(text, new(any))
	switch {
	case len(text) > largestCatalog:
		return nil, fmt.Errorf("it has more than %d KiB", largestCatalog>>10)
	case err != nil:
		return nil, fmt.Errorf("it is no catalogue: %w. Write { \"images\": [ { \"psid\": …, \"version\": …, \"sha256\": …, "+
			"\"source\": … } ] }", err)
	case d.More():
		return nil, errors.New("there is more text after the catalogue")
	case twice != nil:
		return nil, fmt.Errorf("it is no catalogue: %w", twice)
	case file.Images == nil:
		return nil, errors.New("images is missing. An empty catalogue is { \"images\": [] }")
	}
	ofAll := map[string]bool{}
	for i := range file.Images {
		l := &file.Images[i]
		if err := l.complete(dir); err != nil {
			return nil, fmt.Errorf("image %d (%s): %w", i+1, l.PSID, err)
		}
		if l.everywhere() && ofAll[l.PSID] {
			return nil, fmt.Errorf("PSID %s has two images: one board gets one", l.PSID)
		}
		ofAll[l.PSID] = ofAll[l.PSID] || l.everywhere()
	}
	return file.Images, nil
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
	for _, entry := range slices.Concat(l.Boards, l.Serials, l.Hosts) {
		// The card would get the image for all.
		if entry == "" || entry != strings.TrimSpace(entry) || strings.ContainsFunc(entry, isHidden) {
			return fmt.Errorf("boards, serial_numbers or hosts has the entry %+q: it is empty, or has a blank or a sign that "+
				"nobody sees", entry)
		}
	}
	switch {
	case l.Source == "":
		return errors.New("source is missing: want a path or an https address")
	case !download.IsRemote(l.Source) && !filepath.IsAbs(l.Source):
		l.Source = filepath.Join(dir, l.Source)
	}
	return nil
}

func isHidden(r rune) bool { return r != ' ' && unicode.IsSpace(r) || !unicode.IsGraphic(r) }

// rules find the image of a card; the first that finds one counts.
var rules = []struct {
	by, what string
	fits     func(l line, c inCard) bool
}{
	{"card", "serial number", func(l line, c inCard) bool {
		return slices.ContainsFunc(l.Serials, func(s string) bool { return strings.EqualFold(s, c.serial()) })
	}},
	{"host", "host and PSID", func(l line, c inCard) bool { return l.ofHost(c) && l.PSID == c.PSID.ValueString() }},
	{"host", "host and board", func(l line, c inCard) bool { return l.ofHost(c) && l.ofBoard(c) }},
	{"site", "PSID", func(l line, c inCard) bool { return l.everywhere() && l.PSID == c.PSID.ValueString() }},
	{"site", "board", func(l line, c inCard) bool { return l.everywhere() && l.ofBoard(c) }},
}

func (c inCard) serial() string { return strings.TrimSpace(c.Serial.ValueString()) }

func (l line) ofHost(c inCard) bool { return slices.Contains(l.Hosts, c.Host.ValueString()) }

func (l line) ofBoard(c inCard) bool { return slices.Contains(l.Boards, c.Board.ValueString()) }

// imageFor gives the image of a card and by which rule; nil if the catalogue has none.
func imageFor(images []line, c inCard) (chosen *line, by string, err error) {
	for _, l := range images {
		if len(l.Serials) > 0 && c.serial() == "" {
			return nil, "", missing("serial_number")
		}
		if len(l.Hosts) > 0 && c.Host.ValueString() == "" {
			return nil, "", missing("host")
		}
	}
	for _, rule := range rules {
		for i := range images {
			l := &images[i]
			switch {
			case !rule.fits(*l, c):
			case chosen != nil:
				return nil, "", fmt.Errorf("the catalogue has two images for its %s: PSID %s version %s and PSID %s version %s. "+
					"Name it in one", rule.what, chosen.PSID, chosen.Version, l.PSID, l.Version)
			default:
				chosen = l
			}
		}
		if chosen != nil {
			return chosen, rule.by, nil
		}
	}
	return nil, "", nil
}

// missing is the error of a card of which is not known whether a narrower image is meant for it.
func missing(name string) error {
	return fmt.Errorf("its %s is not known, and the catalogue has images by it. Pass %[1]s of infiniband_cards; for a "+
		"card that has none, any word that the catalogue does not have", name)
}
