package adopt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/adoption"
)

// names are the files that may be written, in the order of reading.
var names = []string{"README.md", "providers.tf", "cards.tf", "fabric.tf", "cables.tf", "network.tf", "imports.tf"}

// ignored is the file that lists what does not belong into a repository. An existing
// one is kept.
const ignored = ".gitignore"

// notCommitted are the files of ignored: state and variables may hold passwords, and
// run.log changes with each apply.
const notCommitted = ".terraform/\n*.tfstate*\n*.tfvars\n*.tfvars.json\nrun.log\n"

// checkVacant reports whether a folder can take the files: it may be missing, it must be
// writable, and it has none of them.
func checkVacant(folder string, names ...string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // a repository, for everybody to read
		return fmt.Errorf("the folder cannot be made: %w. No host was asked", err)
	}
	var there []string
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			there = append(there, name)
		}
	}
	if len(there) > 0 {
		return fmt.Errorf("%s has %s already, and no file is overwritten. No host was asked. Name an empty folder with "+
			"-out FOLDER", folder, strings.Join(there, ", "))
	}
	probe, err := os.CreateTemp(folder, ".adopt-*")
	if err != nil {
		return fmt.Errorf("the folder cannot be written to: %w. No host was asked", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// write makes the files. It leaves a file alone that has appeared meanwhile.
func write(folder string, names []string, files map[string][]byte) (written []string, err error) {
	for _, name := range append(names[:len(names):len(names)], ignored) {
		data, ok := files[name]
		if !ok {
			continue
		}
		path := filepath.Join(folder, name)
		err := create(path, data)
		if name == ignored && errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return written, fmt.Errorf("%w. Written until then: %s", err, strings.Join(written, ", "))
		}
		written = append(written, path)
	}
	return written, nil
}

func create(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a repository, see above
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// files are the texts of all files by name.
func (o *order) files(lab found) map[string][]byte {
	out := lab.Files()
	if cables := lab.Cables(); cables != nil {
		out["cables.tf"] = cables
	}
	more := ""
	if lab.secret() {
		more = "\nThe password for sudo is in no file: set `INFINIBAND_SUDO_PASSWORD`.\n"
	}
	out["README.md"] = []byte(lab.Readme(more))
	out[ignored] = []byte(notCommitted)
	out["providers.tf"] = o.providers(lab)
	return out
}

// providers is the file with the provider block.
func (o *order) providers(lab found) []byte {
	return adoption.Format(terraformBlock + "provider \"infiniband\" {\n" + o.provider(lab).paragraphs() + "}\n")
}

// up are the targets that were read.
func (f found) up() (out []*target.Target) {
	for _, m := range f.Up() {
		i := slices.IndexFunc(f.targets, func(t *target.Target) bool { return t.Name == m.Name })
		out = append(out, f.targets[i])
	}
	return out
}

const terraformBlock = `terraform {
  required_version = ">= 1.11"

  required_providers {
    infiniband = {
      source  = "ibfabric/infiniband"
      version = ">= 0.1.0"
    }
  }
}

`

// provider is the provider block.
func (o *order) provider(lab found) settings {
	return o.block(lab.up())
}

// block is the provider block for hosts.
func (o *order) block(targets []*target.Target) settings {
	out := settings{{name: "backup_dir", value: "firmware-backups", written: `"${path.root}/firmware-backups"`}}
	if ssh := ofOptions(&o.Options); len(ssh) > 0 {
		out = append(out, setting{name: "ssh", value: ssh})
	}
	var hosts settings
	for _, t := range targets {
		hosts = append(hosts, setting{name: t.Name, value: ofTarget(t, &o.Options)})
	}
	return append(out, setting{name: "hosts", value: hosts})
}

// ofOptions is what all hosts share.
func ofOptions(o *target.Options) settings {
	var out settings
	out = out.text("user", o.User).number("port", o.Port).text("private_key_file", whole(o.Identity)).
		text("config_file", whole(o.ConfigFile)).text("host_key_policy", o.HostKeyPolicy)
	if o.ConnectTimeout > 0 {
		out = out.text("connect_timeout", o.ConnectTimeout.String())
	}
	return out
}

// whole makes a path absolute, because the repository is written to another folder.
func whole(file string) string {
	if file == "" || file == sshconfig.ConfigFileNone || strings.HasPrefix(file, "~") {
		return file
	}
	if abs, err := filepath.Abs(file); err == nil {
		return abs
	}
	return file
}

// ofTarget is what one host has of its own.
func ofTarget(t *target.Target, o *target.Options) settings {
	out := settings{{name: "address", value: t.Config.Address}}
	if t.Config.Port != o.Port {
		out = out.number("port", t.Config.Port)
	}
	if t.Config.User != o.User {
		out = out.text("user", t.Config.User)
	}
	out = out.texts("host_keys", t.Config.HostKeys)
	if t.Config.SudoPassword != "" {
		out = append(out, setting{name: "sudo_password", value: t.Config.SudoPassword, secret: true})
	}
	if len(t.Config.Jumps) > 0 {
		var jumps []settings
		for _, j := range t.Config.Jumps {
			jumps = append(jumps, ofJump(j))
		}
		out = append(out, setting{name: "jump_hosts", value: jumps})
	}
	return out
}

func ofJump(c sshhost.Config) settings {
	return settings{{name: "address", value: c.Address}}.number("port", c.Port).text("user", c.User).
		texts("host_keys", c.HostKeys)
}

func (s settings) texts(name string, values []string) settings {
	if len(values) == 0 {
		return s
	}
	return append(s, setting{name: name, value: values})
}

func (s settings) text(name, value string) settings {
	if value == "" {
		return s
	}
	return append(s, setting{name: name, value: value})
}

func (s settings) number(name string, value int) settings {
	if value == 0 {
		return s
	}
	return append(s, setting{name: name, value: value})
}

// secret reports whether a password was used. Passwords are written to no file.
func (f found) secret() bool {
	return slices.ContainsFunc(f.up(), func(t *target.Target) bool { return t.Config.SudoPassword != "" })
}
