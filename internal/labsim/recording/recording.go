// Package recording reads the file in which somebody has recorded a lab, by its documented format
// (docs/guides/send.md). Whoever made the file is a stranger: each limit and each hash is checked
// before anything of it is used.
//
// It must not know the provider, which writes such files, or write a file.
package recording

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"strings"
)

// What a recording of hundreds of hosts stays below.
const (
	mostPacked   = 256 << 20
	mostUnpacked = 257 << 20 // with the manifest
	mostFiles    = 10000
	mostTable    = 16 << 20
)

const (
	manifestName = "manifest.json"
	formatName   = "infiniband-recording"
	version      = 1
)

// Lab is a recording.
type Lab struct {
	Provider string
	Hosts    []Host
	// OwnNames says that the table of the replacements lies beside the recording, so that the hosts have
	// their own names and addresses.
	OwnNames bool
}

// Host is what one host has answered.
type Host struct {
	Name    string
	Problem string // why answers are missing
	Answers []Answer
	Flashes map[string][]byte // what cards have in flash, by PCI address; those that somebody has asked for
}

// Answer is what a host has answered to one command; Status is -1 if no status came.
type Answer struct {
	Command, Problem string
	Status           int
	Output, Errors   string
}

type manifest struct {
	Format   string `json:"format"`
	Version  int    `json:"version"`
	Provider string `json:"provider"`
	Hosts    []struct {
		Name    string `json:"name"`
		Problem string `json:"problem"`
		Answers []struct {
			Command string `json:"command"`
			Status  int    `json:"status"`
			Problem string `json:"problem"`
			Output  string `json:"output"`
			Errors  string `json:"errors"`
		} `json:"answers"`
		Flashes []struct {
			Card string `json:"card"`
			File string `json:"file"`
		} `json:"flashes"`
	} `json:"hosts"`
	Files []struct {
		Name   string `json:"name"`
		Size   int64  `json:"size"`
		SHA256 string `json:"sha256"`
	} `json:"files"`
}

// Open reads a recording as a whole. Its error says what is wrong with the file.
func Open(name string) (*Lab, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", name)
	case info.Size() > mostPacked:
		return nil, fmt.Errorf("%s has %d bytes; a recording has at most %d", name, info.Size(), mostPacked)
	}
	lab, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w", name, err)
	}
	if err = lab.checkNames(name); err != nil {
		return nil, err
	}
	if lab.OwnNames, err = lab.restore(name); err != nil {
		return nil, err
	}
	return lab, lab.checkNames(name + tableEnd)
}

