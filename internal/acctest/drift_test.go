package acctest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// workflow gives the commands of each job of a ready workflow, which a guide shows as it is.
func workflow(t *testing.T, name string) map[string]string {
	t.Helper()
	file, err := os.ReadFile("../../examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	if err = yaml.Unmarshal(file, &all); err != nil {
		t.Fatal(err)
	}
	commands := map[string]string{}
	for job, has := range all.Jobs {
		for _, step := range has.Steps {
			commands[job] += step.Run + "\n"
		}
		if !strings.Contains(commands[job], "\nterraform ") {
			t.Fatalf("the commands of job %s:\n%s", job, commands[job])
		}
	}
	return commands
}

// nightly is a runner of the workflow, whose only secret is the key.
type nightly struct {
	*operator
	commands, key string
	env           []string
}

// ends runs the commands of the workflow as the runner's shell does.
func (n nightly) ends(status int, words ...string) {
	n.t.Helper()
	cmd := exec.CommandContext(n.t.Context(), "bash", "-e", "-c",
		"terraform() { "+n.engine+" \"$@\"; }\n"+n.commands)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(n.dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1",
		"LAB_SSH_KEY="+n.key, "INFINIBAND_SUDO_PASSWORD=", "SSH_AUTH_SOCK=")
	cmd.Env = append(cmd.Env, n.env...)
	out, _ := cmd.CombinedOutput()
	said := strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(string(out))), " ")
	if got := cmd.ProcessState.ExitCode(); got != status {
		n.t.Fatalf("the workflow ended with %d, expected %d:\n%s", got, status, out)
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			n.t.Errorf("the workflow does not say %q:\n%s", w, out)
		}
	}
}

// The workflow of the guide finds what somebody changed by hand, changes nothing
// itself, and is quiet otherwise.
func TestDrift_workflow(t *testing.T) {
	t.Parallel()
	commands := workflow(t, "drift/drift.yml")["plan"]
	w := Start(t, Options{Hosts: labs.Named["qlogic"]()})
	o := newFolder(t, buildProvider(t))
	o.mirror()
	o.example("qlogic", w)
	o.says(0, "init")
	o.says(0, "apply", "-auto-approve")
	o.says(0, "apply", "-refresh-only", "-auto-approve")

	keyFile, _ := w.keys()
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	o.withoutKey("lab.auto.tfvars.json")
	n := nightly{o, commands, string(key), nil}
	before := w.prints()
	n.ends(0, "No changes.", "The hosts that answered are as the repository says.")
	host := w.Names()[0]
	if diff := cmp.Diff(before, w.prints()); diff != "" {
		t.Error("the plan changed a host:", diff)
	}

	ipoib := ""
	for _, d := range w.Machine(host).Netdevs() {
		if d.MTU == 65520 {
			ipoib = d.Name
		}
	}
	w.Run(host, "ip link set dev "+ipoib+" mtu 1500")
	changed := w.prints()
	n.ends(2, "mtu = 1500 ->", "0 to add, 1 to change, 0 to destroy", "::error title=Drift::")
	if diff := cmp.Diff(changed, w.prints()); diff != "" {
		t.Error("the plan changed a host:", diff)
	}

	// A host that is down is a line: the drift of the others is shown.
	main := o.text("main.tf")
	o.write("main.tf", strings.Replace(main, "provider \"infiniband\" {\n", "provider \"infiniband\" {\n  unreachable = \"keep\"\n", 1))
	dead := w.Names()[1]
	w.Machine(dead).Faults.Set(labsim.FaultSpec{Refuse: true})
	n.ends(2, "mtu = 1500 ->", "::warning title=Hosts not seen::Not seen: host "+dead, "::error title=Drift::")
	w.Machine(dead).Faults.Clear()

	// Of hosts in observe mode a plan says the same; the apply is refused.
	o.write("main.tf", strings.Replace(main, "provider \"infiniband\" {\n", "provider \"infiniband\" {\n  mode = \"observe\"\n", 1))
	changed = w.prints()
	n.ends(2, "mtu = 1500 ->", "HO008", host, "::error title=Drift::")
	o.says(1, "apply", "-auto-approve")
	if diff := cmp.Diff(changed, w.prints()); diff != "" {
		t.Error("a host in observe mode was changed:", diff)
	}
	w.Run(host, "ip link set dev "+ipoib+" mtu 65520")
	n.ends(0, "No changes.")
}

