package record

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
)

const (
	id    = "20260101T000000Z-0000-01-00-0-beef"
	begun = "state 1 requested 2026-01-01T00:00:00Z\nstate 2 locked 2026-01-01T00:00:01Z\n" +
		"state 3 inspected 2026-01-01T00:00:02Z\nstate 4 burning 2026-01-01T00:00:10Z\n"
	ended  = begun + "state 5 burned 2026-01-01T00:01:00Z\nexit 0\n"
	failed = begun + "state 5 failed 2026-01-01T00:01:00Z\n"
	closed = "state 6 verified 2026-01-01T00:01:10Z\nstate 7 settled 2026-01-01T00:01:10Z\n"
	active = "unit active infiniband-flash-" + id + ".service\n"
	asked  = "request version=1\nrequest kind=burn\nrequest pci=0000:01:00.0\nrequest operator=eve\n"
)

// whole is the answer of the script that the lines stand for: "unit STATE ID" and
// "systemd STATUS: TEXT" for systemd's, "FILE LINE" for a line of a file, and facts.
func whole(lines string) string {
	var facts, jobs strings.Builder
	units, status := "", "0"
	var names []string
	files := map[string]string{}
	for line := range strings.Lines(lines) {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "now", "job":
			facts.WriteString("@" + line)
		case "process", "hidden":
			jobs.WriteString("@" + key + " " + id + " " + value)
		case "unit":
			state, unit, _ := strings.Cut(value, " ")
			units += "|Id=" + unit + "|ActiveState=" + state + "\n|\n"
		case "systemd":
			status, units, _ = strings.Cut(value, ": ")
			units = "|" + units
		default:
			if files[key] == "" {
				names = append(names, key)
			}
			files[key] += "|" + value
		}
	}
	for _, name := range names {
		head := map[string]string{"output": "@run 0\toutput", "state": "@file /jobs/" + id + "/states"}[name]
		jobs.WriteString(cmp.Or(head, "@file /jobs/"+id+"/"+name) + "\n" + files[name] + "@.\n")
	}
	return "@begin 1\n@run " + status + "\tunits\n" + units + "@.\n" + facts.String() + jobs.String() + "@end\n"
}

