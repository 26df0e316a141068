package adopt

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/adoption"
)

// The provider block has what the command line says of the hosts, and no password.
func TestProvider_isWhatTheCommandLineSays(t *testing.T) {
	password := filepath.Join(t.TempDir(), "sudo")
	if err := os.WriteFile(password, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	var o target.Options
	lab := found{Lab: &adoption.Lab{}}
	status := o.Run(flag.NewFlagSet("adopt", flag.ContinueOnError), []string{"-config-file", "none", "-user", "ops",
		"-identity", "~/.ssh/lab", "-jump", "gate@bastion:2022,inner", "-connect-timeout", "3s",
		"-host-key", "inner=SHA256:cc",
		"-host-key", "nas=SHA256:aa", "-host-key", "nas=SHA256:bb", "-sudo-password-file", password, "nas", "root@desk:2201", "box.example.org"},
		command.Streams{Err: t.Output()}, func(targets []*target.Target) int {
			lab.targets = targets
			for _, at := range targets {
				lab.Machines = append(lab.Machines, &adoption.Machine{Name: at.Name})
			}
			return command.OK
		})
	if status != command.OK {
		t.Fatal(status)
	}
	asked := order{Options: o}
	jumps := "      jump_hosts = [\n        {\n          address = \"bastion\"\n          port    = 2022\n" +
		"          user    = \"gate\"\n        },\n        {\n          address   = \"inner\"\n          host_keys = [\"SHA256:cc\"]\n        },\n      ]\n"
	want := `provider "infiniband" {
  backup_dir = "${path.root}/firmware-backups"

  ssh = {
    user             = "ops"
    private_key_file = "~/.ssh/lab"
    config_file      = "none"
    connect_timeout  = "3s"
  }

  hosts = {
    nas = {
      address   = "nas"
      host_keys = ["SHA256:aa", "SHA256:bb"]
` + jumps + `    }
    desk = {
      address = "desk"
      port    = 2201
      user    = "root"
` + jumps + `    }
    "box.example.org" = {
      address = "box.example.org"
` + jumps + `    }
  }
}
`
	_, got, _ := strings.Cut(string(asked.providers(lab)), "}\n\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	host, _ := asked.provider(lab).data()["hosts"].(map[string]any)["desk"].(map[string]any)
	if host["sudo_password"] != "s3cret" || host["port"] != 2201 {
		t.Errorf("the provider gets %v", host)
	}
}

// A file that appears while the hosts are read stays as it is.
func TestWrite_overwritesNothing(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{".gitignore", "cards.tf"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string][]byte{"README.md": []byte("x"), "cards.tf": []byte("x"), ".gitignore": []byte("x")}
	written, err := write(folder, names, files)
	if err == nil || !strings.Contains(err.Error(), "Written until then: "+filepath.Join(folder, "README.md")) ||
		len(written) != 1 {
		t.Errorf("%v: %v", written, err)
	}
	delete(files, "cards.tf")
	if err = os.Remove(filepath.Join(folder, "README.md")); err != nil {
		t.Fatal(err)
	}
	if written, err = write(folder, names, files); err != nil || len(written) != 1 {
		t.Errorf("%v: %v", written, err)
	}
	for _, name := range []string{".gitignore", "cards.tf"} {
		if data, bad := os.ReadFile(filepath.Join(folder, name)); bad != nil || string(data) != "mine" {
			t.Errorf("%s holds %s: %v", name, data, bad)
		}
	}
}

// The written folder is another one than that of the command.
func TestWhole(t *testing.T) {
	t.Chdir("/")
	for given, want := range map[string]string{
		"": "", "none": "none", "~/.ssh/lab": "~/.ssh/lab", "/etc/ssh/lab": "/etc/ssh/lab", "lab/config": "/lab/config",
	} {
		if got := whole(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}
