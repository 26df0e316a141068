// Package twintest holds that the twin of a lab answers as the lab does.
package twintest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/recording"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/twin"
)

// seen is all that the provider says of a lab: what it reads of hosts, cards and fabric, and what it plans.
func seen(t *testing.T, w *acctest.Lab, cfg acctest.Config) string {
	t.Helper()
	var out strings.Builder
	ws := w.Workspace()
	ask := func(name string, attrs map[string]any) {
		value, diags, err := ws.Data(t.Context(), name, attrs)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(name + "\n" + acctest.Lines("  ", value) + fmt.Sprint(diags) + "\n")
	}
	ask("infiniband_cards", map[string]any{})
	ask("infiniband_adoption", map[string]any{})
	for _, host := range w.Names() {
		ask("infiniband_host", map[string]any{"host": host})
		ask("infiniband_fabric", map[string]any{"host": host})
	}
	plan, err := ws.Plan(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.Changes {
		out.WriteString(string(c.Action) + " " + c.Resource.Address() + "\n" + acctest.Lines("  ", acctest.Decode(c.Planned)))
	}
	for _, d := range plan.Diags {
		fmt.Fprintf(&out, "%t %s %s\n%s\n", d.Error, d.Address, d.Summary, d.Detail)
	}
	text := out.String()
	text = folders.ReplaceAllString(text, "FOLDER/")
	for name, s := range w.Servers {
		text = strings.ReplaceAll(text, s.Addr.String(), "ADDRESS-OF-"+name)
	}
	return text
}

// folders are those of one operator, which another one does not have.
var folders = regexp.MustCompile(`/\S*/Test\w+/\d+/`)

func TestTwin_of_each_lab_as_it_was_bought(t *testing.T) {
	for _, name := range labs.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := acctest.Start(t, acctest.Options{Hosts: labs.Named[name]()})
			var cfg acctest.Config
			if name == "crossflash" {
				cfg = w.BothHosts()
			}
			want := seen(t, w, cfg)
			other, made := acctest.StartTwin(t, w.Record(t), false)
			t.Logf("%s", strings.Join(made.Missing, "\n"))
			if got := seen(t, other, cfg); got != want {
				t.Errorf("%s", acctest.Difference(want, got))
			}
		})
	}
}

// apply applies a configuration, which has to hold.
func apply(t *testing.T, w *acctest.Lab, cfg acctest.Config) *acctest.Workspace {
	t.Helper()
	ws := w.Workspace()
	plan, err := ws.Plan(t.Context(), cfg)
	if err != nil || plan.Diags.HasError() {
		t.Fatalf("plan: %v\n%s", err, plan.Diags.Errors())
	}
	if said, applyErr := ws.Apply(t.Context(), plan); applyErr != nil || said.HasError() {
		t.Fatalf("apply: %v\n%s", applyErr, said.Errors())
	}
	return ws
}

func TestTwin_of_a_lab_that_works(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{})
	cfg := w.BothHosts()
	apply(t, w, cfg)
	want := seen(t, w, cfg)
	other, made := acctest.StartTwin(t, w.Record(t), false, card.VPI())
	t.Logf("%s", strings.Join(made.Missing, "\n"))
	if got := seen(t, other, cfg); got != want {
		t.Errorf("%s", acctest.Difference(want, got))
	}
}

// Every system and every network stack, with one resource of each kind that lives there.
func TestTwin_of_each_stack(t *testing.T) {
	stacks := map[labsim.OS][]labsim.Stack{labsim.Ubuntu: {""}, labsim.Debian12: {labsim.StackIfupdown,
		labsim.StackNetplan,
		labsim.StackNetplanNM, labsim.StackNetworkManager, labsim.StackNetworkd}, labsim.RHEL9: {""},
		labsim.Fedora43: {""}, labsim.Arch: {""}, labsim.TrueNAS: {""}}
	for system, list := range stacks {
		for _, stack := range list {
			t.Run(fmt.Sprint(system, stack), func(t *testing.T) {
				t.Parallel()
				w := working(t, system, stack)
				cfg := everything(w, system)
				want := seen(t, w, cfg)
				other, made := acctest.StartTwin(t, w.Record(t), false, card.VPI())
				t.Logf("%s", strings.Join(made.Missing, "\n"))
				if got := seen(t, other, cfg); got != want {
					t.Errorf("%s", acctest.Difference(want, got))
				}
			})
		}
	}
}

