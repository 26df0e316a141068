package job

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// fakeTool answers "q" from a file and otherwise asks two questions and writes
// a file if both are answered with y.
const fakeTool = `#!/bin/sh
if [ "$3" = q ]; then cat "$FAKE/query"; exit 0; fi
for q in one two; do
  printf '\n Do you want to continue ? (y/n) [n] : '
  answer=
  read -r answer
  if [ "$answer" != y ]; then echo '-E- Aborted by user'; exit 1; fi
done
printf '%s\n' "$@" >"$FAKE/written"
echo 'Burning FS2 FW image without signatures - OK'
cat "$FAKE/extra" 2>/dev/null
exit 0
`

const fakeQuery = `Image type:            FS2
FW Version:            2.40.5032
FW Version(Running):   2.36.5000
GUIDs:                 ffffffffffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff 
MACs:                                       e41d2de44ed0     e41d2de44ed1
PSID:                  MT_9200111023
`

// shellJob runs the job's script in the machine's own shell with a fake tool.
type shellJob struct {
	t         *testing.T
	dir, root string
	request   [][2]string
	argv      []string
	answers   int
}

func newShellJob(t *testing.T) *shellJob {
	t.Helper()
	for _, p := range []string{"/bin/sh", "flock", "sha256sum"} {
		realtool.Path(t, p)
	}
	root := t.TempDir()
	s := &shellJob{t: t, root: root, dir: filepath.Join(root, "jobs", "j1")}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.put(filepath.Join(root, "bin", "mstflint"), fakeTool, 0o755)
	s.put(filepath.Join(root, "query"), fakeQuery, 0o600)
	image := filepath.Join(root, "image with blank.bin")
	s.put(image, "image", 0o600)
	sum := sha256.Sum256([]byte("image"))
	s.argv, s.answers = []string{"mstflint", "-d", "0000:01:00.0", "-i", image, "b"}, 2
	s.request = [][2]string{
		{"job", "j1"}, {"kind", journal.Burn}, {"pci", "0000:01:00.0"}, {"operator", "alice=ops $(touch x)"}, {"image_path",
			image},
		{"image_sha256", hex.EncodeToString(sum[:])}, {"from_psid", "MT_9200111023"}, {"from_fw", "2.40.5032"},
		{"from_guids", strings.TrimSpace(strings.Repeat("ffffffffffffffff ", 4))}, {"from_macs", "e41d2de44ed0 e41d2de44ed1"},
	}
	return s
}

func (s *shellJob) put(path, text string, mode os.FileMode) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shellJob) change(key, value string) {
	for i := range s.request {
		if s.request[i][0] == key {
			s.request[i][1] = value
		}
	}
}

func (s *shellJob) requestText() string {
	var text string
	for _, kv := range s.request {
		text += kv[0] + "=" + kv[1] + "\n"
	}
	return text
}

// run gives the exit status that the job recorded.
func (s *shellJob) run() string {
	s.t.Helper()
	s.put(filepath.Join(s.dir, "job.sh"), s.script(), 0o600)
	s.put(filepath.Join(s.dir, "request"), s.requestText(), 0o600)
	s.put(filepath.Join(s.dir, "argv"), lines(s.argv), 0o600)
	s.put(filepath.Join(s.dir, "answers"), answerText(s.answers), 0o600)
	s.put(filepath.Join(s.dir, "states"), "1 requested 2026-01-01T00:00:00Z\n", 0o600)
	return s.runUnit()
}

// script is the job's script, without the processes of this machine: a test beside this one
// may burn a card.
func (s *shellJob) script() string {
	s.put(filepath.Join(s.root, "proc", "1", "comm"), "systemd\n", 0o600)
	return strings.ReplaceAll(jobScript, "find_users '' ", "find_users '"+s.root+"' ")
}

// runUnit runs what the unit of a stored job does, and gives the exit status that it recorded.
func (s *shellJob) runUnit() string {
	s.t.Helper()
	cmd := s.shell(filepath.Join(s.dir, "job.sh"), s.dir, s.lock(), s.holder(), "outer")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(s.read("exit"))
}