// What somebody burns on a card that was adopted is drift, with both firmwares in the plan, until the configuration says
// that it is as wanted. So it is on a host that is only read, and so are its GUIDs. No apply burns anything.
func TestDrift_of_an_adopted_lab(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()[:1]})
	host := w.Names()[0]
	o := newFolder(t, buildProvider(t))
	o.adopts(w)
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
	byHand := func(image []byte) {
		w.Machine(host).FS.Put("/tmp/byhand.bin", string(image), 0o600)
		w.Run(host, "mstflint -y -d "+w.PCI(host)+" -i /tmp/byhand.bin b")
	}

	byHand(card.OldVPI())
	drifts := func() {
		t.Helper()
		o.says(2, "plan", "-detailed-exitcode", "-out=p")
		plan := o.says(0, "show", "-json", "p")
		for _, part := range []string{
			`"change":"` + card.PSIDVPI + ` 2.36.5000 -> ` + card.PSIDVPI + ` 2.42.5000"`,
			`"flash_version":"2.36.5000"`, `"flash_version":"2.42.5000"`, `"actions":["update"]`,
		} {
			if !strings.Contains(strings.ReplaceAll(plan, `\u003e`, ">"), part) {
				t.Errorf("the plan lacks %s:\n%s", part, plan)
			}
		}
		if said := o.says(1, "apply", "p"); !strings.Contains(said, "FW090") {
			t.Errorf("the apply is not refused:\n%s", said)
		}
	}
	drifts()
	drifts() // it stays drift
	o.write("providers.tf", strings.Replace(o.text("providers.tf"), "provider \"infiniband\" {\n",
		"provider \"infiniband\" {\n  mode = \"observe\"\n", 1))
	drifts()
	w.Run(host, "mstflint -y -d "+w.PCI(host)+" -guid 0002c90300aaaaa0 sg")
	if said := o.says(2, "plan", "-detailed-exitcode"); !strings.Contains(said, "HO008") ||
		!strings.Contains(said, `base_guid = "0x0002c90300aaaaa0" -> "0xe41d2d0300e44ed0"`) {
		t.Errorf("other GUIDs of a host that is only read:\n%s", said)
	}
	w.Run(host, "mstflint -y -d "+w.PCI(host)+" -guid "+fmt.Sprintf("%016x", NodeGUID(host))+" sg")

	// What is there is taken as wanted, or burned back.
	cards := o.text("cards.tf")
	o.write("cards.tf", strings.Replace(cards, `"2.42.5000"`, `"2.36.5000"`, 1))
	o.says(0, "plan", "-detailed-exitcode")
	o.write("cards.tf", cards)
	o.says(2, "plan", "-detailed-exitcode")
	byHand(card.VPI())
	o.says(0, "plan", "-detailed-exitcode")
	if jobs := w.Run(host, "ls /var/lib/terraform-provider-infiniband/jobs 2>/dev/null || true"); strings.TrimSpace(jobs) != "" {
		t.Errorf("an apply has written flash: %s", jobs)
	}
}

// withoutKey takes the key out of variables: the agent has it.
func (o *operator) withoutKey(file string) {
	o.t.Helper()
	vars := map[string]any{}
	if err := json.Unmarshal([]byte(o.text(file)), &vars); err != nil {
		o.t.Fatal(err)
	}
	delete(vars, "private_key_file")
	text, err := json.Marshal(vars)
	if err != nil {
		o.t.Fatal(err)
	}
	o.write(file, string(text))
}
