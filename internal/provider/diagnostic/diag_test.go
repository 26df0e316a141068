package diagnostic

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// The texts are what an operator reads on a bad day, so they are asserted whole.
func TestDetail_sayWhatHappenedAndWhatToCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a command that failed": {
			&host.ExitError{Host: "intel9", Command: "mstflint -d 01:00.0 q", Status: 1, Stderr: "-E- Cannot open Device\n"},
			"A command ran on the host and failed.\n\nHost: intel9\nCommand: mstflint -d 01:00.0 q\nExit status: 1\nStderr: -E- Cannot open Device",
		},
		"a command that failed inside an operation": {
			fmt.Errorf("read the flash: %w",
				&host.ExitError{Host: "intel9", Command: "mstflint", Status: 3, Stdout: "half\na line"}),
			"While trying to read the flash. A command ran on the host and failed. It printed nothing on standard error.\n\n" +
				"Host: intel9\nCommand: mstflint\nExit status: 3\nStdout:\n    half\n    a line",
		},
		"a command that failed while something was done": {
			fmt.Errorf("starting the server: %w", &host.ExitError{Host: "intel9", Command: "iperf3", Status: 1}),
			"While starting the server. A command ran on the host and failed. It printed nothing on standard error.\n\nHost: intel9\nCommand: iperf3\nExit status: 1",
		},
		"a command that failed after something was done": {
			fmt.Errorf("opensm.service of intel9 was started again. %w",
				&host.ExitError{Host: "intel9", Command: "sminfo", Status: 1, Stderr: "no"}),
			"opensm.service of intel9 was started again. A command ran on the host and failed.\n\nHost: intel9\n" +
				"Command: sminfo\nExit status: 1\nStderr: no",
		},
		"a command that did not accept something": {
			fmt.Errorf("netplan does not accept the configuration: %w",
				&host.ExitError{Host: "intel9", Command: "netplan", Status: 1}),
			"Netplan does not accept the configuration. A command ran on the host and failed. It printed nothing on standard error.\n\nHost: intel9\nCommand: netplan\nExit status: 1",
		},
		"a host that does not answer": {
			&host.UnreachableError{Host: "intel9", Address: "192.0.2.20:22", Op: "connect", Advice: "is sshd running?",
				Err: errors.New("connection refused")},
			"The host could not be reached. This step changed nothing; what was done before it holds. What the state has of it stays.\n\n" +
				"Is sshd running?\n\nTo plan the other hosts without it, set unreachable = \"keep\" in the provider. " + GoneForGood + "\n\nHost: intel9\nAddress: 192.0.2.20:22\nStep: connect\nError: connection refused",
		},
		"a connection lost in between": {
			&host.UnreachableError{Host: "intel9", Op: "run", Command: "netplan apply", MayHaveRun: true,
				Err: errors.New("EOF")},
			"The connection was lost while a command ran, so its outcome is not known. The next plan reads it back.\n\n" +
				"Host: intel9\nStep: run\nCommand: netplan apply\nError: EOF",
		},
		"an answer of the script that reads a host": {
			&host.OutputError{Host: "intel9", Command: "script 'collect facts' '' /var/lib/x mstflint",
				Problem: "section mstflint -v: nonsense"},
			"The provider did not understand the output of a command, so it draws no conclusion from it. " +
				"Another version of the program, or a wrapper around it, may print something else.\n\nSection mstflint -v: nonsense.\n\nHost: intel9\nScript of the provider: collect facts",
		},
		"a connection lost while reading": {
			&host.UnreachableError{Host: "intel9", Op: "run", Command: "script 'collect facts' / x", MayHaveRun: true, Reading: true,
				Err: errors.New("EOF")},
			"The connection broke while the host was being read. Reading changes nothing; what an earlier step did stays. Run it again.\n\nHost: intel9\nStep: run\nError: EOF",
		},
		"a host that is slow": {
			&host.UnreachableError{Host: "intel9", Op: "run", MayHaveRun: true, Reading: true, Limit: "command_timeout = 5s",
				Err: errors.New("the command did not end within command_timeout = 5s")},
			"Reading the host did not end within command_timeout = 5s. Reading changes nothing; what an earlier step did stays. Raise command_timeout if the host is slow.\n\n" +
				"Host: intel9\nStep: run\nError: the command did not end within command_timeout = 5s",
		},
		"a command that takes too long": {
			&host.UnreachableError{Host: "intel9", Op: "run", Command: "apt-get install", MayHaveRun: true,
				Limit: "its limit of 20m", Err: errors.New("no end")},
			"A command on the host did not end within its limit of 20m. It may still run there; the next plan reads what it did.\n\n" +
				"Host: intel9\nStep: run\nCommand: apt-get install\nError: no end",
		},
		"a connection lost in a copy": {
			&host.UnreachableError{Host: "intel9", Op: "upload", Command: "upload /x", Err: errors.New("EOF")},
			"The connection broke during the copy of a file. What was at its place before is still there, and no card was written. Run the same command again.\n\n" +
				"Host: intel9\nStep: upload\nError: EOF",
		},
		"a key that is not there": {
			&host.UnreachableError{Host: "intel9", Op: host.OpKey, Advice: "check private_key_file.",
				Err: errors.New("private_key_file: open /k: no such file or directory")},
			"The private key could not be read on this machine. Nothing was offered to the host.\n\nCheck private_key_file.\n\n" +
				"Host: intel9\nStep: read the private key\nError: private_key_file: open /k: no such file or directory",
		},
		"a host with another key": {
			&host.UnreachableError{Host: "intel9", Op: "verify host key", Err: errors.New("key mismatch")},
			"The host's key could not be trusted, so no password or command was sent to it.\n\nHost: intel9\nStep: verify host key\nError: key mismatch",
		},
		"output that was not understood": {
			&host.OutputError{Host: "intel9", Command: "ibstat", Problem: "line 3: want a state", Output: "CA 'x'"},
			"The provider did not understand the output of a command, so it draws no conclusion from it. Another version of the program, or a wrapper around it, may print something else.\n\n" +
				"Line 3: want a state.\n\nHost: intel9\nCommand: ibstat\nOutput: CA 'x'",
		},
		"a user without rights": {
			&host.PrivilegeError{Host: "intel9", User: "ops", Reason: host.ReasonNotInSudoers,
				Stderr: "ops is not in the sudoers file."},
			"The host answered, but the user ops could not become root: not in sudoers. The command was not run.\n\nHost: intel9\nUser: ops\nStderr: ops is not in the sudoers file.",
		},
		"a file that did not arrive": {
			&host.TransferError{Host: "intel9", Op: "upload", Path: "/x", Err: errors.New("no space left")},
			"The host answered, but a file could not be moved. What was at that path before is still there.\n\nHost: intel9\nStep: upload\nPath: /x\nError: no space left",
		},
		"a host in observe mode": {
			&host.ObserveError{Host: "intel9", Command: "reboot"},
			"The host is in observe mode (mode = \"observe\" in the provider's hosts map), so nothing may change it. Nothing was changed.\n\n" +
				"Set mode = \"manage\" for this host if Terraform is to change it.\n\nHost: intel9\nCommand: reboot",
		},
		"a deadline": {
			fmt.Errorf("wait for the job: %w", context.DeadlineExceeded),
			"The time-out of this operation has passed. Wait for the job: context deadline exceeded.\n\nThe host may be slow, or it hangs. The next plan shows what was done.",
		},
		"anything else": {errors.New("no such thing"), "No such thing."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Detail(tc.err); got != tc.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tc.want)
			}
		})
	}
}