// shell is the machine's shell with the fake programs.
func (s *shellJob) shell(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), "/bin/sh", args...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(s.root, "bin")+":"+os.Getenv("PATH"), "FAKE="+s.root)
	return cmd
}

func (s *shellJob) lock() string   { return filepath.Join(s.root, "lock") }
func (s *shellJob) holder() string { return filepath.Join(s.root, "holder") }

func (s *shellJob) read(name string) string {
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return ""
	}
	return string(text)
}

func (s *shellJob) states() string {
	var names []string
	for line := range strings.Lines(s.read("states")) {
		names = append(names, strings.Fields(line)[1])
	}
	return strings.Join(names, " ")
}

func (s *shellJob) written() bool {
	_, err := os.Stat(filepath.Join(s.root, "written"))
	return err == nil
}

// TestJobScript_leaves_a_card_alone_that_somebody_uses holds that the job looks at the
// processes itself: a burn by hand may have begun since the last verdict.
func TestJobScript_leaves_a_card_alone_that_somebody_uses(t *testing.T) {
	for name, when := range map[string]string{"before": "",
		"after the query": "mkdir -p \"$FAKE/proc\"; mv \"$FAKE/later\" \"$FAKE/proc/4711\"; "} {
		s := newShellJob(t)
		dir := filepath.Join(s.root, "proc", "4711")
		if when != "" {
			dir = filepath.Join(s.root, "later")
			s.put(filepath.Join(s.root, "bin", "mstflint"), strings.Replace(fakeTool, "then cat", "then "+when+"cat", 1), 0o755)
		}
		s.put(filepath.Join(dir, "comm"), "mstflint\n", 0o600)
		s.put(filepath.Join(dir, "cmdline"), "mstflint\x00-d\x0001:00.0\x00-i\x00a.bin\x00b\x00", 0o600)
		s.put(filepath.Join(dir, "status"), "Uid:\t0\t0\t0\t0\n", 0o600)
		if exit := s.run(); exit != "77" || s.written() ||
			strings.TrimSpace(s.read("reason")) != "busy: mstflint -d 01:00.0 -i a.bin b, pid 4711, user root" {
			t.Errorf("%s: exit %s, written %t, reason %s, states %s", name, exit, s.written(), s.read("reason"), s.states())
		}
	}
	s := newShellJob(t)
	s.put(filepath.Join(s.root, "bin", "find"), "#!/bin/sh\nexit 1\n", 0o755)
	if exit := s.run(); exit != "77" || s.written() ||
		!strings.Contains(s.read("reason"), "is not known: find of findutils") {
		t.Errorf("hidden: exit %s, reason %s", exit, s.read("reason"))
	}
}

func TestJobScript_writes_and_records(t *testing.T) {
	s := newShellJob(t)
	if exit := s.run(); exit != "0" || s.states() != "requested locked inspected burning burned" || !s.written() {
		t.Errorf("exit %s, states %s, reason %s, output %s", exit, s.states(), s.read("reason"), s.read("output"))
	}
	if got := s.read("../../written"); got != "-d\n0000:01:00.0\n-i\n"+filepath.Join(s.root,
		"image with blank.bin")+"\nb\n" {
		t.Errorf("the tool was called with %q", got)
	}
	if _, err := os.Stat(s.holder()); err == nil {
		t.Error("the holder file is left")
	}
}

func TestJobScript_second_gate(t *testing.T) {
	for name, change := range map[string]func(*shellJob){
		"PSID": func(s *shellJob) { s.change("from_psid", "MT_9090111019") },
		"no PSID": func(s *shellJob) {
			s.change("from_psid", "")
			s.put(filepath.Join(s.root, "query"), "FW Version: 2.40.5032\n", 0o600)
		},
		"version":      func(s *shellJob) { s.change("from_fw", "2.42.5000") },
		"running only": func(s *shellJob) { s.change("from_fw", "2.36.5000") },
		"MACs":         func(s *shellJob) { s.change("from_macs", "e41d2de44ee0 e41d2de44ee1") },
		"GUIDs":        func(s *shellJob) { s.change("from_guids", "1 2 3 4") },
		"image":        func(s *shellJob) { s.change("image_sha256", strings.Repeat("0", 64)) },
		"no image":     func(s *shellJob) { s.change("image_path", filepath.Join(s.root, "absent.bin")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShellJob(t)
			change(s)
			if exit := s.run(); exit != "70" || s.written() || s.read("reason") == "" {
				t.Errorf("exit %s, written %t, reason %q", exit, s.written(), s.read("reason"))
			}
			if s.states() != "requested locked failed" {
				t.Errorf("states %s", s.states())
			}
		})
	}
}

