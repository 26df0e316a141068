package acctest

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// What init writes of two blank cards is a configuration: with the firmware filled in, the first
// plan is refused for the PSID alone, and with the consent that it prints the second one is not.
func TestInit_of_blank_cards(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	o := newFolder(t, buildProvider(t))
	o.mirror()
	module, err := filepath.Abs("../../examples/modules/lab")
	if err != nil {
		t.Fatal(err)
	}
	key, known := w.keys()
	var ssh strings.Builder
	for name, host := range map[string]string{labs.Intel9: "desk", labs.Xeon2zfs: "nas"} {
		at := w.Host(name)
		ssh.WriteString("Host " + host + "\n  HostName " + at["address"].(string) + "\n  Port " + strconv.Itoa(at["port"].(int)) + "\n  User " +
			at["user"].(string) + "\n")
	}
	o.write("ssh_config", ssh.String()+"Host *\n  IdentityFile "+key+"\n  IdentitiesOnly yes\n  UserKnownHostsFile "+known+"\n")
	run := func(hosts ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), o.binary, append([]string{"init", "-out", o.dir, "-module", module, "-config-file",
			filepath.Join(o.dir, "ssh_config")}, hosts...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("nas", "pc=desk"); err != nil || !strings.HasPrefix(out, "Cards: 2. Written: ") {
		t.Fatalf("%v\n%s", err, out)
	}
	main := o.text("main.tf")
	for _, want := range []string{"# ConnectX-3 Pro, MCX314A-BCCT, PSID MT_9200111023, firmware 2.40.5032\n", "pc = {", `address   = "desk"`,
		`pci_address   = "0000:01:00.0"`, `serial_number = "MT1234X00000"`, `base_mac = "e4:1d:2d:e4:4e:d0"`, `subnet_managers = { pc = { "1" = 14 } }`, `host_keys = ["SHA256:`} {
		if !strings.Contains(main, want) && !strings.Contains(strings.Join(strings.Fields(main), " "), want) {
			t.Errorf("no %s in\n%s", want, main)
		}
	}
	if out, err := run("nas"); err == nil || !strings.Contains(out, "has main.tf already") {
		t.Errorf("a second run: %v\n%s", err, out)
	}
	const image = `# image = { source = "fw.bin", sha256 = "the 64 digits that sha256sum prints" }`
	filled := strings.Replace(main, image, `image = { source = "`+w.Image(ImageVPI)+`", sha256 = "`+w.Images[ImageVPI].SHA256+`" }`, 1)
	o.write("main.tf", strings.ReplaceAll(filled, "# address = ", "address = "))
	o.says(0, "init")
	refused := o.says(1, "plan")
	if n := strings.Count(refused, "Error: "); n != 2 || strings.Count(refused, "Refusing to burn firmware on card") != 2 ||
		!strings.Contains(refused, "psid_change = {") {
		t.Errorf("%d errors:\n%s", n, refused)
	}
	o.write("main.tf", strings.Replace(o.text("main.tf"), `# allow = { psid_change = { from = "…", to = "…" } }`,
		`allow = { psid_change = { from = "MT_9200111023", to = "MT_9090111019" } }`, 1))
	o.says(0, "plan")
}
