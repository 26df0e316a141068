package acctest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// sshAliases writes an SSH configuration in which each host of the lab is an alias.
func sshAliases(t *testing.T, w *Lab) string {
	t.Helper()
	var b strings.Builder
	for _, name := range w.Names() {
		at := w.Host(name)
		fmt.Fprintf(&b, "Host %s\n  HostName %s\n  Port %d\n  User %s\n", name, at["address"], at["port"], at["user"])
	}
	key, known := w.keys()
	fmt.Fprintf(&b, "Host *\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n", key, known)
	path := filepath.Join(t.TempDir(), "ssh_config")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// example copies an example and writes its variables.
func (o *operator) example(name string, w *Lab) {
	from := Example(o.t, name)
	if err := os.CopyFS(o.dir, os.DirFS(from)); err != nil {
		o.t.Fatal(err)
	}
	o.write("main.tf", strings.Replace(o.text("main.tf"), from, ".", 1)) // messages name the module by this path
	hosts := map[string]any{}
	for _, host := range w.Names() {
		at := w.Servers[host].Addr
		hosts[host] = map[string]any{"address": at.IP.String(), "port": at.Port, "user": w.User(host)}
	}
	key, known := w.keys()
	vars := map[string]any{"hosts": hosts, "private_key_file": key, "known_hosts_files": []string{known}}
	if name == "crossflash" { // the others burn nothing
		vars["image"], vars["image_sha256"] = w.Image(ImageVPI), w.Images[ImageVPI].SHA256
		vars["allow"] = map[string]any{"psid_change": Consent()}
	}
	text, err := json.Marshal(vars)
	if err != nil {
		o.t.Fatal(err)
	}
	o.write("lab.auto.tfvars.json", string(text))
}

// adopts runs the command of the built provider in the operator's folder.
func (o *operator) adopts(w *Lab, options ...string) string {
	o.t.Helper()
	args := slices.Concat([]string{"adopt", "-config-file", sshAliases(o.t, w), "-out", o.dir}, options, w.Names())
	cmd := exec.CommandContext(o.t.Context(), o.binary, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		o.t.Fatalf("%v: %v\n%s", args, err, &out)
	}
	return out.String()
}

// The lab of each example but the first, which the guide has, is set up by the example. Then somebody who knows nothing of it
// adopts it by one command: the plan imports and changes nothing, before and after the
// apply, and the hosts are as they were.
func TestAdopt_labs_of_the_examples(t *testing.T) {
	t.Parallel()
	built := buildProvider(t)
	for name, want := range map[string]struct {
		resources int
		lines     []string
	}{
		"point-to-point": {5, []string{`port_guid = infiniband_card.debian1.port_guids["1"]`}},
		"qlogic":         {5, nil},
		// Three hosts that are alike, and one subnet manager.
		"gpu": {16, []string{
			`resource "infiniband_card" "hosts" { for_each = toset(["r720", "r730a", "r730b"]) host = each.key`,
			`{ for_each = infiniband_card.hosts card_id = infiniband_card.hosts[each.key].id ports = { "1" = "ib" } }`,
			`"r730b" = ["10.20.0.13/24"] } host = each.key port_guid = infiniband_guids.hosts[each.key].port_guids["1"]`,
			`to = infiniband_ipoib_interface.hosts[each.key] id = each.value`,
			`{ host = "r730a" port_guid = infiniband_guids.hosts["r730a"].port_guids["1"] priority = 14 depends_on = ` +
				`[infiniband_link_type.hosts] }`,
		}},
		"oem": {12, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: labs.Named[name]()})
			first := newFolder(t, built)
			first.example(name, w)
			first.says(0, "get")
			first.says(0, "apply", "-auto-approve")
			before := w.prints()
			o := newFolder(t, built)
			t.Log(o.adopts(w))
			if text := o.says(0, "plan"); !strings.Contains(text,
				fmt.Sprintf("%d to import, 0 to add, 0 to change, 0 to destroy", want.resources)) {
				t.Errorf("the plan of the import:\n%s", text)
			}
			o.says(0, "validate")
			o.says(0, "fmt", "-check", "-diff")
			o.says(0, "apply", "-auto-approve")
			o.says(0, "plan", "-detailed-exitcode")
			all := o.text("*.tf")
			for _, line := range want.lines {
				if !strings.Contains(strings.Join(strings.Fields(all), " "), line) {
					t.Errorf("no %s in\n%s", line, all)
				}
			}
			if diff := cmp.Diff(before, w.prints()); diff != "" {
				t.Error("a host is not what it was:", diff)
			}
		})
	}
}

