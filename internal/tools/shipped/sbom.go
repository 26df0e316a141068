package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// bom is the part of CycloneDX 1.6 that a Go binary has something to say for.
// It has no time and no random number: the same binary gives the same bytes.
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string          `json:"type"`
	Ref        string          `json:"bom-ref"`
	Name       string          `json:"name"`
	Version    string          `json:"version,omitempty"`
	Hashes     []hash          `json:"hashes,omitempty"`
	Licences   []licenceChoice `json:"licenses,omitempty"`
	PURL       string          `json:"purl"`
	Properties []property      `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licenceChoice struct {
	Expression string `json:"expression"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// writeSBOM writes what the linker noted in the binary, with the licence of each module.
func writeSBOM(ctx context.Context, path, binary string) error {
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	program, ours := strings.CutPrefix(info.Path, provider)
	if !ours {
		return fmt.Errorf("%s is built from %s, not from %s", binary, info.Path, provider)
	}
	found, err := releasedModules(ctx, "."+program)
	if err != nil {
		return err
	}
	components, err := libraries(info, found)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	self := component{Type: "application", Ref: "pkg:golang/" + info.Path, Name: filepath.Base(binary),
		PURL: "pkg:golang/" + info.Path, Licences: []licenceChoice{{"Apache-2.0"}},
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}}}
	for _, s := range info.Settings {
		self.Properties = append(self.Properties, property{"go:build:" + s.Key, s.Value})
	}
	text, err := json.MarshalIndent(bom{"CycloneDX", "1.6", 1, metadata{self}, components}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

// libraries are the modules of a binary, the standard library first.
func libraries(info *debug.BuildInfo, found []module) ([]component, error) {
	deps := []*debug.Module{{Path: standardLibrary, Version: info.GoVersion}}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		deps = append(deps, d)
	}
	var out []component
	for _, d := range deps {
		at := slices.IndexFunc(found, func(m module) bool { return m.Path == d.Path && m.Version == d.Version })
		if at < 0 {
			return nil, fmt.Errorf("the binary contains %s %s, which this tree does not build it from", d.Path, d.Version)
		}
		licence, err := found[at].licence()
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", d.Path, d.Version, err)
		}
		purl := "pkg:golang/" + d.Path + "@" + d.Version
		c := component{Type: "library", Ref: purl, Name: d.Path, Version: d.Version, PURL: purl,
			Licences: []licenceChoice{{licence}}}
		if d.Sum != "" {
			c.Properties = []property{{"go:sum", d.Sum}}
		}
		out = append(out, c)
	}
	return out, nil
}