// hostName is what a host may be called: a name or an address, with a port or without. The name goes into a
// configuration of ssh and into commands that a terminal shows.
var hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,252}$`)

// checkNames refuses names that no host has, and two hosts with one name. from is the file that has given them.
func (l *Lab) checkNames(from string) error {
	taken := map[string]bool{}
	for _, h := range l.Hosts {
		switch {
		case !hostName.MatchString(h.Name):
			return fmt.Errorf("%s cannot be used: %q is no name of a host; it may have letters, digits, and . _ - : behind "+
				"the first one, 253 in all", from, h.Name)
		case taken[h.Name]:
			return fmt.Errorf("%s cannot be used: two hosts are called %s", from, h.Name)
		}
		taken[h.Name] = true
	}
	return nil
}

func read(r io.Reader) (*Lab, error) {
	m, files, err := unpack(r)
	if err != nil {
		return nil, err
	}
	if err = m.check(files); err != nil {
		return nil, err
	}
	lab := &Lab{Provider: m.Provider}
	for _, h := range m.Hosts {
		to := Host{Name: h.Name, Problem: h.Problem, Flashes: map[string][]byte{}}
		for _, a := range h.Answers {
			for _, file := range []string{a.Output, a.Errors} {
				if _, there := files[file]; file != "" && !there {
					return nil, fmt.Errorf("the manifest names %q, which is not in it; the recording was edited", file)
				}
			}
			to.Answers = append(to.Answers, Answer{Command: a.Command, Problem: a.Problem, Status: a.Status,
				Output: string(files[a.Output]), Errors: string(files[a.Errors])})
		}
		for _, f := range h.Flashes {
			data, there := files[f.File]
			if !there {
				return nil, fmt.Errorf("the manifest names %q, which is not in it; the recording was edited", f.File)
			}
			to.Flashes[f.Card] = data
		}
		lab.Hosts = append(lab.Hosts, to)
	}
	if len(lab.Hosts) == 0 {
		return nil, errors.New("it has no hosts")
	}
	return lab, nil
}

var errCut = errors.New("it is cut or no tar archive packed with gzip; have it sent again")

// unpack takes the archive apart, in memory.
func unpack(r io.Reader) (m *manifest, files map[string][]byte, err error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, nil, errCut
	}
	left := int64(mostUnpacked)
	archive := tar.NewReader(io.LimitReader(packed, mostUnpacked+(mostFiles+2)*1024))
	files = map[string][]byte{}
	for {
		h, bad := archive.Next()
		if errors.Is(bad, io.EOF) {
			break
		}
		switch {
		case bad != nil:
			return nil, nil, errCut
		case h.Typeflag == tar.TypeDir: // of somebody who has packed it again
			continue
		case h.Typeflag != tar.TypeReg:
			return nil, nil, fmt.Errorf("%q is neither a plain file nor a folder; pack manifest.json first, and then the "+
				"files that it names", h.Name)
		case !isInside(h.Name):
			return nil, nil, fmt.Errorf("the path %q leads out of the recording", h.Name)
		case h.Size > left:
			return nil, nil, fmt.Errorf("unpacked it has more than %d bytes", mostUnpacked)
		case len(files) > mostFiles:
			return nil, nil, fmt.Errorf("it has more than %d files", mostFiles)
		}
		data, bad := io.ReadAll(archive)
		if bad != nil {
			return nil, nil, errCut
		}
		left -= h.Size
		if m == nil {
			if m, err = readManifest(h.Name, data); err != nil {
				return nil, nil, err
			}
			continue
		}
		if _, twice := files[h.Name]; twice {
			return nil, nil, fmt.Errorf("%q is in it twice", h.Name)
		}
		files[h.Name] = data
	}
	if m == nil {
		return nil, nil, errCut
	}
	// The end of the packed data has a sum of all.
	if _, err = io.Copy(io.Discard, io.LimitReader(packed, 1<<20)); err != nil {
		return nil, nil, errCut
	}
	return m, files, nil
}

// isInside reports whether a path names a file below the folder that somebody may unpack into.
func isInside(name string) bool {
	return name != "" && path.Clean(name) == name && !path.IsAbs(name) && name != ".." && !strings.HasPrefix(name,
		"../") &&
		!strings.ContainsAny(name, "\\\x00:")
}

func readManifest(name string, data []byte) (*manifest, error) {
	if name != manifestName {
		return nil, fmt.Errorf("it begins with %q and not with %s: it is no recording", name, manifestName)
	}
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	switch {
	case head.Format != formatName:
		return nil, fmt.Errorf("its format is %q and not %s: it is no recording", head.Format, formatName)
	case head.Version != version:
		return nil, fmt.Errorf("its format has version %d, and this release reads version %d", head.Version, version)
	}
	m := &manifest{}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(m); err != nil {
		return nil, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	return m, nil
}

// check compares the files with what the manifest says of them.
func (m *manifest) check(files map[string][]byte) error {
	for _, f := range m.Files {
		data, there := files[f.Name]
		if !there {
			return fmt.Errorf("%q is missing; the recording was edited", f.Name)
		}
		sum := sha256.Sum256(data)
		if int64(len(data)) != f.Size || hex.EncodeToString(sum[:]) != f.SHA256 {
			return fmt.Errorf("%q is not what was recorded; the recording was edited", f.Name)
		}
	}
	if len(m.Files) != len(files) {
		return fmt.Errorf("it has %d files, and its manifest names %d; the recording was edited", len(files), len(m.Files))
	}
	return nil
}
