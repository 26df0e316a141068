package adopt_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/adopt"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// says fails the test unless a text has all parts, whatever its line breaks.
func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	flat := strings.Join(strings.Fields(text), " ")
	for _, part := range parts {
		if !strings.Contains(flat, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// two are two servers that run VPI firmware.
func two() []labs.Host {
	return []labs.Host{labs.Server("one", labsim.Ubuntu, "192.0.2.20", 0),
		labs.Server("other", labsim.Debian12, "192.0.2.21", 1)}
}

// One host fails, each time in another way. It is named with its reason, and the other
// one is adopted.
func TestAdopt_hostThatFailsDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hosts  func(h *labs.Host)
		harm   func(w *acctest.Lab)
		host   string // instead of the first
		config string // of SSH, in front
		status int    // Failed if it is zero
		want   []string
	}{
		"dead": {status: command.Unreachable, harm: func(w *acctest.Lab) { w.Machine("one").Faults.Update(func(f *labsim.FaultSpec) { f.Refuse = true }) },
			want: []string{"Host one is left out: Unable to read host one",
				"This step changed nothing; what was done before it holds. ", "terraform-provider-infiniband check one shows"}},
		"unknown host key": {status: command.Unreachable, config: "Host one\n  UserKnownHostsFile /dev/null\n",
			want: []string{"The host's key could not be trusted", "ssh-keygen -lf", "On this command line they are " +
				"-host-key KEY"}},
		"another host key": {status: command.Unreachable, harm: func(w *acctest.Lab) {
			w.Machine("one").Faults.Update(func(f *labsim.FaultSpec) { f.WrongHostKey = true })
		}, want: []string{"Host one is left out: Unable to read host one", "verify host key"}},
		"no card": {hosts: func(h *labs.Host) { h.Cards = nil },
			want: []string{"Host one is left out: Unable to adopt host one: it has no InfiniBand card",
				"Check that the card is seated"}},
		"no sudo": {harm: func(w *acctest.Lab) {
			w.Machine("one").Faults.Update(func(f *labsim.FaultSpec) { f.SudoMissing = true })
		}, want: []string{"Host one is left out: Unable to read host one", "sudo"}},
		"not in sudoers": {harm: func(w *acctest.Lab) {
			w.Machine("one").Faults.Update(func(f *labsim.FaultSpec) { f.SudoRefused = true })
		}, want: []string{"Host one is left out: Unable to read host one", "sudo"}},
		"a password for sudo": {hosts: func(h *labs.Host) { h.Users[0].Sudo, h.Users[0].Password = labsim.SudoPassword, "x" },
			want: []string{"Host one is left out: Unable to read host one", "-ask-sudo-password", "INFINIBAND_SUDO_PASSWORD"}},
		"unsupported distribution": {harm: func(w *acctest.Lab) {
			w.Run("one", `printf 'ID=slackware\nNAME=Slackware\nPRETTY_NAME="Slackware 15.0"\nVERSION_ID=15.0\n' >/etc/os-release`)
		}, want: []string{"Host one is left out: Unable to adopt host one", "Slackware 15.0"}},
		"a name that is none": {status: command.Unreachable, host: "nobody.invalid",
			config: "Host nobody.invalid\n  HostName 127.0.0.1\n  Port 1\n",
			want:   []string{"Host nobody.invalid is left out: Unable to read host nobody.invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := two()
			if c.hosts != nil {
				c.hosts(&hosts[0])
			}
			w := acctest.Start(t, acctest.Options{Hosts: hosts, Tolerate: true})
			if c.harm != nil {
				c.harm(w)
			}
			first := "one"
			if c.host != "" {
				first = c.host
			}
			o := runWith(t, sshConfig(t, w, c.config), "-connect-timeout", "5s", first, "other")
			if want := cmp.Or(c.status, command.Failed); o.status != want {
				t.Errorf("ended with %d, want %d", o.status, want)
			}
			says(t, o.err, c.want...)
			if strings.Contains(o.err+o.file(t, "README.md"), "What the state has") { // a command line has none
				t.Error(o.err)
			}
			says(t, o.file(t, "README.md"), "Host `"+first+"`", "| other |")
			if cards := o.file(t, "cards.tf"); !strings.Contains(cards, `"infiniband_card" "other"`) ||
				strings.Contains(cards, `"infiniband_card" "one"`) {
				t.Error(cards)
			}
		})
	}
}

func TestAdopt_oneMachineUnderTwoNames(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: two()[:1]})
	at := w.Servers["one"].Addr
	config := sshConfig(t, w, "Host again\n  HostName "+at.IP.String()+"\n  Port "+port(at.Port)+"\n  User "+w.User("one")+"\n")
	o := runWith(t, config, "one", "again")
	says(t, o.err, "Host again is left out: Host again is the same machine as one", "Name each machine once")
	if strings.Contains(o.file(t, "providers.tf"), "again") || o.status != command.Failed {
		t.Errorf("status %d\n%s", o.status, o.file(t, "providers.tf"))
	}
	o = runWith(t, config, "one", "one")
	says(t, o.err, "host one is named twice")
	if o.status != command.Usage {
		t.Errorf("ended with %d", o.status)
	}
}

