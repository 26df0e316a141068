package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/control"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/realflint"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// recorded is the recording of the lab of two hosts, and a file with firmware that its cards can have.
func recorded(t *testing.T) (file, image string) {
	t.Helper()
	l, err := source{name: "crossflash"}.open(t.Context(), t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	file = filepath.Join(t.TempDir(), "lab.tar.gz")
	var out bytes.Buffer
	status := record.Command("test").Run(t.Context(), []string{"-config-file", filepath.Join(l.Dir, control.SSHConfigFile),
		"-yes", "-o", file, labs.Intel9, labs.Xeon2zfs}, command.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
	if status != command.OK {
		t.Fatalf("record: status %d\n%s", status, &out)
	}
	return file, l.Images["fw-ConnectX3Pro-vpi.bin"].Path
}

// served is a lab that is served as a person does it, with what it has printed; the function runs a command on it.
func served(t *testing.T, args ...string) (printed string, command func(args ...string) (int, string)) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	from, to := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := run(ctx, append([]string{"serve"}, args...), to, to)
		_ = to.CloseWithError(err)
		done <- err
	}()
	t.Cleanup(func() {
		stop()
		go func() { _, _ = io.Copy(io.Discard, from) }()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if left, err := filepath.Glob(os.TempDir() + "/*"); err != nil || len(left) > 0 {
			t.Errorf("the lab has left %q: %v", left, err)
		}
	})
	piece := make([]byte, 1<<16)
	for !strings.Contains(printed, "Break things:") {
		n, err := from.Read(piece)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		printed += string(piece[:n])
	}
	return printed, func(args ...string) (int, string) {
		var out bytes.Buffer
		status, err := run(t.Context(), args, &out, &out)
		if err != nil {
			out.WriteString(err.Error())
		}
		return status, out.String()
	}
}

// The twin of a recording is served with its own names, and each command of the page for it does what it says.
func TestServe_a_recording(t *testing.T) {
	file, image := recorded(t)
	text, lab := served(t, "-image", image, "-one-switch", file)
	for _, want := range []string{`      intel9 = { address = "intel9" }`, "/lab/ssh_config intel9\n",
		"/lab xeon2zfs\n", "/lab intel9 1   # plug", "/lab xeon2zfs   # another card"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	page, err := os.ReadFile("../../../../templates/guides/rehearse.md")
	if err != nil {
		t.Fatal(err)
	}
	says := map[string]string{"fault intel9 '{}'": "{}", "unplug intel9 1": `"cable": "out"`, "plug intel9 1": `"cable": "in"`,
		"fault intel9 '{\"power_cut_at_flash\": 40}'": `"power_cut_at_flash": 40`, "power-cut intel9": `"host": "intel9"`,
		"exchange-card xeon2zfs": `"0000:04:00.0": "MT1234X00900"`, "evidence": `"flash_psid": "MT_9200111023"`}
	for _, m := range regexp.MustCompile(`(?m)^infiniband-lab ([a-z-]+)( \S+)?( '.*?'| \d)?(?: +#.*)?$`).FindAllStringSubmatch(string(page), -1) {
		typed := m[1] + m[2] + m[3]
		if typed == "serve lab.tar.gz" {
			continue
		}
		var words []string
		for _, w := range m[1:] {
			if w = strings.Trim(w, " '"); w != "" {
				words = append(words, w)
			}
		}
		want, known := says[typed]
		if status, out := lab(words...); status != 0 || !known || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, %s", typed, status, out)
		}
		delete(says, typed)
	}
	if len(says) > 0 {
		t.Errorf("the page does not have %q", says)
	}
	if status, out := lab("exec", "xeon2zfs", "hostname; exit 7"); status != 7 || out != "xeon2zfs\n" {
		t.Errorf("exec: status %d, %s", status, out)
	}
	for _, c := range []struct {
		line, want string
		status     int
	}{
		{"power-cut", "power-cut needs HOST", 2},
		{"unplug intel9 one", `unplug: the port is a number, and not "one"`, 2},
		{"unplug intel9 0000:09:00.0 1", `intel9 has no card at \"0000:09:00.0\"; there are 0000:01:00.0`, 1},
		{"exchange-card nobody", `no host \"nobody\" in this lab`, 1},
		{"fault intel9 {\"flash\":1}", "the faults are exec_holds, ", 2},
		{"burn intel9", `no command "burn"`, 2},
		{"exec -dir", "flag needs an argument: -dir", 2},
	} {
		if status, out := lab(strings.Fields(c.line)...); status != c.status || !strings.Contains(out, c.want) {
			t.Errorf("%s: status %d, %s; want %d and %s", c.line, status, out, c.status, c.want)
		}
	}
}

// With -real-tool the mstflint of this machine answers on the hosts, with the firmware that somebody has given.
func TestServe_the_real_tool(t *testing.T) {
	tool, err := realflint.Find(t.Context(), t.TempDir())
	if err != nil {
		realtool.ReportMissing(t, err.Error())
	}
	file, image := recorded(t)
	text, lab := served(t, "-real-tool", "-image", image, file)
	if !strings.Contains(text, "mstflint "+tool.Version+" of this machine answers on the hosts.\n") {
		t.Error(text)
	}
	for _, typed := range []string{"mstflint -v", "mstconfig -v"} { // one package has one version
		if status, out := lab("exec", "intel9", typed); status != 0 || !strings.Contains(out, tool.Version) {
			t.Errorf("%s: status %d, %s", typed, status, out)
		}
	}
	if status, out := lab("exec", "intel9", "mstflint -d mlx4_0 q"); status != 0 || !strings.Contains(out, "MT_9200111023") {
		t.Errorf("status %d, %s", status, out)
	}
}

func TestRun_a_wrong_command_line(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("PATH", "")
	for _, c := range []struct {
		args, want string
		status     int
	}{
		{"", "usage: infiniband-lab serve", 0},
		{"version", "infiniband-lab dev", 0},
		{"serve", "serve needs one lab", 2},
		{"serve flat", `no lab "flat"; there are crossflash, gpu, oem, point-to-point, qlogic, and the files`, 1},
		{"serve -real-tool crossflash", "-real-tool: mstflint is not on PATH; install the package mstflint", 1},
		{"serve -one-switch gpu", "are for the file of a recording", 1},
		{"serve nowhere.tar.gz", "no such file", 1},
		{"evidence", "no lab runs; infiniband-lab serve starts one", 1},
	} {
		var out bytes.Buffer
		status, err := run(t.Context(), strings.Fields(c.args), &out, &out)
		if err != nil {
			out.WriteString(err.Error())
		}
		if status != c.status || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: status %d, %s; want %d and %s", c.args, status, &out, c.status, c.want)
		}
	}
	if left, err := filepath.Glob(os.TempDir() + "/*"); err != nil || len(left) > 0 {
		t.Errorf("it has left %q: %v", left, err)
	}
}