// working is a lab of one host on which everything is applied.
func working(t *testing.T, system labsim.OS, stack labsim.Stack) *acctest.Lab {
	t.Helper()
	h := labs.Server("h", system, "192.0.2.20", 0)
	h.Stack, h.Cmdline = stack, "mlx4_core.port_type_array=1,1"
	w := acctest.Start(t, acctest.Options{Hosts: []labs.Host{h}})
	for _, name := range []string{"mlx4_ib", "ib_umad", "ib_ipoib"} {
		if err := w.Machine("h").LoadModule(name); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, w, everything(w, system))
	return w
}

// everything is a resource of each kind for the host of a lab.
func everything(w *acctest.Lab, system labsim.OS) acctest.Config {
	id, guid := "h/"+w.PCI("h"), fmt.Sprintf("0x%016x", w.Card("h").Running().GUIDs[1])
	on := func(more map[string]any) map[string]any {
		all := map[string]any{"host": "h", "port_guid": guid}
		maps.Copy(all, more)
		return all
	}
	cfg := acctest.Config{
		{Type: "infiniband_card", Attrs: map[string]any{"host": "h", "pci_address": w.PCI("h")}},
		{Type: "infiniband_link_type", Attrs: map[string]any{"card_id": id, "ports": map[string]any{"1": "ib", "2": "ib"}}},
	}
	ours := map[string]any{"mode": "connected", "addresses": []any{"172.16.0.20/24"}}
	if system != labsim.TrueNAS && system != labsim.Arch {
		cfg = append(cfg, acctest.Resource{Type: "infiniband_opensm", Attrs: on(map[string]any{"priority": 5,
			"partitions": map[string]any{"Default": map[string]any{"ipoib": true, "full": []any{"ALL"}},
				"storage": map[string]any{"pkey": "0x8001", "ipoib": true, "full": []any{guid}}}})})
	}
	if system != labsim.TrueNAS {
		cfg = append(cfg, acctest.Resource{Type: "infiniband_port", Attrs: map[string]any{"card_id": id, "port": 2,
			"widths": []any{"1X", "4X"}}})
	}
	cfg = append(cfg, acctest.Resource{Type: "infiniband_ipoib_interface", Attrs: on(ours)})
	for i := range cfg {
		if cfg[i].Name = "h"; i > 0 {
			cfg[i].After = []string{cfg[i-1].Address()}
		}
	}
	if system == labsim.TrueNAS || system == labsim.Arch {
		return cfg
	}
	return append(cfg, acctest.Resource{Type: "infiniband_ipoib_interface", Name: "child",
		After: []string{cfg[len(cfg)-1].Address()},
		Attrs: on(map[string]any{"pkey": "0x8001", "addresses": []any{"172.16.1.20/24"}})})
}

