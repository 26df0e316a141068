package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

const (
	provider = "github.com/ibfabric/terraform-provider-infiniband"
	// The standard library is shipped like a module, and go version names it so.
	standardLibrary = "std"
)

// module is one module of the binary. Dir holds its files.
type module struct {
	Path    string
	Version string
	Dir     string
	Main    bool
}

// platforms are those that .goreleaser.yml builds for.
type platforms struct {
	Builds []struct {
		Main string   `yaml:"main"`
		OS   []string `yaml:"goos"`
		Arch []string `yaml:"goarch"`
	} `yaml:"builds"`
}

// releasedModules lists the modules that a program contains on any platform that it is released for, without our own.
// Packages differ between systems. A program is named as in .goreleaser.yml; "" is all of them.
func releasedModules(ctx context.Context, program string) ([]module, error) {
	root, err := output(ctx, nil, "list", "-m", "-f", "{{.Dir}}", provider)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), ".goreleaser.yml"))
	if err != nil {
		return nil, err
	}
	var p platforms
	if err = yaml.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf(".goreleaser.yml: %w", err)
	}
	library, err := standard(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]module{standardLibrary: library}
	for _, build := range p.Builds {
		if program != "" && build.Main != program {
			continue
		}
		if err = addModules(ctx, all, importPath(build.Main), build.OS, build.Arch); err != nil {
			return nil, err
		}
	}
	if len(all) == 1 {
		return nil, fmt.Errorf(".goreleaser.yml names no platform of %q, or it uses no module", program)
	}
	var list []module
	for _, m := range all {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// importPath is the path of a main package that stands in .goreleaser.yml.
func importPath(program string) string { return path.Join(provider, program) }

func addModules(ctx context.Context, all map[string]module, program string, systems, archs []string) error {
	for _, system := range systems {
		for _, arch := range archs {
			if err := addModulesOn(ctx, all, program, "GOOS="+system, "GOARCH="+arch); err != nil {
				return err
			}
		}
	}
	return nil
}

func addModulesOn(ctx context.Context, all map[string]module, program string, env ...string) error {
	out, err := output(ctx, append(env, "CGO_ENABLED=0"), "list", "-deps", "-json=Module", program)
	if err != nil {
		return err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module != nil && !p.Module.Main {
			all[p.Module.Path] = *p.Module
		}
	}
}

// standard is the library of the Go that builds; its licence lies at its root.
func standard(ctx context.Context) (module, error) {
	out, err := output(ctx, nil, "env", "GOVERSION", "GOROOT")
	if err != nil {
		return module{}, err
	}
	version, root, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return module{Path: standardLibrary, Version: version, Dir: root}, nil
}

// output runs the go command and returns what it prints.
func output(ctx context.Context, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are ours
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}