// fakeVPD is lspci with the serial number in the file serial, if there is one.
const fakeVPD = `#!/bin/sh
echo '01:00.0 Ethernet controller: Mellanox'
if [ -f "$FAKE/serial" ]; then
  printf '\tCapabilities: [48] Vital Product Data\n\t\tRead-only fields:\n\t\t\t[PN] Part number: MCX314A-BCCT\n\t\t\t[SN] Serial number: %s           \n' "$(cat "$FAKE/serial")"
fi
`

func TestJobScript_another_card(t *testing.T) {
	for name, c := range map[string]struct {
		serial string
		blank  bool // the card had neither GUIDs nor MACs
		exit   string
		says   string
	}{
		"the card": {serial: "MT1234X00001", exit: "0"},
		"another one": {serial: "MT1234X00002", exit: "73",
			says: "serial number 'MT1234X00002' instead of 'MT1234X00001'"},
		"another one, blank":                 {serial: "MT1234X00002", blank: true, exit: "73", says: "MT1234X00002"},
		"no serial number now, same address": {exit: "0"},
		"no serial number now, blank":        {blank: true, exit: "73", says: "cannot be read, which was 'MT1234X00001'"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShellJob(t)
			s.request = append(s.request, [2]string{"from_serial", "MT1234X00001"})
			if c.blank {
				s.change("from_guids", "")
				s.change("from_macs", "")
			}
			s.put(filepath.Join(s.root, "bin", "lspci"), fakeVPD, 0o755)
			if c.serial != "" {
				s.put(filepath.Join(s.root, "serial"), c.serial, 0o600)
			}
			exit := s.run()
			if exit != c.exit || s.written() != (c.exit == "0") || !strings.Contains(s.read("reason"), c.says) {
				t.Errorf("exit %s, written %t, reason %q", exit, s.written(), s.read("reason"))
			}
		})
	}
}

func TestJobScript_answers_no_question_too_many(t *testing.T) {
	s := newShellJob(t)
	s.answers = 1
	if exit := s.run(); exit != "1" || s.written() || s.states() != "requested locked inspected burning failed" {
		t.Errorf("exit %s, written %t, states %s", exit, s.written(), s.states())
	}
}

func TestJobScript_believes_a_printed_error(t *testing.T) {
	s := newShellJob(t)
	s.put(filepath.Join(s.root, "extra"), "Restoring signature - \r 3%-E- something\n", 0o600)
	if exit := s.run(); exit != "71" {
		t.Errorf("exit %s: status 0 with an error in the output", exit)
	}
}

func TestJobScript_lock_of_another_job(t *testing.T) {
	s := newShellJob(t)
	s.put(s.holder(), "job=other\noperator=bob\nsince=2026-01-01T00:00:00Z\n", 0o600)
	ready := filepath.Join(s.root, "ready")
	other := exec.Command("flock", s.lock(), "sh", "-c", `touch "$1"; exec sleep 60`, "sh", ready)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	waitFor(t, ready)
	if exit := s.run(); exit != "75" || s.written() || !strings.Contains(s.read("held"), "operator=bob") {
		t.Errorf("exit %s, written %t, held %q", exit, s.written(), s.read("held"))
	}
	if text, err := os.ReadFile(s.holder()); err != nil || !strings.Contains(string(text), "bob") {
		t.Errorf("the holder's own file: %q, %v", text, err)
	}
}

func waitFor(t *testing.T, path string) {
	t.Helper()
	for range 500 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s never came", path)
}