// With the backups of the lab, each card of the twin has in flash what the lab has, and the plan of an update is the same.
func TestTwin_with_the_flashes_of_the_lab(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"crossflash", "oem"} {
		w := acctest.Start(t, acctest.Options{Hosts: labs.Named[name]()})
		var cfg acctest.Config
		for _, host := range w.Names() {
			id := host + "/" + w.PCI(host)
			cfg = append(cfg, acctest.Resource{Type: "infiniband_card", Name: host,
				Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}},
				acctest.Resource{Type: "infiniband_firmware_backup", Name: host, After: []string{"infiniband_card." + host},
					Attrs: map[string]any{"card_id": id}})
		}
		apply(t, w, cfg)
		file := w.Record(t, "-backup-dir", w.Backups)
		other, made := acctest.StartTwin(t, file, false)
		for _, host := range w.Names() {
			sums := map[string]bool{}
			for _, lab := range []*acctest.Lab{w, other} {
				var out bytes.Buffer
				if status := lab.Servers[host].Run(t.Context(), "root", "mstflint -d "+w.PCI(host)+" ri /root/x >/dev/null && sha256sum /root/x",
					strings.NewReader(""), &out, &out); status != 0 {
					t.Fatalf("%s: %s", host, &out)
				}
				sums[out.String()] = true
			}
			if len(sums) != 1 {
				t.Errorf("%s of %s has other bytes in flash than its twin: %v\n%s", host, name, sums, strings.Join(made.Missing, "\n"))
			}
		}
		host := w.Names()[0]
		for what, spoil := range map[string]func([]byte) []byte{"cut": func(b []byte) []byte { return b[:len(b)/4] },
			"damaged": func(b []byte) []byte { b[0x1000] ^= 0xff; return b }} {
			rec, err := recording.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			rec.Hosts[0].Flashes[w.PCI(host)] = spoil(rec.Hosts[0].Flashes[w.PCI(host)])
			spoilt, err := twin.Of(rec)
			if want := host + ": not in the recording: a copy of the flash of card " + w.PCI(host) + " that can be used: "; err != nil ||
				!slices.ContainsFunc(spoilt.Missing, func(l string) bool { return strings.HasPrefix(l, want) && len(l) > len(want) }) {
				t.Errorf("%s, %s: %v, got %q, want %q", name, what, err, spoilt.Missing, want)
			}
		}
	}
}

// Without the table, the twin has the names of the recording, and all else is the same.
func TestTwin_as_it_was_sent(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{})
	cfg := w.BothHosts()
	apply(t, w, cfg)
	file := w.Record(t)
	names, err := recording.ReadNames(file)
	if err != nil || names == nil {
		t.Fatal(names, err)
	}
	if err = os.Rename(file+".names.json", file+".at-home"); err != nil {
		t.Fatal(err)
	}
	other, _ := acctest.StartTwin(t, file, false, card.VPI())
	for _, name := range other.Names() {
		if name != "host1" && name != "host2" {
			t.Errorf("a host is called %s", name)
		}
	}
	got := seen(t, other, translated(cfg, names.Sent))
	if want := ordered(seen(t, w, cfg)); ordered(names.Own(got)) != want {
		t.Errorf("%s", acctest.Difference(want, ordered(names.Own(got))))
	}
	for _, private := range []string{"intel9", "xeon2zfs", "e41d2d0300e44e", "e4:1d:2d:e4:4e", "MT1234X0000",
		"172.16.0."} {
		if strings.Contains(got, private) {
			t.Errorf("%s is in what the provider says of the twin", private)
		}
	}
}

