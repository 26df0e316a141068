package record

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	labrecording "github.com/ibfabric/terraform-provider-infiniband/internal/labsim/recording"
	"github.com/ibfabric/terraform-provider-infiniband/internal/recording"
)

func start(t *testing.T, hosts ...labs.Host) (lab *labs.Lab, config string) {
	t.Helper()
	lab, err := labs.Start(t.TempDir(), labsim.Options{}, hosts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	config = filepath.Join(t.TempDir(), "config")
	if err = os.WriteFile(config, []byte(lab.SSHConfig(nil)+"Host dead\n  HostName 127.0.0.1\n  Port 1\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	return lab, config
}

func record(t *testing.T, in string, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = Command("1.2.3").Run(t.Context(), args, command.Streams{In: strings.NewReader(in), Out: &stdout,
		Err: &stderr})
	return status, stdout.String(), stderr.String()
}

// unpack reads a recording with nothing but the standard library.
func unpack(t *testing.T, name string) (m recording.Manifest, files map[string]string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for archive := tar.NewReader(z); ; {
		h, next := archive.Next()
		if errors.Is(next, io.EOF) {
			break
		}
		data, readErr := io.ReadAll(archive)
		if next != nil || readErr != nil {
			t.Fatal(next, readErr)
		}
		files[h.Name] = string(data)
	}
	if err = json.Unmarshal([]byte(files["manifest.json"]), &m); err != nil {
		t.Fatal(err)
	}
	return m, files
}

// What people plant into the files of a host, and what names them, is not in the recording.
func TestRecord_shows_asks_and_writes(t *testing.T) {
	t.Parallel()
	lab, config := start(t, labs.TwoHosts()...)
	lab.Machine(labs.Intel9).FS.Put("/etc/netplan/60-more.yaml", "# alice's own, call 555-0199\nnetwork:\n  version: 2\n"+
		"  ethernets:\n    eno2:\n      addresses: [10.77.3.9/24]\n      nameservers:\n        search: "+
		"[secret-project.example]\n"+
		"  wifis:\n    wlan0:\n      access-points:\n        home:\n          password: correct horse\n", 0o600)
	lab.Machine(labs.Xeon2zfs).FS.Put("/etc/modules", "# token of intel9: Y29ycmVjdCBob3JzZQ==\nib_ipoib\n", 0o644)
	lab.Machine(labs.Intel9).FS.Put("/etc/network/interfaces.d/wlan", "auto wlan0 # carols-laptop\niface wlan0 inet manual\n"+
		"    wpa-ssid Millers at home\n    wpa-psk hunter2-wlan\n    up mysql -phunter2-hook db\n"+
		"    up curl https://vault.secret-project.example/x\n", 0o600)
	lab.Machine(labs.Xeon2zfs).FS.Put("/etc/modprobe.d/x.conf", "# x\ninstall ib_ipoib logger vault.secret-project.example\n", 0o644)
	out := filepath.Join(t.TempDir(), "lab.tar.gz")
	args := []string{"-config-file", config, labs.Intel9, labs.Xeon2zfs}
	status, shown, errs := record(t, "", args...)
	if status != command.OK || errs != "" || !strings.Contains(shown, "host1: file /etc/netplan/60-more.yaml\n") ||
		!strings.Contains(shown, "secrets are left out. ") {
		t.Fatalf("status %d\n%s%s", status, shown, errs)
	}
	args = append(args, "-o", out)
	status, _, errs = record(t, "no\n", args...)
	if status != command.Failed || !strings.Contains(errs,
		"Nothing was written. To write "+out+", answer yes, or use -yes.") {
		t.Errorf("status %d\n%s", status, errs)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("it was written without a yes: %v", err)
	}
	status, shown, errs = record(t, "yes\n", args...)
	if status != command.OK || !strings.Contains(errs, out+".names.json says what stands for what: keep it at home.") {
		t.Fatalf("status %d\n%s", status, errs)
	}
	m, files := unpack(t, out)
	if m.Format != recording.Format || m.Version != recording.Version || m.Provider != "1.2.3" || len(m.Hosts) != 2 ||
		len(m.Files) != len(files)-1 {
		t.Errorf("%+v", m)
	}
	for _, private := range []string{labs.Intel9, labs.Xeon2zfs, "alice", "555-0199", "secret-project", "correct horse",
		"Y29ycmVjdCBob3JzZQ", "carols-laptop", "Millers", "hunter2", "vault", "MT1234X0000", "e41d2de44ed", "e4:1d:2d:e4:4e", "192.0.2.", "10.77.3."} {
		for name, text := range files {
			if strings.Contains(text, private) || strings.Contains(shown, private) {
				t.Errorf("%s shows %s", name, private)
			}
		}
	}
	all := strings.Join([]string{files["hosts/host1/01.output"], files["hosts/host2/01.output"]}, "")
	for _, kept := range []string{"=/proc/sys/kernel/osrelease\t6.8.0-49-generic", "|PSID:                  MT_9200111023",
		"[PN] Part number: MCX314A-BCCT", "mstflint, mstflint 4.26.0", "|  wifis: {}\n", "|    wpa-psk (removed)\n|    up true \"(removed)\"\n", "TrueNAS-25.10.3", "|ID=ubuntu"} {
		if !strings.Contains(all, kept) {
			t.Errorf("the recording lacks %s", kept)
		}
	}
	info, err := os.Stat(out + ".names.json")
	table, readErr := os.ReadFile(out + ".names.json")
	if err != nil || readErr != nil || info.Mode().Perm() != 0o600 || !strings.Contains(string(table),
		`"stands_for": "intel9"`) ||
		strings.Contains(string(table), "correct horse") {
		t.Errorf("the table: %v %v %s", err, readErr, table)
	}
	status, _, errs = record(t, "yes\n", args...)
	if status != command.Usage || !strings.Contains(errs, out+" exists already") {
		t.Errorf("status %d\n%s", status, errs)
	}
	names, err := labrecording.ReadNames(out)
	if err != nil {
		t.Fatal(err)
	}
	read, err := labrecording.Open(out)
	if err != nil || len(read.Hosts) != 2 || !read.OwnNames ||
		read.Hosts[0].Answers[0].Output != names.Own(files["hosts/host1/01.output"]) {
		t.Errorf("the lab does not read it: %v", err)
	}
	if own := read.Hosts[0].Answers[0].Output; read.Hosts[0].Name != labs.Intel9 || !strings.Contains(own,
		"MT1234X00000") ||
		!strings.Contains(own, "MACs:                                       e41d2de44ed0     e41d2de44ed1") {
		t.Errorf("with the table it has not its own names:\n%s", own)
	}
	for _, v := range lab.Violations() {
		t.Errorf("the lab was asked for what no real host would answer: %s", v)
	}
}

// People send what does not work.
func TestRecord_of_hosts_that_are_half_broken(t *testing.T) {
	t.Parallel()
	hosts := labs.TwoHosts()
	hosts[0].MstflintVersion = "none"
	lab, config := start(t, hosts...)
	status, _, errs := record(t, "", "-config-file", config, "-json", labs.Intel9)
	if status != command.OK || errs != "" {
		t.Errorf("without mstflint: status %d %s", status, errs)
	}
	status, shown, _ := record(t, "", "-config-file", config, "dead", labs.Intel9)
	if status != command.Unreachable || !strings.Contains(shown, "host1: not everything was answered: ") ||
		!strings.Contains(shown, "host2  0 ") {
		t.Errorf("one is down: status %d\n%s", status, shown)
	}
	lab.Machine(labs.Xeon2zfs).Faults.Trap("mstflint -d", -1, labsim.ProgramFault{Truncate: true, Keep: 40})
	out := filepath.Join(t.TempDir(), "lab.tar.gz")
	if status, shown, errs = record(t, "", "-config-file", config, "-yes", "-o", out,
		labs.Xeon2zfs); status != command.OK {
		t.Errorf("mstflint is cut: status %d\n%s%s", status, shown, errs)
	}
	_, files := unpack(t, out)
	if text := files["hosts/host1/01.output"]; !strings.Contains(text,
		"@run 0\tflash 0000:04:00.0\n|Image type:            FS2\n|FW Version: ") {
		t.Errorf("the answer as it was cut is not in it:\n%s", text)
	}
	lab.Machine(labs.Xeon2zfs).FS.Put("/etc/modules", strings.Repeat("[", 2000)+"\n", 0o644)
	status, shown, _ = record(t, "", "-config-file", config, labs.Xeon2zfs)
	if status != command.Failed || !strings.Contains(shown, "host1: not everything was answered: ") ||
		!strings.Contains(shown, "not understood") || !strings.Contains(shown, "host1  0 ") {
		t.Errorf("an answer that is not understood: status %d\n%s", status, shown)
	}
	if status, _, errs = record(t, ""); status != command.Usage {
		t.Errorf("status %d, %s", status, errs)
	}
}

// look is what a host shows.
func look(t *testing.T, lab *labs.Lab, name string) (*hosts.Host, *inventory.Snapshot) {
	t.Helper()
	at, no := lab.Servers[name].Addr, false
	host, err := sshhost.New(name, sshhost.Config{Address: at.IP.String(), Port: at.Port, User: lab.User(name),
		PrivateKeyFile: lab.KeyFile(), UseAgent: &no, KnownHostsFiles: []string{lab.KnownHostsFile()}, SSHConfigFile: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	h := hosts.New(host)
	s, err := h.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h, s
}

// backUp puts a backup of the card of a host below dir, as the provider does, and returns its bytes.
func backUp(t *testing.T, lab *labs.Lab, dir, name string) []byte {
	t.Helper()
	h, s := look(t, lab, name)
	c := &s.Cards[0]
	kept, err := backup.NewStore(cards.New(cards.Config{BackupDir: dir})).Take(t.Context(),
		cards.Card{Host: h, PCI: c.PCI, Recorded: s.Identity(c)})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(kept.File())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A copy of a flash is shown, takes another answer than yes, and is the backup of this card.
func TestRecord_with_flashes(t *testing.T) {
	t.Parallel()
	lab, config := start(t, labs.TwoHosts()...)
	out, dir := filepath.Join(t.TempDir(), "lab.tar.gz"), t.TempDir()
	args := []string{"-config-file", config, "-backup-dir", dir, "-o", out, labs.Intel9, labs.Xeon2zfs}
	data := backUp(t, lab, dir, labs.Intel9)
	status, shown, errs := record(t, "yes\n", args...)
	if status != command.Failed || !strings.Contains(errs, "The copies of flashes cannot be made anonymous. ") ||
		!strings.Contains(errs, "Nothing was written. To write "+out+", answer yes with flashes, or use -yes.") {
		t.Errorf("status %d\n%s", status, errs)
	}
	if want := fmt.Sprintf("host1: flash of card 0000:01:00.0, %d bytes, with its own GUIDs, MAC addresses and serial number\n",
		len(data)); !strings.Contains(shown, want) || strings.Contains(shown, "host2: flash") {
		t.Errorf("%q is not shown:\n%s", want, shown)
	}
	if want := "host2: not everything was answered: " + dir + " holds no valid backup of card host2/0000:04:00.0"; !strings.Contains(shown, want) {
		t.Errorf("%q is not shown:\n%s", want, shown)
	}
	status, _, errs = record(t, "yes with flashes\n", args...)
	if status != command.Failed || !strings.Contains(errs, out+" has flashes: send it to nobody who may not have them. ") ||
		strings.Contains(errs, "can be sent") {
		t.Errorf("status %d\n%s", status, errs)
	}
	m, files := unpack(t, out)
	if got := m.Hosts[0].Flashes; len(got) != 1 || files[got[0].File] != string(data) || len(m.Hosts[1].Flashes) != 0 {
		t.Errorf("the copy is not what the backup has: %+v", got)
	}
	read, err := labrecording.Open(out)
	if err != nil || string(read.Hosts[0].Flashes["0000:01:00.0"]) != string(data) {
		t.Errorf("the lab does not read it: %v", err)
	}
	status, _, errs = record(t, "", "-config-file", config, "-backup-dir", out, labs.Intel9)
	if status != command.Usage || !strings.Contains(errs, "-backup-dir: "+out+" is no directory") {
		t.Errorf("status %d\n%s", status, errs)
	}
}

// Of an older backup that holds other firmware, the newer one that is damaged is named as well.
func TestRecord_damagedBackup(t *testing.T) {
	t.Parallel()
	lab, _ := start(t, labs.TwoHosts()[0])
	dir := t.TempDir()
	backUp(t, lab, dir, labs.Intel9)
	older, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	if err != nil || len(older) != 1 {
		t.Fatal(older, err)
	}
	newer := filepath.Join(filepath.Dir(older[0]), "29991231T120000Z")
	if err = errors.Join(os.Mkdir(newer, 0o700), os.WriteFile(filepath.Join(newer, "card.json"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, s := look(t, lab, labs.Intel9)
	if all, bad := flashes(s, dir); bad != nil || len(all) != 1 {
		t.Errorf("the older one holds what is in flash: %v", bad)
	}
	s.Cards[0].Flash.PSID = "MT_9000000000"
	_, err = flashes(s, dir)
	for _, want := range []string{older[0] + " holds ", "backup " + newer + ": card.json is damaged"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The format in the guide is that of the file.
func TestRecord_as_the_guide_shows_it(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../../templates/guides/send.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(guide), "```json\n")
	block, _, _ = strings.Cut(block, "```\n")
	var m recording.Manifest
	if err = json.Unmarshal([]byte(block), &m); err != nil {
		t.Fatal(err)
	}
	const jobs = "@begin 1\n@now 2026-11-28T21:06:31Z\n@run 0\tunits\n@.\n@end\n"
	name := m.Hosts[0].Answers[0].Output
	m.Files = []recording.File{{Name: name, Size: m.Files[0].Size, SHA256: m.Files[0].SHA256}}
	var got bytes.Buffer
	out := json.NewEncoder(&got)
	out.SetIndent("", "  ")
	if err = out.Encode(m); err != nil || got.String() != block {
		t.Errorf("the guide has\n%s, want\n%s", block, &got)
	}
	if m.Files[0].Size != len(jobs) {
		t.Errorf("the file of the guide has %d bytes, not %d", m.Files[0].Size, len(jobs))
	}
}