func TestExcerpt_keepsTheEnd(t *testing.T) {
	text := ""
	for i := range 30 {
		text += fmt.Sprintf("line %d\n", i)
	}
	got := excerpt(text)
	if want := "(10 lines before)\nline 10\n"; got[:len(want)] != want || got[len(got)-7:] != "line 29" {
		t.Errorf("got %q", got)
	}
}

func TestAddFindings_putEachOnItsAttribute(t *testing.T) {
	var diags diag.Diagnostics
	findings := []finding.Finding{
		{Rule: finding.PSIDWouldChange, Severity: finding.NeedsConsent, Summary: "Burn would replace the PSID",
			Evidence: "In flash A.", Attribute: finding.Allow, Consent: "psid_change = { … }"},
		{Rule: finding.CardWithoutPort, Severity: finding.Refuse, Summary: "No such port", Evidence: "Port 3.",
			Attribute: "ports.3"},
		{Rule: finding.MTUUnfit, Severity: finding.Refuse, Summary: "Refusing an MTU that datagram mode cannot carry",
			Evidence: "65520.", Attribute: "mtu"},
		{Rule: finding.SubnetManagerOnCard, Severity: finding.Warn, Summary: "A subnet manager runs on this card",
			Evidence: "Port 1."},
		{Rule: finding.SessionOverCard, Severity: finding.Note, Summary: "only for the log"},
	}
	if !AddFindings(t.Context(), &diags, "burn firmware on card intel9/0000:01:00.0", findings) {
		t.Error("findings that refuse do not block")
	}
	want := diag.Diagnostics{
		diag.NewAttributeErrorDiagnostic(path.Root("allow"),
			"Refusing to burn firmware on card intel9/0000:01:00.0: FW023 Burn would replace the PSID", findings[0].Detail()),
		diag.NewAttributeErrorDiagnostic(path.Root("ports").AtMapKey("3"),
			"Refusing to burn firmware on card intel9/0000:01:00.0: LT004 No such port", findings[1].Detail()),
		diag.NewAttributeErrorDiagnostic(path.Root("mtu"),
			"Refusing an MTU that datagram mode cannot carry: IP005 firmware on card intel9/0000:01:00.0", findings[2].Detail()),
		diag.NewWarningDiagnostic("Firmware on card intel9/0000:01:00.0: HO009 A subnet manager runs on this card",
			findings[3].Detail()),
	}
	if !diags.Equal(want) {
		t.Errorf("got %v", diags)
	}
	diags = nil
	if AddFindings(t.Context(), &diags, "burn firmware on card x", findings[3:]) {
		t.Error("warnings and notes block")
	}
}

