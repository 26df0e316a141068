package mstflint

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

var (
	testPCI   = ib.MustParsePCIAddress("0000:01:00.0")
	testGUIDs = ib.GUIDSet{
		Node: 0xe41d2d0300e44ed0, Port1: 0xe41d2d0300e44ed1, Port2: 0xe41d2d0300e44ed2, SystemImage: 0xe41d2d0300e44ed3,
		MAC1: 0xe41d2de44ed0, MAC2: 0xe41d2de44ed1,
	}
)

func must(t *testing.T) func(shellcmd.Command, error) shellcmd.Command {
	return func(c shellcmd.Command, err error) shellcmd.Command {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func TestCommands(t *testing.T) {
	ok := must(t)
	tests := []struct {
		name    string
		cmd     shellcmd.Command
		want    string
		stdin   string
		root    bool
		changes bool
	}{
		{name: "query", cmd: Query(testPCI, false), want: "mstflint -d 0000:01:00.0 q", root: true},
		{name: "full query", cmd: Query(testPCI, true), want: "mstflint -d 0000:01:00.0 q full", root: true},
		{name: "verify", cmd: Verify(testPCI), want: "mstflint -d 0000:01:00.0 v", root: true},
		{name: "verify of an image", cmd: ok(VerifyImage("/x/a b")), want: "mstflint -i '/x/a b' v", root: true},
		{name: "checksum", cmd: Checksum(testPCI), want: "mstflint -d 0000:01:00.0 checksum", root: true},
		{name: "hardware", cmd: HWQuery(testPCI), want: "mstflint -d 0000:01:00.0 hw query", root: true},
		{name: "read", cmd: ok(ReadImage(testPCI, "/x/i")), want: "mstflint -d 0000:01:00.0 ri /x/i", root: true,
			changes: true},
		{name: "burn without a question", cmd: ok(Burn(testPCI, "/x/i", BurnOptions{})),
			want: "mstflint -d 0000:01:00.0 -i /x/i b", root: true, changes: true},
		{name: "burn that leaves no ROM", cmd: ok(Burn(testPCI, "/x/i", BurnOptions{ImageROM: true})),
			want: "mstflint -d 0000:01:00.0 -use_image_rom -i /x/i b", root: true, changes: true},
		{
			name: "burn of another PSID with GUIDs", cmd: ok(Burn(testPCI, "/x/i",
				BurnOptions{AllowPSIDChange: true, GUIDs: &testGUIDs, Answers: 2})),
			want: "mstflint -d 0000:01:00.0 -allow_psid_change" +
				" -guids e41d2d0300e44ed0 e41d2d0300e44ed1 e41d2d0300e44ed2 e41d2d0300e44ed3 -macs e41d2de44ed0 e41d2de44ed1 -i /x/i b",
			stdin: "y\ny\n", root: true, changes: true,
		},
		{
			name: "base", cmd: ok(SetBase(testPCI, 0xec0d9a030076eae2, 0xec0d9a76eae2)),
			want: "mstflint -d 0000:01:00.0 -guid ec0d9a030076eae2 -mac ec0d9a76eae2 sg", root: true, changes: true,
		},
		{
			name: "GUIDs", cmd: ok(SetGUIDs(testPCI, testGUIDs, 1)),
			want:  "mstflint -d 0000:01:00.0 -guids e41d2d0300e44ed0 e41d2d0300e44ed1 e41d2d0300e44ed2 e41d2d0300e44ed3 -macs e41d2de44ed0 e41d2de44ed1 sg",
			stdin: "y\n", root: true, changes: true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.cmd.String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if tt.cmd.Stdin() != tt.stdin || tt.cmd.Root() != tt.root || tt.cmd.Changing() != tt.changes {
				t.Errorf("stdin %q root %v changes %v", tt.cmd.Stdin(), tt.cmd.Root(), tt.cmd.Changing())
			}
			if tt.cmd.Timeout() == 0 {
				t.Error("no timeout")
			}
		})
	}
}

func TestCommands_refuse(t *testing.T) {
	twins := testGUIDs
	twins.Node = 0
	group := testGUIDs
	group.MAC2 = 0x01005e000001
	_, relative := VerifyImage("b")
	_, comma := VerifyImage("/x,y")
	_, noGUID := SetGUIDs(testPCI, twins, 1)
	_, groupMAC := Burn(testPCI, "/x/i", BurnOptions{GUIDs: &group})
	_, negative := Burn(testPCI, "/x/i", BurnOptions{Answers: -1})
	for name, err := range map[string]error{
		"a relative path": relative, "a comma, which separates values": comma, "a zero node GUID": noGUID,
		"a group MAC": groupMAC, "a negative number of answers": negative,
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestSources_have_no_dangerous_option reads the package's own sources: what
// removes a safety net of the tool must not even be spelled.
func TestSources_have_no_dangerous_option(t *testing.T) {
	dangerous := regexp.MustCompile(`"-{1,2}(y|yes|nofs|use_image_ps|use_image_guids|ignore_dev_data|clear_semaphore|no_devid_check|no_flash_verify|ocr|override_cache_replacement|no_fw_ctrl|blank_guids|skip_ci_req|ignore_crc_check|use_dev_img_info|low_cpu|uid)"|"(bb|e|ww|wwne|wb|wbne|reset_cfg|drom|brom)"`)
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	var all strings.Builder
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		read++
		all.Write(text)
		if m := dangerous.FindString(string(text)); m != "" {
			t.Errorf("%s spells %s", name, m)
		}
	}
	if read < 5 || strings.Count(all.String(), `"-guid"`) != 1 || strings.Count(all.String(), `"-mac"`) != 1 {
		t.Fatalf("%d sources were read; -guid and -mac, which wrap on ConnectX-3, are for SetBase alone", read)
	}
}

// TestCommands_are_accepted_by_the_real_tool runs every builder against the
// installed mstflint. There is no card, so each must fail at opening the
// device or the file, behind the tool's own reading of the command line.
func TestCommands_are_accepted_by_the_real_tool(t *testing.T) {
	realtool.Path(t, program)
	none := ib.MustParsePCIAddress("00ff:1f:1f.7")
	ok := must(t)
	for _, cmd := range []shellcmd.Command{
		Query(none, true), Verify(none), ok(VerifyImage("/nonexistent/q")),
		Checksum(none), HWQuery(none), ok(ReadImage(none, filepath.Join(t.TempDir(), "i"))),
		ok(Burn(none, "/nonexistent/i", BurnOptions{AllowPSIDChange: true, GUIDs: &testGUIDs, Answers: 3})),
		ok(SetGUIDs(none, testGUIDs, 1)), ok(SetBase(none, 0xec0d9a030076eae2, 0xec0d9a76eae2)),
	} {
		argv := cmd.Argv()
		run := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		run.Stdin = strings.NewReader(cmd.Stdin())
		var stdout, stderr strings.Builder
		run.Stdout, run.Stderr = &stdout, &stderr
		if err := run.Run(); err == nil {
			t.Errorf("%s succeeded without a card", cmd)
		}
		f := Diagnose(run.ProcessState.ExitCode(), stdout.String(), stderr.String())
		switch f.Kind {
		case FailureNoDevice, FailureBadImage, FailureNotRoot:
		default:
			t.Errorf("%s: %s: %s\n%s%s", cmd, f.Kind, f.Line, stdout.String(), stderr.String())
		}
	}
	version, err := exec.CommandContext(t.Context(), program, "-v").Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseVersion(string(version)); err != nil {
		t.Error(err)
	}
}