// TestJob_ending holds that a job counts as verified, failed or interrupted only where
// that is shown, and what is said of it.
func TestJob_ending(t *testing.T) {
	for name, tt := range map[string]struct {
		units, job string
		want       Ending
		line       string
	}{
		"has just begun": {active, asked + "state 1 requested 2026-01-01T00:00:00Z\n", Running,
			"requested         next: take the lock of the host, within a minute"},
		"burns": {active, asked + begun + "output Current FW version on flash:  2.36.5000\noutput Burning FS2 FW image " +
			"without signatures -  49%\noutput Burning FS2 FW image without signatures -  50%\n", Running,
			"burning      50%  next: read the card back, in about 20s"},
		"burns, and prints nothing yet": {active, asked + begun, Running,
			"burning           next: read the card back, in some minutes"},
		"has burned, and is about to end": {active, asked + begun + "state 5 burned 2026-01-01T00:00:21Z\n", Running,
			"burned      100%  next: read the card back and verify it, within a minute"},
		"its unit is gone, a process is left": {"", asked + begun + "process 12\n", Running,
			"burning           next: read the card back, in some minutes"},
		"systemd is silent": {"systemd 1: Failed to connect to bus\n", asked + begun, Unclear,
			"unclear           whether it runs is not known: systemctl ended with status 1: Failed to connect to bus"},
		"its processes are hidden": {"", asked + begun + "hidden no /proc\n", Unclear,
			"unclear           whether it runs is not known: no /proc"},
		"another version": {active, "request version=2\n" + begun, Unclear,
			"unclear           its journal is of version 2, and this release reads version 1"},
		"nothing is left": {"unit inactive infiniband-flash-" + id + ".service\n", asked + begun, Interrupted,
			"interrupted       stopped in state burning, by " + journal.EndCauses +
				"; the next apply reads what the flash holds"},
		"nothing is left, and read back": {"", asked + begun + closed + "settled the old one\n", Interrupted,
			"interrupted       the old one"},
		"a full disk took the exit status": {"", asked + begun + "exit \n", Interrupted, "interrupted       stopped in state burning"},
		"burned":                           {"", asked + ended, Burned, "burned      100%  next: read the card back and verify it, within a minute"},
		"verified":                         {"", asked + ended + closed + "settled verified\n", Verified, "verified    100%  read back: the card holds what was asked for"},
		"read back, and not as asked": {"", asked + ended + closed + "settled the tool said done and wrote nothing\n", Differs,
			"differs           the tool said done and wrote nothing"},
		"refused": {"", asked + "state 1 requested 2026-01-01T00:00:00Z\nstate 5 failed 2026-01-01T00:00:01Z\nexit 70\n" +
			"reason the card has PSID 'A' instead of 'B'\n", Refused, "refused           the card has PSID 'A' instead of 'B'"},
		"failed": {"", asked + failed + "exit 1\noutput Burning -  34%-E- Burning FS2 image failed: MFE_ERROR\n", Failed,
			"failed            mstflint ended with status 1: Burning FS2 image failed: MFE_ERROR; the next apply reads what " +
				"the flash holds"},
		"the tool crashed": {"", asked + failed + "exit 139\noutput Burning -  34%\n", Failed,
			"failed            mstflint ended with status 139: the tool crashed (lasting); the next apply reads what the flash holds"},
		"failed, and read back": {"", asked + failed + "exit 1\n" + closed + "settled the old one\n", Failed,
			"failed            mstflint ended with status 1; read back: the old one"},
		"its states are lost": {"", asked + "exit 0\n", Burned, "burned      100%  next: read the card back"},
		"says 0 and failed":   {"", asked + failed + "exit 0\n", Failed, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			look, err := parse("nas", whole("now 2026-01-01T00:00:30Z\n"+tt.units+"job "+id+"\n"+tt.job))
			if err != nil || len(look.Jobs) != 1 {
				t.Fatalf("%+v, %v", look, err)
			}
			j := look.Jobs[0]
			if got := j.Ending(); got != tt.want {
				t.Errorf("ending %s, want %s", got, tt.want)
			}
			if got, want := j.Step(look).String(), "2026-01-01T00:00:30Z nas 0000:01:00.0 "+tt.line; !strings.HasPrefix(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestParse_a_job_whose_directory_is_gone(t *testing.T) {
	look, err := parse("nas", whole("now x\n"+active+"unit inactive infiniband-flash-20260101T000000Z-0000-02-00-0-beef.service\n"))
	if err != nil || len(look.Jobs) != 1 {
		t.Fatalf("%+v, %v", look, err)
	}
	j := look.Jobs[0]
	if s := j.Step(look); j.Ending() != Running || s.Name != "running" || !strings.Contains(s.Text, "removed the directory") {
		t.Errorf("%s, %s", j.Ending(), s)
	}
}

func TestParse_refuses_what_is_cut(t *testing.T) {
	for _, bad := range []string{"", "@begin 1\n@now 2026-01-01T00:00:30Z\n@job " + id + "\n", whole("state 4 burning T\n")} {
		if look, err := parse("nas", bad); err == nil {
			t.Errorf("%q gives %+v", bad, look)
		}
	}
}

// The look runs at any moment of a burn.
func TestScript_opens_no_card_and_takes_no_lock(t *testing.T) {
	for line := range strings.Lines(script) {
		code, _, _ := strings.Cut(strings.TrimSpace(line), "#")
		for _, no := range []string{"flock", "mst", "lspci", "mkdir", ">>", "rm "} {
			if strings.Contains(code, no) {
				t.Errorf("the script has %q: %s", no, line)
			}
		}
	}
}

// TestScript_in_a_real_shell reads a directory with a job that a full disk has cut.
func TestScript_in_a_real_shell(t *testing.T) {
	sh, dir := realtool.Path(t, "/bin/sh"), t.TempDir()
	job := filepath.Join(dir, "jobs", id)
	if err := os.MkdirAll(job, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"request": "version=1\nkind=burn\npci=0000:01:00.0\nbackup_path=/a b/c\\d", "exit": "1\n", "reason": "",
		"states": "1 requested 2026-01-01T00:00:00Z\n4 burning 2026-01-01T00:00:01Z\n5 fai",
		"output": "Burning -   1%\rBurning -  49%-E- Burning FS2 image failed: one\n",
	} {
		if err := os.WriteFile(filepath.Join(job, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), sh, "-c", answer.Functions+cardusers.Functions+script, "sh", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	look, err := parse("nas", string(out))
	if err != nil || len(look.Jobs) != 1 {
		t.Fatalf("%+v, %v in %s", look, err, out)
	}
	j := look.Jobs[0]
	if j.Ending() != Failed || j.Request["backup_path"] != `/a b/c\d` || !strings.Contains(j.Text(), "failed: one") ||
		time.Since(look.Now).Abs() > time.Hour {
		t.Errorf("%+v: %s", j, j.Text())
	}
}
