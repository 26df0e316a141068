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
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// The provider block has what the command line says of the hosts, and no password.
func TestProvider_isWhatTheCommandLineSays(t *testing.T) {
	password := filepath.Join(t.TempDir(), "sudo")
	if err := os.WriteFile(password, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	var o target.Options
	lab := &found{}
	status := o.Run(flag.NewFlagSet("adopt", flag.ContinueOnError), []string{"-config-file", "none", "-user", "ops",
		"-identity", "~/.ssh/lab", "-jump", "gate@bastion:2022,inner", "-connect-timeout", "3s",
		"-sudo-password-file", password, "nas", "root@desk:2201", "box.example.org"},
		command.Streams{Err: t.Output()}, func(targets []*target.Target) int {
			for _, at := range targets {
				lab.machines = append(lab.machines, &machine{Name: at.Name, target: at, snap: &inventory.Snapshot{}})
			}
			return command.OK
		})
	if status != command.OK {
		t.Fatal(status)
	}
	lab.options = o
	jumps := "      jump_hosts = [\n        {\n          address = \"bastion\"\n          port    = 2022\n" +
		"          user    = \"gate\"\n        },\n        {\n          address = \"inner\"\n        },\n      ]\n"
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
      address = "nas"
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
	_, got, _ := strings.Cut(string(lab.files()["providers.tf"]), "}\n\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	host, _ := lab.provider().data()["hosts"].(map[string]any)["desk"].(map[string]any)
	if host["sudo_password"] != "s3cret" || host["port"] != 2201 {
		t.Errorf("the provider gets %v", host)
	}
}

func TestIdentifier_isANameOfAResource(t *testing.T) {
	for host, want := range map[string]string{
		"intel9": "intel9", "nas.example.org": "nas_example_org", "192.0.2.7": "host_192_0_2_7", "a-b": "a-b",
		"fe80::1": "fe80__1", "-x": "host_-x", "\u00fcber": "_ber", "nas:2201": "nas_2201",
	} {
		if got := identifier(host); got != want {
			t.Errorf("%s is %s, want %s", host, got, want)
		}
	}
}

// Two objects of one name get names of their own, by their ports first.
func TestUnique_namesByPortThenByNumber(t *testing.T) {
	all := []*object{
		{Type: smType, Name: "a", suffix: "_port1"}, {Type: smType, Name: "a", suffix: "_port2"},
		{Type: ipoibType, Name: "a", suffix: "_port1"},
		{Type: cardType, Name: "a_b"}, {Type: cardType, Name: "a_b"},
	}
	unique(all)
	var got []string
	for _, o := range all {
		got = append(got, o.address())
	}
	want := []string{"infiniband_opensm.a_port1", "infiniband_opensm.a_port2", "infiniband_ipoib_interface.a",
		"infiniband_card.a_b", "infiniband_card.a_b_2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What comes from a host is text in every file: nothing of it is evaluated, and a comment
// does not end with its line.
func TestFiles_holdTextsOfHostsAsTexts(t *testing.T) {
	if got := text("a\"${file(\"/etc/shadow\")}%{if true}\n"); got != `"a\"$${file(\"/etc/shadow\")}%%{if true}\n"` {
		t.Error(got)
	}
	if got := comment("first\nresource \"x\" \"y\" {}\n\n    line = 1"); got !=
		"# first\n# resource \"x\" \"y\" {}\n#\n#     line = 1\n" {
		t.Errorf("%q", got)
	}
	if got := cell("a|b\n"); strings.Contains(got, "\n") || !strings.Contains(got, `a\|b`) {
		t.Errorf("%q", got)
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
	written, err := write(folder, files)
	if err == nil || !strings.Contains(err.Error(), "Written until then: "+filepath.Join(folder, "README.md")) ||
		len(written) != 1 {
		t.Errorf("%v: %v", written, err)
	}
	delete(files, "cards.tf")
	if err = os.Remove(filepath.Join(folder, "README.md")); err != nil {
		t.Fatal(err)
	}
	if written, err = write(folder, files); err != nil || len(written) != 1 {
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
