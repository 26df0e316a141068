// Package recording writes what hosts have answered into one file: a tar archive, packed with
// gzip, with a manifest and one file for each answer. The page "Sending a lab" documents it.
//
// It must not ask a host, or know what an answer means.
package recording

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Format and Version are what a manifest begins with. A change that an older reader would
// misunderstand takes the next version.
const (
	Format  = "infiniband-recording"
	Version = 1
)

// Manifest is manifest.json, the first file of the archive.
type Manifest struct {
	Format   string `json:"format"`
	Version  int    `json:"version"`
	Provider string `json:"provider"` // release that has recorded
	Hosts    []Host `json:"hosts"`
	Files    []File `json:"files"`
}

// Host is one host, by the name that stands for its own.
type Host struct {
	Name    string   `json:"name"`
	Problem string   `json:"problem,omitempty"` // why answers are missing; empty if none is
	Answers []Answer `json:"answers"`
	Flashes []Flash  `json:"flashes,omitempty"`
}

// Flash is what a card has in flash, as it is.
type Flash struct {
	Card string `json:"card"` // PCI address
	File string `json:"file"`
}

// Answer is what a host has answered to one command.
type Answer struct {
	Command string `json:"command"`
	Status  int    `json:"status"`            // exit status; -1 if none came
	Problem string `json:"problem,omitempty"` // why there is no answer, or only a part of it
	Output  string `json:"output,omitempty"`  // file with standard output
	Errors  string `json:"errors,omitempty"`  // file with standard error
}

// File is a file of the archive. SHA256 is lower-case hex.
type File struct {
	Name   string `json:"name"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
}

// Most is the number of bytes that the files of a recording may have together. Readers refuse more.
const Most = 256 << 20

// Write writes a recording. files are the texts by the names that the answers give them.
func Write(w io.Writer, m Manifest, files map[string]string) error {
	m.Format, m.Version, m.Files = Format, Version, []File{}
	names := slices.Sorted(maps.Keys(files))
	all := 0
	for _, name := range names {
		sum := sha256.Sum256([]byte(files[name]))
		m.Files = append(m.Files, File{name, len(files[name]), hex.EncodeToString(sum[:])})
		all += len(files[name])
	}
	if all > Most {
		return fmt.Errorf("it would have %d bytes, and a recording has at most %d; record fewer hosts", all, Most)
	}
	var manifest bytes.Buffer
	out := json.NewEncoder(&manifest)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	if err := out.Encode(m); err != nil {
		return fmt.Errorf("the manifest cannot be written: %w", err)
	}
	packed := gzip.NewWriter(w)
	archive := tar.NewWriter(packed)
	if err := add(archive, "manifest.json", manifest.String()); err != nil {
		return err
	}
	for _, name := range names {
		if err := add(archive, name, files[name]); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return packed.Close()
}

// add writes one file, without what says who has written it and when.
func add(archive *tar.Writer, name, text string) error {
	err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text)),
		ModTime: time.Unix(0, 0), Format: tar.FormatPAX})
	if err != nil {
		return err
	}
	_, err = io.WriteString(archive, text)
	return err
}
