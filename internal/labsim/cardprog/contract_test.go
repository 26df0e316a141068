package cardprog

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// realMstflint finds mstflint 4.21.0, whose texts the simulated one promises.
func realMstflint(t *testing.T) string {
	t.Helper()
	file := realtool.Path(t, "mstflint")
	out, err := exec.CommandContext(t.Context(), file, "-v").Output()
	if err != nil || !strings.Contains(string(out), "4.21.0") {
		t.Skipf("mstflint 4.21.0 is not installed but %q; the contract is not checked here", out)
	}
	return file
}

func contractMachine(t *testing.T, dir string) *labsim.Machine {
	t.Helper()
	l := labsim.New(labsim.Options{Setup: []func(*labsim.Machine){Install}})
	m, err := l.AddMachine(labsim.Config{Name: "host", OS: labsim.TrueNAS})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range card.Files() {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		m.FS.Put(file, string(data), 0o644)
	}
	m.FS.Put("/lab/blank.txt", "abc", 0o644)
	return m
}

func runSimulated(t *testing.T, m *labsim.Machine, args ...string) (out, errOut string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = m.Exec(t.Context(), &labsim.Proc{Args: args, User: "root", Stdout: &stdout, Stderr: &stderr})
	return stdout.String(), stderr.String(), status
}

func runReal(t *testing.T, file string, args ...string) (out, errOut string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), file, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), status
}

// TestMstflint_imagesAsTheRealTool compares both tools byte for byte.
func TestMstflint_imagesAsTheRealTool(t *testing.T) {
	tool, dir := realMstflint(t), t.TempDir()
	m := contractMachine(t, dir)
	for name := range card.Files() {
		for _, command := range [][]string{{"q"}, {"q", "full"}, {"v"}, {"checksum"}, {"query"}, {"sg"}, {"ri", "/tmp/x"},
			{"hw", "query"}, {"b"}} {
			args := append([]string{"-i", filepath.Join(dir, name)}, command...)
			compareTools(t, m, tool, args)
		}
		compareTools(t, m, tool, []string{"--flashed_version", "-i", filepath.Join(dir, name), "q"})
	}
}

// TestMstflint_grammarAsTheRealTool covers what never opens an image.
func TestMstflint_grammarAsTheRealTool(t *testing.T) {
	tool, dir := realMstflint(t), t.TempDir()
	m := contractMachine(t, dir)
	image := filepath.Join(dir, "fw-ConnectX3Pro-vpi.bin")
	for _, args := range [][]string{
		{}, {"-v"}, {"--version"}, {"foo"}, {"-i", image}, {"-i", "/nonexistent/x.bin", "q"}, {"-d", "0000:7f:00.0", "-i",
			image, "q"},
		{"-i", image, "b"}, {"-d", "0000:7f:00.0", "ri"}, {"-d", "7f:00.0", "q"}, {"-i", image, "-guid", "0002:c903", "sg"},
		{"-i", image, "-guids", "1", "2", "3", "sg"}, {"-i", image, "sg", "1", "2", "3"}, {"-i", image, "q", "a", "b"},
		{"-d", "0000:7f:00.0", "sg"}, {"-d", "0000:7f:00.0", "-clear_semaphore"}, {"-d", "0000:7f:00.0", "-clear_semaphore",
			"q"},
		{"-d", "0000:7f:00.0", "v"}, {"-y", "-i", image, "v"}, {"--image=" + image, "q"}, {"-i", image, "-mac", "xyz", "sg"},
		{"-i", image, "-uid", "1", "sg"}, {"-d", "0000:7f:00.0", "-i", image, "-y", "b"}, {"-d", "0000:7f:00.0", "hw",
			"query"},
	} {
		compareTools(t, m, tool, args)
	}
	// The real synopsis is long and not ours to repeat: only its beginning counts.
	for _, args := range [][]string{{"q", "-y"}, {"-nonsense", "-i", image, "q"}, {"-i", image, "nonsense"}, {"-d"}} {
		out, errOut, status := runSimulated(t, m, append([]string{"mstflint"}, args...)...)
		wantOut, wantErr, wantStatus := runReal(t, tool, args...)
		if !strings.HasPrefix(wantOut, strings.TrimSuffix(out, synopsis)) ||
			errOut != strings.ReplaceAll(wantErr, tool, "mstflint") || status != wantStatus {
			t.Errorf("%q:\n got %d %q %q\nwant %d %.200q %q", args, status, out, errOut, wantStatus, wantOut, wantErr)
		}
	}
	if v := m.Violations(); len(v) > 0 {
		t.Errorf("violations: %q", v)
	}
}

func compareTools(t *testing.T, m *labsim.Machine, tool string, args []string) {
	t.Helper()
	out, errOut, status := runSimulated(t, m, append([]string{"mstflint"}, args...)...)
	wantOut, wantErr, wantStatus := runReal(t, tool, args...)
	if out != wantOut || errOut != strings.ReplaceAll(wantErr, tool, "mstflint") || status != wantStatus {
		t.Errorf("%q:\n got %d %q %q\nwant %d %q %q", args, status, tail(out), errOut, wantStatus, tail(wantOut), wantErr)
	}
}

func tail(s string) string { return s[max(0, len(s)-600):] }