// What speaks against the folder is said before any host is asked.
func TestAdopt_foldersThatCannotTakeTheFiles(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: two()[:1]})
	config, folder := sshConfig(t, w, ""), t.TempDir()
	for _, name := range []string{"cards.tf", "README.md"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := runWith(t, config, "-out", folder, "one")
	says(t, o.err, folder+" has README.md, cards.tf already, and no file is overwritten", "-out FOLDER")
	o2 := runWith(t, config, "-out", filepath.Join(folder, "cards.tf", "below"), "one")
	says(t, o2.err, "the folder cannot be made")
	o3 := runWith(t, config, "-out", "/proc", "one")
	var got struct {
		Hosts []string
		Error string
	}
	o4 := runWith(t, config, "-json", "-out", folder, "one")
	if err := json.Unmarshal([]byte(o4.out), &got); err != nil || got.Hosts == nil || o4.status != command.Failed ||
		!strings.Contains(got.Error, "has README.md, cards.tf already") {
		t.Errorf("as JSON: %d, %v\n%s", o4.status, err, o4.out)
	}
	says(t, o3.err, "the folder cannot be written to")
	if o.status != command.Failed || o2.status != command.Failed || o3.status != command.Failed {
		t.Errorf("ended with %d, %d and %d", o.status, o2.status, o3.status)
	}
	if data, err := os.ReadFile(filepath.Join(folder, "cards.tf")); err != nil || string(data) != "mine" {
		t.Errorf("%s: %v", data, err)
	}
	if n := w.Count("one"); n != 0 {
		t.Errorf("the host was asked for %d programs", n)
	}
}

// What cannot be adopted on a host that answers is a comment with the reason, in the
// place of the resource.
func TestAdopt_whatCannotBeAdopted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hosts func(h *labs.Host)
		harm  func(w *acctest.Lab)
		file  string
		want  []string
		not   []string
	}{
		"no mstflint": {harm: func(w *acctest.Lab) { w.Run("one", "rm /usr/bin/mstflint") }, file: "cards.tf",
			want: []string{`resource "infiniband_card" "one"`, "Not adopted: infiniband_firmware one/0000:01:00.0.",
				"its flash could not be read", "mstflint"},
			not: []string{`resource "infiniband_firmware"`}},
		"a card that does not answer": {harm: func(w *acctest.Lab) {
			w.Machine("one").Faults.Trap("mstflint", 0, labsim.ProgramFault{Exit: true, Status: 1})
		}, file: "cards.tf", want: []string{`resource "infiniband_card" "one"`, "its flash could not be read"}},
		"no subnet manager": {file: "README.md", want: []string{"InfiniBand Initializing"}},
		"no diagnostics": {harm: func(w *acctest.Lab) { w.Run("one", "rm -f /usr/sbin/ibnetdiscover /usr/bin/ibnetdiscover") },
			file: "README.md", want: []string{"No host could draw it"}},
		"a card as bought": {hosts: func(h *labs.Host) { *h = labs.TwoHosts()[0]; h.Name = "one" }, file: "cards.tf",
			want: []string{`resource "infiniband_card" "one"`, `macs = { "1" = "e4:1d:2d:e4:4e:d0", "2" = "e4:1d:2d:e4:4e:d1" }`,
				"Not adopted: infiniband_link_type one/0000:01:00.0", "No place that the driver reads keeps these types over a restart."}},
		"an older initial RAM disk": {harm: func(w *acctest.Lab) { w.Run("one", "echo '# a note' >/etc/modprobe.d/note.conf") },
			hosts: func(h *labs.Host) {
				h.Cmdline, h.Files = "", map[string]string{
					"/etc/modprobe.d/terraform-infiniband.conf": platform.OwnedHeader("infiniband_link_type") +
						"# Port types of mlx4 cards when the driver loads: 1 is InfiniBand, 2 Ethernet, 0 what the firmware prefers.\n" +
						"options mlx4_core port_type_array=1,1\n"}
			}, file: "cards.tf", want: []string{"Not adopted: infiniband_link_type one/0000:01:00.0", "LT017",
				"the boot reads an older copy of it"}, not: []string{"No place that the driver reads"}},
		"link types by a udev rule": {hosts: func(h *labs.Host) {
			*h = labs.TwoHosts()[0]
			h.Name, h.Files = "one", map[string]string{"/etc/udev/rules.d/99-vpi.rules": `ACTION=="add", SUBSYSTEM=="pci", ` +
				`DRIVER=="mlx4_core", ATTR{mlx4_port1}="ib"` + "\n"}
		}, file: "cards.tf", want: []string{"Not adopted: infiniband_link_type one/0000:01:00.0",
			"/etc/udev/rules.d/99-vpi.rules of one writes types of ports when the driver finds the card.", "An apply would store them."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := two()[:1]
			hosts[0].Cmdline = "mlx4_core.port_type_array=1,1"
			if c.hosts != nil {
				c.hosts(&hosts[0])
			}
			w := acctest.Start(t, acctest.Options{Hosts: hosts, Tolerate: true})
			w.Run("one", "apt-get install -y rdma-core mstflint; modprobe mlx4_ib; modprobe ib_umad; modprobe ib_ipoib")
			if c.harm != nil {
				c.harm(w)
			}
			o := run(t, w, "one")
			if o.status != command.OK {
				t.Errorf("ended with %d\n%s", o.status, o.err)
			}
			text := o.file(t, c.file)
			says(t, strings.ReplaceAll(text, "#", ""), c.want...)
			for _, no := range c.not {
				if strings.Contains(text, no) {
					t.Errorf("%s in\n%s", no, text)
				}
			}
		})
	}
}