// Hosts that are alike are one block, also where definitions are taken over: what they have
// of their own is a map. A host without the interface is not among those that have it.
func TestAdopt_hosts_that_are_alike(t *testing.T) {
	t.Parallel()
	hosts := labs.Fleet(4)
	hosts[1].Name = "node.example.org"
	hosts[3].Cards[0].BDF = "0000:03:00.0"
	w := Start(t, Options{Hosts: hosts})
	for i, host := range w.Names() {
		w.Run(host, "apt-get install -y rdma-core mstflint infiniband-diags; "+
			"printf 'ib_ipoib\\nib_umad\\nmlx4_ib\\n' >>/etc/modules; "+
			"echo options mlx4_core port_type_array=1,1 >/etc/modprobe.d/local.conf; update-initramfs -u")
		w.Reboot(host)
		if i < 3 {
			address := fmt.Sprintf("10.9.0.%d/24", i+1)
			w.Machine(host).FS.Put(netplanFile, netplanByHand("ibp1s0", "datagram", "2044", address), 0o600)
			w.Run(host, typed("ibp1s0", "datagram", "2044", address))
		}
	}
	o := newFolder(t, buildProvider(t))
	said := o.adopts(w, "-take-over")
	if !strings.Contains(said, `infiniband_card.hosts["node.example.org"]  node.example.org/0000:01:00.0/`) {
		t.Error(said)
	}
	o.imports(4*4+3, 3)
	all := strings.Join(strings.Fields(o.text("*.tf")), " ")
	for _, part := range []string{
		`"host0003" = "0000:03:00.0" } host = each.key pci_address = each.value }`,
		`"infiniband_firmware" "hosts" { for_each = infiniband_card.hosts card_id = infiniband_card.hosts[each.key].id ` +
			`flash_psid = "` + card.PSIDVPI + `" flash_version = "2.42.5000" }`,
		`"node.example.org" = "e4:1d:2d:e4:4e:e0" "host0002" = "e4:1d:2d:e4:4e:f0" "host0003" = "e4:1d:2d:e4:4f:00" }`,
		`card_id = infiniband_card.hosts[each.key].id base_mac = each.value }`,
		`"host0002" = ["10.9.0.3/24"] } host = each.key port_guid = infiniband_guids.hosts[each.key].port_guids["1"]`,
		`addresses = each.value allow = { adopt_files = ["/etc/netplan/60-infiniband.yaml"] } depends_on = ` +
			`[infiniband_link_type.hosts] }`,
		`"host0003" = "host0003/0000:03:00.0" } to = infiniband_guids.hosts[each.key] id = each.value }`,
	} {
		if !strings.Contains(all, part) {
			t.Errorf("no %s in\n%s", part, o.text("*.tf"))
		}
	}
}

// text is what some files of the operator hold.
func (o *operator) text(pattern string) string {
	o.t.Helper()
	files, err := filepath.Glob(filepath.Join(o.dir, pattern))
	if err != nil {
		o.t.Fatal(err)
	}
	var b strings.Builder
	for _, file := range files {
		text, bad := os.ReadFile(file)
		if bad != nil {
			o.t.Fatal(bad)
		}
		b.Write(text)
	}
	return b.String()
}

// guideBlock is a block of commands, or a file that begins with its name.
var guideBlock = regexp.MustCompile("(?s)```(sh|hcl)\n(.*?)```")