// ordered are the lines of a text in order: other names have another one.
func ordered(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// translated is a configuration in the names of a recording.
func translated(cfg acctest.Config, by func(string) string) acctest.Config {
	var value func(v any) any
	value = func(v any) any {
		switch v := v.(type) {
		case string:
			return by(v)
		case []any:
			out := make([]any, len(v))
			for i := range v {
				out[i] = value(v[i])
			}
			return out
		case map[string]any:
			out := map[string]any{}
			for key, e := range v {
				out[key] = value(e)
			}
			return out
		case acctest.Ref:
			v.Address = by(v.Address)
			return v
		}
		return v
	}
	var out acctest.Config
	for _, r := range cfg {
		r.Name, r.Attrs = by(r.Name), value(r.Attrs).(map[string]any)
		for i := range r.After {
			r.After = slices.Clone(r.After)
			r.After[i] = by(r.After[i])
		}
		out = append(out, r)
	}
	return out
}

// Tonight's change, with a power cut in the middle: first on the twin, then on the lab.
func TestTwin_rehearses(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{})
	cfg := w.BothHosts()
	other, _ := acctest.StartTwin(t, w.Record(t), true)
	other.Machine(labs.Intel9).Faults.Update(func(s *labsim.FaultSpec) { s.PowerCutAtFlash = 40 })
	ws := other.Workspace()
	plan, err := ws.Plan(t.Context(), cfg)
	if err != nil || plan.Diags.HasError() {
		t.Fatalf("plan: %v\n%s", err, plan.Diags.Errors())
	}
	said, err := ws.Apply(t.Context(), plan)
	if err != nil || !said.HasError() || other.Machine(labs.Intel9).Boots() < 2 {
		t.Fatalf("the power was cut, and the apply says: %v %s", err, said)
	}
	other.Machine(labs.Intel9).Faults.Clear()
	if err = other.Machine(labs.Intel9).AwaitBoot(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	for _, lab := range []*acctest.Lab{other, w} {
		if lab == w {
			ws = w.Workspace()
		}
		if plan, err = ws.Plan(t.Context(), cfg); err != nil || plan.Diags.HasError() {
			t.Fatalf("plan: %v\n%s", err, plan.Diags.Errors())
		}
		if said, err = ws.Apply(t.Context(), plan); err != nil || said.HasError() {
			t.Fatalf("apply: %v\n%s", err, said.Errors())
		}
		if plan, err = ws.Plan(t.Context(), cfg); err != nil || len(plan.Actions()) != 0 {
			t.Errorf("the next plan is not empty: %v %v", err, plan.Actions())
		}
	}
	if a, b := other.Flash(labs.Intel9), w.Flash(labs.Intel9); a != b {
		t.Errorf("the twin has %+v, the lab %+v", a, b)
	}
}

// What the recording does not have, and what the lab does not simulate, is said and not guessed.
func TestTwin_says_what_it_does_not_have(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{})
	file := w.Record(t)
	change := func(old, with string) *recording.Lab {
		rec, err := recording.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := false
		for h := range rec.Hosts {
			for a := range rec.Hosts[h].Answers {
				answer := &rec.Hosts[h].Answers[a]
				changed = changed || strings.Contains(answer.Output, old)
				answer.Output = strings.ReplaceAll(answer.Output, old, with)
			}
		}
		if !changed {
			t.Fatalf("nothing has %q", old)
		}
		return rec
	}
	for _, c := range []struct{ old, with, failure, missing string }{
		{"MT_9200111023", "MT_1200111023", "", "intel9: not in the recording: the firmware of PSID MT_1200111023, for " +
			"which MT_9200111023 stands"},
		{"/device\t0x1007", "/device\t0xffff", "",
			"intel9: not in the recording: the card 0000:01:00.0 with the PCI ids 15b3:ffff, " +
				"which the lab does not simulate"},
		{"@command mstflint\n", "@command mstflint\n@command flint-of-mine\n", "",
			"intel9: the lab does not simulate its program flint-of-mine"},
		{"|ID=ubuntu", "|ID=plan9", `intel9: the lab does not simulate its system: "Ubuntu 24.04.1 LTS"`, ""},
		{`"ifname":"lo",`, `"ifname":"docker0","linkinfo":{"info_kind":"bridge"},"link_type":"ether","address":"02:42:ac:11:00:02"},` +
			`{"ifname":"lo",`, "", "intel9: not in the recording: the interface docker0 (bridge), which the lab does not simulate"},
		{"|PSID:                  MT_9200111023", "|PSID: MT_9200111023\x1b[2J-and-much-more", "", "intel9: not in the recording: firmware of card " +
			"0000:01:00.0 from which an image can be made"},
		{"=/", "?/", "no host of the recording has answered", ""},
		{"@pci 0000:01:00.0\n", "@pci 0000:01:00.0\n@pci $(touch x)\n@pci \n", "", `intel9: not in the recording: a card at "$(touch x)"` +
			", which is no PCI address"},
		{"|PSID: ", "|SPID: ", "", "intel9: not in the recording: the flash of card 0000:01:00.0 (Image type:"},
	} {
		made, err := twin.Of(change(c.old, c.with))
		if c.failure != "" {
			if err == nil || err.Error() != c.failure {
				t.Errorf("%s: got %v, want %s", c.with, err, c.failure)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.with, err)
		}
		lab, err := made.Start(t.TempDir(), labsim.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.with, err)
		}
		t.Cleanup(lab.Close)
		if !slices.ContainsFunc(made.Missing, func(l string) bool { return strings.HasPrefix(l, c.missing) }) {
			t.Errorf("%s: got %q, want %s", c.with, made.Missing, c.missing)
		}
		for _, card := range lab.Machine(labs.Intel9).Cards() {
			if psid := card.Running().PSID; !strings.HasPrefix(psid, "MT_9") {
				t.Errorf("%s: a made-up image has the PSID %s of a real board", c.with, psid)
			}
		}
	}
}