// A job that cannot be stored whole was never there: what is left of it would be a journal that
// nobody can read.
func TestStart_leaves_nothing_of_a_job_that_it_cannot_store(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"/bin/sh", "sha256sum"} {
		realtool.Path(t, p)
	}
	root := t.TempDir()
	run := exec.CommandContext(t.Context(), "/bin/sh", "-c", startScript, "start-flash-job", root, "j1", "unit",
		filepath.Join(root, "lock"), filepath.Join(root, "holder"), "the sum of other files", "job", "request", "argv", "")
	out, err := run.CombinedOutput()
	if err == nil || run.ProcessState.ExitCode() != 74 || !strings.Contains(string(out), "no space may be left") {
		t.Errorf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(filepath.Join(root, "jobs")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// byDriver makes the job one whose image the driver of the card sends.
func byDriver(s *shellJob) (at string) {
	at = filepath.Join(s.root, "lib firmware", "x.mfa2")
	s.put(filepath.Join(filepath.Dir(at), "other.bin"), "other", 0o600)
	s.put(filepath.Join(s.root, "x.mfa2"), "package", 0o600)
	sum := sha256.Sum256([]byte("package"))
	s.request = append(s.request, [][2]string{{"package_path", filepath.Join(s.root, "x.mfa2")}, {"package_at", at},
		{"package_sha256", hex.EncodeToString(sum[:])}, {"from_serial", "MT1234X00001"}}...)
	s.change("from_guids", "")
	s.change("from_macs", "")
	s.put(filepath.Join(s.root, "serial"), "MT1234X00001", 0o600)
	s.put(filepath.Join(s.root, "bin", "lspci"), fakeVPD, 0o755)
	s.put(filepath.Join(s.root, "bin", "mstflint"), "#!/bin/sh\nexit 1\n", 0o755)
	s.put(filepath.Join(s.root, "info"), "pci/0000:01:00.0:\n  driver mlx5_core\n  versions:\n      fixed:\n"+
		"        fw.psid MT_9200111023\n      running:\n        fw.version 2.36.5000\n        fw 2.36.5000\n"+
		"      stored:\n        fw.version 2.40.5032\n        fw 2.40.5032\n", 0o600)
	s.answers = 0
	s.argv = []string{"devlink", "dev", "flash", "pci/0000:01:00.0", "file", at}
	s.put(filepath.Join(s.root, "bin", "devlink"), "#!/bin/sh\nif [ \"$2\" = info ]; then cat \"$FAKE/info\"; exit 0; fi\n"+
		"cat \"$5\" >\"$FAKE/written\"\n", 0o755)
	return at
}

// The package is where the kernel looks for it only while the driver sends it.
func TestJobScript_sends_by_the_driver(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*shellJob)
		exit   string
	}{
		"as asked":        {func(*shellJob) {}, "0"},
		"another version": {func(s *shellJob) { s.change("from_fw", "2.36.5000") }, "70"},
		"another package": {func(s *shellJob) { s.put(filepath.Join(s.root, "x.mfa2"), "other", 0o600) }, "70"},
		"no serial":       {func(s *shellJob) { s.change("from_serial", "") }, "73"},
		"another card":    {func(s *shellJob) { s.put(filepath.Join(s.root, "serial"), "MT1234X00002", 0o600) }, "73"},
		"no answer of the driver": {func(s *shellJob) {
			s.put(filepath.Join(s.root, "bin", "devlink"), "#!/bin/sh\nexit 1\n", 0o755)
		}, "70"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShellJob(t)
			at := byDriver(s)
			c.change(s)
			exit := s.run()
			if exit != c.exit || s.written() != (exit == "0") || exit == "0" && s.read("../../written") != "package" {
				t.Errorf("exit %s, reason %s, output %s", exit, s.read("reason"), s.read("output"))
			}
			for _, left := range []string{at, filepath.Join(s.root, "x.mfa2")} {
				if _, err := os.Stat(left); err == nil {
					t.Errorf("%s is left", left)
				}
			}
		})
	}
}