// The walk of the guide, command by command, on the lab that it tells of.
func TestAdopt_guide(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../templates/guides/adopt.md")
	if err != nil {
		t.Fatal(err)
	}
	w := Start(t, Options{})
	built := buildProvider(t)
	first := newFolder(t, built)
	first.example("crossflash", w)
	first.says(0, "get")
	first.says(0, "apply", "-auto-approve")
	before := w.prints()

	o := newFolder(t, built)
	o.mirror()
	var script strings.Builder
	fmt.Fprintf(&script, "set -e\nterraform() { %q \"$@\"; }\n", o.engine)
	fmt.Fprintf(&script, "terraform-provider-infiniband() { verb=$1; shift; %q \"$verb\" -config-file %q \"$@\"; }\n", o.binary,
		sshAliases(t, w))
	blocks := guideBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 10 || !strings.HasPrefix(blocks[0][2], "make install\n") {
		t.Fatalf("%d blocks of commands and files, the first %q", len(blocks), blocks[0])
	}
	for _, b := range blocks[1:] { // what make install does is done above
		if b[1] == "hcl" {
			name, _, _ := strings.Cut(strings.TrimPrefix(b[2], "# "), "\n")
			fmt.Fprintf(&script, "cat >%s <<'END'\n%sEND\n", name, b[2])
			continue
		}
		script.WriteString(b[2])
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	cmd.Dir = o.dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(o.dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1",
		"TF_INPUT=0", "TF_CLI_ARGS_apply=-auto-approve", "GIT_AUTHOR_NAME=ops", "GIT_AUTHOR_EMAIL=ops@example.com",
		"GIT_COMMITTER_NAME=ops", "GIT_COMMITTER_EMAIL=ops@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	committed, err := exec.CommandContext(t.Context(), "git", "-C", filepath.Join(o.dir, "lab"), "ls-files").Output()
	want := ".gitignore\n.terraform.lock.hcl\nREADME.md\ncables.tf\ncards.tf\nfabric.tf\nnetwork.tf\nproviders.tf\n"
	if err != nil || string(committed) != want ||
		!strings.Contains(string(out), "11 to import, 0 to add, 0 to change, 0 to destroy") {
		t.Errorf("committed are %s: %v\n%s", committed, err, out)
	}
	o.dir = filepath.Join(o.dir, "lab")
	if found := o.text("found/*.tf"); !strings.Contains(found, `resource "infiniband_card" "intel9" {`) ||
		!strings.Contains(found, "to = infiniband_ipoib_interface.intel9\n") || strings.Contains(found, "xeon2zfs") {
		t.Errorf("the data source gives\n%s", found)
	}
	if err = os.Rename(filepath.Join(o.dir, "..", "cli.tfrc"), filepath.Join(o.dir, "cli.tfrc")); err != nil {
		t.Fatal(err)
	}
	o.says(0, "validate")
	o.says(0, "fmt", "-check", "-diff")
	again := newFolder(t, built) // what the data source gives is whole
	again.write("main.tf", o.text("providers.tf")+o.text("found/*.tf"))
	if said := again.says(0, "plan"); !strings.Contains(said, "6 to import, 0 to add, 0 to change, 0 to destroy") {
		t.Errorf("the plan of the data source's text:\n%s", said)
	}
	if diff := cmp.Diff(before, w.prints()); diff != "" {
		t.Error("a host is not what it was:", diff)
	}
}

// mirror lets init find the built provider in a folder, as make install does.
func (o *operator) mirror() {
	for _, registry := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		dir := filepath.Join(o.dir, "plugins", registry, "ibfabric", "infiniband", "0.1.0", runtime.GOOS+"_"+runtime.GOARCH)
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			err = nameProgram(o.binary, filepath.Join(dir, "terraform-provider-infiniband_v0.1.0"))
		}
		if err != nil {
			o.t.Fatal(err)
		}
	}
	o.write("cli.tfrc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n",
		filepath.Join(o.dir, "plugins")))
}

// holds checks that the configuration of the operator has these parts, whatever its spaces.
func (o *operator) holds(parts ...string) {
	o.t.Helper()
	all := strings.Join(strings.Fields(o.text("*.tf")), " ")
	for _, part := range parts {
		if !strings.Contains(all, part) {
			o.t.Errorf("no %s in\n%s", part, all)
		}
	}
}
