package job

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
)

// whole is the answer of the script that the lines stand for: "unit STATE", "FILE LINE"
// for a line of a file, and facts; then, behind an empty line, what the tool printed.
func whole(text string) string {
	head, output, _ := strings.Cut(text, "\n\n")
	var facts strings.Builder
	var names []string
	files := map[string]string{}
	for line := range strings.Lines(head + "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "unit":
			facts.WriteString("@run 0\tunit\n|" + strings.TrimPrefix(value, "unknown ") + "@.\n")
		case "boot":
			facts.WriteString("=/proc/sys/kernel/random/boot_id\t" + value)
		case "process", "hidden":
			facts.WriteString("@" + key + " j1 " + value)
		case "state", "exit", "reason", "held", "holder":
			if files[key] == "" {
				names = append(names, key)
			}
			files[key] += "|" + value
		default:
			facts.WriteString(strings.TrimSuffix("@"+line, "@\n"))
		}
	}
	for _, name := range names {
		facts.WriteString("@file /jobs/j1/" + strings.Replace(name, "state", "states", 1) + "\n" + files[name] + "@.\n")
	}
	for line := range strings.Lines(output) {
		files["output"] += "|" + line
	}
	return "@begin 1\n" + facts.String() + "@run 0\toutput\n" + files["output"] + "@.\n@end\n"
}

func TestParseLook(t *testing.T) {
	out, err := parseLook("j1", whole("unit inactive\nboot abc\nexit 75\nreason another job\nstate 1 requested T1\nstate 2 locked T2\nheld operator=bob = x\n\nsome\n\noutput\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !out.Ended || out.Exit != 75 || !fact.No(out.unit) || out.bootID != "abc" || out.last() != "locked" ||
		out.Held["operator"] != "bob = x" || out.Output != "some\n\noutput\n" {
		t.Errorf("outcome %+v", out)
	}
	if out.wrote() {
		t.Error("a job that never reached burning has written")
	}
	// A job is submitted with its first state: a journal without one has lost it.
	if lost, err := parseLook("j1", whole("unit inactive\nboot abc\nexit 0\n")); err != nil || !lost.wrote() {
		t.Errorf("a journal without its states says that nothing was written: %+v, %v", lost, err)
	}
	for _, bad := range []string{"", "absent\n", "garbage\n", "unit active\nexit many\n"} {
		if got, err := parseLook("j1", whole(bad)); err == nil {
			t.Errorf("%q gives %+v", bad, got)
		}
	}
}

func TestDisplay_keepsTheEndOfAProgressDisplay(t *testing.T) {
	const output = "Current FW version\r\n\rBurning -   1%\rBurning -  49%-E- Burning FS2 image failed: Flash write failed\n\rRestoring signature - OK\n"
	const want = "Current FW version\nBurning -  49%-E- Burning FS2 image failed: Flash write failed\nRestoring signature - OK"
	if got := (outcome{Output: output}).display(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseLook_ofAJournalThatTheDiskCutOff(t *testing.T) {
	out, err := parseLook("x", whole("unit inactive\nboot b\nexit \nstate 4 burning 2026-01-01T00:00:00Z\n\n"))
	if err != nil || out.Ended || !out.wrote() {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestOutcome_running holds that a job counts as ended only if nothing is left of it:
// systemd that does not answer, or a stray process, has a reader wait.
func TestOutcome_running(t *testing.T) {
	const gone = "unit inactive\nboot b\nlock free\n"
	for name, tt := range map[string]struct {
		text string
		want string // "yes", "no", or what is said of why it is not known
	}{
		"runs":            {"unit active\nboot b\nstate 4 burning T\n", "yes"},
		"ended":           {"unit active\nboot b\nexit 0\n", "no"},
		"nothing is left": {gone + "state 4 burning T\n", "no"},
		"systemd does not answer": {"unit unknown Failed to connect to bus\nboot b\nlock free\nstate 4 burning T\n",
			"Failed to connect to bus"},
		"a process is left":          {"unit inactive\nboot b\nprocess 4711\nlock free\nstate 4 burning T\n", "yes"},
		"processes are hidden":       {"unit inactive\nboot b\nhidden no /proc\nlock free\n", "no /proc"},
		"it has the lock":            {"unit failed\nboot b\nlock taken\nholder job=j1\n", "yes"},
		"another job has the lock":   {"unit failed\nboot b\nlock taken\nholder job=j2\n", "no"},
		"somebody has the lock":      {"unit failed\nboot b\nlock taken\n", "left no name"},
		"the lock cannot be asked":   {"unit failed\nboot b\nlock unknown\n", "cannot be asked"},
		"removed while it runs":      {"unit active\nboot b\nabsent\n", "yes"},
		"removed, and a process":     {"unit inactive\nboot b\nprocess 1\nlock taken\nholder job=j1\nabsent\n", "yes"},
		"removed, systemd is silent": {"unit unknown x\nboot b\nlock free\nabsent\n", "systemd does not say"},
		"never there":                {gone + "absent\n", "no"},
	} {
		out, err := parseLook("j1", whole(tt.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := out.running().Why()
		switch {
		case fact.Yes(out.running()):
			got = "yes"
		case fact.No(out.running()):
			got = "no"
		}
		if tt.want == "yes" && got != tt.want || tt.want == "no" && got != tt.want || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if out.over() != (tt.want == "no") {
			t.Errorf("%s: over %t", name, out.over())
		}
	}
}

// TestEnding_full_disk holds that a full disk is named where it can be seen, and is
// among the causes where it cannot.
func TestEnding_full_disk(t *testing.T) {
	t.Parallel()
	const full, head = "free 0 /var\n", "unit inactive\nlock free\nfree Available Mounted on\n"
	for _, x := range []struct {
		name, look string
		says       []string
		not        string
	}{
		{"full", head + full + "state 4 burning T\n",
			[]string{"interrupted while it wrote", "is full: /var (0 KiB free)", "Make room"}, "power cut"},
		{"full behind the end", head + "cut\n" + full + "state 4 burning T\nstate 5 burned T\n",
			[]string{"had ended", "is full: /var (0 KiB free)"}, "interrupted"},
		{"room", head + "free 90000 /var\nstate 4 burning T\n",
			[]string{"interrupted while it wrote", "a power cut", "a full disk"}, "is full"},
	} {
		out, err := parseLook("j1", whole(x.look))
		if err != nil {
			t.Fatal(err)
		}
		text := out.endText()
		for _, want := range x.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: lacks %q: %s", x.name, want, text)
			}
		}
		if strings.Contains(text, x.not) {
			t.Errorf("%s: holds %q: %s", x.name, x.not, text)
		}
	}
}