// What nobody can adopt is no repository.
func TestAdopt_nothingToAdopt(t *testing.T) {
	t.Parallel()
	hosts := two()[:1]
	hosts[0].Cards = nil
	o := run(t, acctest.Start(t, acctest.Options{Hosts: hosts}), "one")
	says(t, o.err, "it has no InfiniBand card", "nothing was found that can be adopted; nothing was written")
	if files, err := os.ReadDir(o.folder); err != nil || len(files) > 0 || o.status != command.Failed {
		t.Errorf("ended with %d, %v: %v", o.status, files, err)
	}
}

// The password for sudo is used for everything and is in no file.
func TestAdopt_passwordForSudo(t *testing.T) {
	t.Parallel()
	hosts := two()[:1]
	hosts[0].Users[0].Sudo, hosts[0].Users[0].Password = labsim.SudoPassword, "s3cret"
	w := acctest.Start(t, acctest.Options{Hosts: hosts})
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := run(t, w, "-sudo-password-file", file, "one")
	if o.status != command.OK {
		t.Fatalf("ended with %d\n%s", o.status, o.err)
	}
	says(t, o.file(t, "README.md"), "set `INFINIBAND_SUDO_PASSWORD`")
	for _, name := range []string{"README.md", "providers.tf", "cards.tf"} {
		if text := o.file(t, name); strings.Contains(text, "s3cret") {
			t.Errorf("%s has the password:\n%s", name, text)
		}
	}
}

func TestAdopt_interrupted(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: two()[:1]})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	folder := t.TempDir()
	var errs bytes.Buffer
	status := adopt.Command(serve).Run(ctx, []string{"-config-file", sshConfig(t, w, ""), "-out", folder, "one"},
		command.Streams{In: strings.NewReader(""), Out: t.Output(), Err: &errs})
	says(t, errs.String(), "interrupted; nothing was written")
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 || status != command.Failed {
		t.Errorf("ended with %d, %v: %v", status, files, err)
	}
}

// Hosts on fabrics of their own have a picture each.
func TestAdopt_everyFabricIsDrawn(t *testing.T) {
	t.Parallel()
	hosts := labs.Fleet(3)
	w := acctest.Start(t, acctest.Options{Hosts: hosts, Tolerate: true})
	for _, host := range w.Names() {
		byHand(w, host, "apt-get install -y rdma-core infiniband-diags mstflint")
	}
	o := run(t, w, w.Names()...)
	if n := strings.Count(o.file(t, "README.md"), "```mermaid"); n != 3 {
		t.Errorf("%d pictures in\n%s", n, o.file(t, "README.md"))
	}
}

func TestAdopt_checkWritesNothing(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: two()[:1]})
	before := w.Print("one")
	o := run(t, w, "-check", "-json", "one")
	var got struct {
		Hosts      []struct{ Name, OS string }
		Adopted    []struct{ Type, Name, ID, Host string }
		NotAdopted []struct{ Type, ID string } `json:"not_adopted"`
		Files      []string
	}
	if err := json.Unmarshal([]byte(o.out), &got); err != nil {
		t.Fatalf("%v\n%s", err, o.out)
	}
	if len(got.Hosts) != 1 || len(got.Adopted) == 0 || got.Adopted[0].Type != "infiniband_card" ||
		got.Adopted[0].ID != "one/0000:01:00.0/MT1234X00000" || len(got.Files) != 0 || o.status != command.OK {
		t.Errorf("%d: %+v", o.status, got)
	}
	if files, err := os.ReadDir(o.folder); err != nil || len(files) > 0 {
		t.Errorf("%v: %v", files, err)
	}
	if w.Print("one") != before {
		t.Error("the host was changed")
	}
}