func TestAddError_showsTheFindingsOfARefusal(t *testing.T) {
	refused := &safety.RefusedError{What: "reboot a so that card a/0000:01:00.0 runs 2.42.5000",
		Findings: []finding.Finding{
			{Rule: finding.FlashJobRunning, Severity: finding.Refuse, Summary: "Another flash job is running on the host",
				Evidence: "a: job 7."},
			{Rule: finding.SubnetManagerOnCard, Severity: finding.Warn, Summary: "A subnet manager runs on this card"},
		}}
	for _, c := range []struct {
		done, left string
	}{
		{"", "a: job 7.\n\nThe change was not made."},
		{"The flash is written and verified", "a: job 7.\n\nThe flash is written and verified; the host was not restarted"},
	} {
		var diags diag.Diagnostics
		refused.Done = c.done
		AddError(&diags, "burn firmware on card a/0000:01:00.0", fmt.Errorf("apply: %w", refused))
		if len(diags) != 1 || diags[0].Summary() != "Refusing to reboot a so that card a/0000:01:00.0 runs 2.42.5000: HO004 Another flash job is running on the host" ||
			!strings.HasPrefix(diags[0].Detail(), c.left) {
			t.Errorf("done %q: got %v", c.done, diags)
		}
	}
}

// A job has ended, and then the card was refused: what the job did is the news.
func TestAddError_tellsWhatWasDoneBeforeARefusal(t *testing.T) {
	refused := &safety.RefusedError{What: "read card a/0000:01:00.0 after its job",
		Findings: []finding.Finding{finding.CardExchanged.Find("Another one.")}}
	var diags diag.Diagnostics
	AddError(&diags, "burn firmware on card a/0000:01:00.0", fmt.Errorf("apply: %w", &cards.Error{
		What: "The tool has ended.", Means: "What is in the flash is not proven.", Err: refused}))
	if len(diags) != 1 || diags[0].Summary() != "Unable to burn firmware on card a/0000:01:00.0" ||
		!strings.Contains(diags[0].Detail(), "What is in the flash is not proven.") ||
		!strings.Contains(diags[0].Detail(), "FW080") ||
		strings.Contains(diags[0].Detail(), "The change was not made") {
		t.Errorf("got %v", diags)
	}
}