// What the lab does not simulate of the network is passed over, and said: the host answers all the same.
func TestTwin_passes_over_what_is_not_simulated(t *testing.T) {
	t.Parallel()
	rec, err := recording.Open(acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]}).Record(t))
	if err != nil {
		t.Fatal(err)
	}
	const more = "@file /etc/netplan/60-more.yaml\n|network:\n|  version: 2\n" +
		"|  bridges:\n|    br0: {interfaces: [eno2]}\n|  wifis: {}\n|  ethernets:\n|    eno2: {dhcp6-overrides: {use-dns: false}}\n@.\n"
	plain := rec.Hosts[0].Answers[0].Output
	for _, c := range []struct {
		output string
		said   []string
	}{
		{strings.Replace(plain, "@file /etc/os-release\n", more+"@file /etc/os-release\n", 1), []string{
			"intel9: the lab does not simulate all of its files: netplan key bridges is not simulated",
			"intel9: the lab does not simulate all of its files: netplan key wifis is not simulated",
			"intel9: the lab does not simulate all of its files: netplan key dhcp6-overrides is not simulated"}},
		{strings.Replace(plain, "|  ethernets:\n", "|  bonds:\n", 1), []string{
			"intel9: the lab does not simulate all of its files: netplan key bonds is not simulated",
			"intel9: nothing that the lab simulates gives eno1, by which SSH comes, an address: each boot of the twin gives it " +
				"the recorded ones"}},
	} {
		if c.output == plain {
			t.Fatalf("nothing was changed in\n%s", plain)
		}
		rec.Hosts[0].Answers[0].Output = c.output
		made, err := twin.Of(rec)
		if err != nil {
			t.Fatal(err)
		}
		lab, err := made.Start(t.TempDir(), labsim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(lab.Close)
		for _, want := range c.said {
			if !slices.Contains(made.Missing, want) {
				t.Errorf("%q does not say %s", made.Missing, want)
			}
		}
		to, err := net.Dial("tcp", lab.Servers[labs.Intel9].Addr.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = to.Close() })
		banner := make([]byte, 4)
		if _, err = io.ReadFull(to, banner); err != nil || string(banner) != "SSH-" {
			t.Errorf("the twin does not answer: %q %v", banner, err)
		}
	}
}

// A live image has a root that each boot makes anew: so has the twin, also after a power cut. TestRealTwin of acctest
// has a container, with devices and without modules.
func TestTwin_of_a_live_image(t *testing.T) {
	t.Parallel()
	rec, err := recording.Open(acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]}).Record(t))
	if err != nil {
		t.Fatal(err)
	}
	output := &rec.Hosts[0].Answers[0].Output
	const root = "overlay / overlay rw,lowerdir=/a,upperdir=/run/b,workdir=/run/c 0 0\n"
	const disk = "|/dev/sda2 / ext4 rw,relatime 0 0\n"
	if !strings.Contains(*output, disk) {
		t.Fatalf("%q is not in\n%s", disk, *output)
	}
	*output = strings.Replace(*output, disk, "|"+root, 1)
	made, err := twin.Of(rec)
	if err != nil {
		t.Fatal(err)
	}
	lab, err := made.Start(t.TempDir(), labsim.Options{Speed: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	m := lab.Machine(labs.Intel9)
	for range 2 {
		if mounts := m.FS.Text("/proc/mounts"); !strings.HasPrefix(mounts, root) {
			t.Errorf("after boot %d mounted is %q; %v", m.Boots(), mounts, made.Missing)
		}
		m.PowerCut()
		if err = m.AwaitBoot(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	}
}