// What went wrong beside a refusal is told, too: the refusal says nothing of it.
func TestAddError_tellsWhatStandsBesideARefusal(t *testing.T) {
	refused := &safety.RefusedError{What: "write the flash of card a/0000:01:00.0",
		Findings: []finding.Finding{finding.CardExchanged.Find("Another one.")}}
	unsettled := &cards.Error{Heading: "Unable to record the result of job 7", What: "The note could not be stored."}
	for name, err := range map[string]error{
		"first":       errors.Join(refused, unsettled),
		"last":        errors.Join(unsettled, fmt.Errorf("look: %w", refused)),
		"below other": fmt.Errorf("apply: %w", errors.Join(refused, unsettled)),
	} {
		var diags diag.Diagnostics
		AddError(&diags, "burn firmware on card a/0000:01:00.0", err)
		if len(diags) != 2 || !strings.HasPrefix(diags[0].Summary(), "Refusing to write the flash of card a/0000:01:00.0: FW080") ||
			diags[1].Summary() != "Unable to record the result of job 7" || diags[1].Detail() != "The note could not be stored." {
			t.Errorf("%s: got %v", name, diags)
		}
	}
}

type going struct{ error }

func (going) Title() string { return "Unable to say yet how it ended" }

func TestAddError_takes_the_title_of_what_did_not_fail(t *testing.T) {
	var diags diag.Diagnostics
	AddError(&diags, "burn firmware on card a", fmt.Errorf("apply: %w", going{errors.New("EOF")}))
	AddError(&diags, "burn firmware on card a", errors.New("EOF"))
	if diags[0].Summary() != "Unable to say yet how it ended" ||
		diags[1].Summary() != "Unable to burn firmware on card a" {
		t.Errorf("got %v", diags)
	}
}

func TestWarnSlowSudo(t *testing.T) {
	var diags diag.Diagnostics
	for _, took := range []time.Duration{0, time.Second, 20 * time.Second} {
		WarnSlowSudo(&diags, &inventory.Snapshot{Host: "intel9", Sudo: took})
	}
	if len(diags) != 1 || diags[0].Summary() != "Host intel9 is slow: its sudo took longer than 5s" ||
		!strings.HasPrefix(diags[0].Detail(), "sudo took 20s before") || !strings.Contains(diags[0].Detail(), "/etc/hosts") {
		t.Errorf("got %v", diags)
	}
}

// A host that is only read has its own code, whatever the operation made of the error.
func TestAddError_observeModeIsRefused(t *testing.T) {
	watch := &host.ObserveError{Host: "xeon2zfs", Command: "midclt call interface.update"}
	for name, err := range map[string]error{"bare": watch,
		"inside": fmt.Errorf("removing the stored interface: %w", watch), "explained": begun{watch}} {
		t.Run(name, func(t *testing.T) {
			var diags diag.Diagnostics
			AddError(&diags, "remove IPoIB interface xeon2zfs/1", err)
			if len(diags) != 1 || diags[0].Summary() != "Refusing to remove IPoIB interface xeon2zfs/1: HO008 Host is in observe mode" {
				t.Fatalf("got %v", diags)
			}
			text := diags[0].Detail()
			if strings.Contains(text, "midclt") || strings.Contains(text, "begun") ||
				!strings.Contains(text, "remove mode = \"observe\"") {
				t.Errorf("got %s", text)
			}
		})
	}
}

type begun struct{ error }

func (b begun) Explain() string { return "The change was begun." }
func (b begun) Unwrap() error   { return b.error }

// An engine shows one of several warnings with the same summary.
func TestAddFindings_joinsWarnings(t *testing.T) {
	var diags diag.Diagnostics
	AddFindings(t.Context(), &diags, "configure subnet manager intel9/1", []finding.Finding{
		finding.FileEdited.Find("/a also has: x."), finding.ModulesNotAtBoot.Find("/b also has: y."),
		finding.FileEdited.Find("/c also has: z."), finding.GUIDInFabric.Find("one"), finding.GUIDInFabric.Find("two")})
	if len(diags.Warnings()) != 2 || len(diags.Errors()) != 2 ||
		!strings.HasPrefix(diags.Warnings()[0].Detail(), "/a also has: x.\n/c also has: z.\n\n") ||
		strings.Count(diags.Warnings()[0].Detail(), finding.FileEdited.WayOut) != 1 {
		t.Errorf("%v", diags)
	}
}
