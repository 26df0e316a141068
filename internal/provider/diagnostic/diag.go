package diagnostic

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// AddError adds "Unable to <what>" with a detail that fits the kind of err, or
// "Refusing to …" with each finding at its attribute if an operation was refused.
// what is verb, thing and identity: "read card intel9/0000:01:00.0".
func AddError(diags *diag.Diagnostics, what string, err error) {
	var (
		refused *safety.RefusedError
		watch   *host.ObserveError
	)
	switch {
	case errors.As(err, &watch):
		// nothing was sent to the host, whatever the error around it says
		addRefusal(diags, what, finding.HostObserved.Find("Host %s", watch.Host))
	case errors.As(err, &refused) && !toldOtherwise(err, refused):
		for _, f := range refused.Blockers() {
			addRefusal(diags, refused.What, f)
		}
		for _, other := range beside(err, refused) {
			AddError(diags, what, other)
		}
	case err != nil:
		diags.AddError(title(what, err), Detail(err))
	}
}

// toldOtherwise reports whether an error around a refusal says more than the refusal:
// that something was done before.
func toldOtherwise(err error, refused *safety.RefusedError) bool {
	var own explainer
	if !errors.As(err, &own) {
		return false
	}
	around, ok := own.(error)
	return ok && errors.Is(around, refused)
}

// beside gives the errors that are joined to a refusal, which does not speak of them.
func beside(err error, refused *safety.RefusedError) (others []error) {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return nil
	}
	for _, one := range joined.Unwrap() {
		if errors.Is(one, refused) {
			others = append(others, beside(one, refused)...)
		} else {
			others = append(others, one)
		}
	}
	return others
}

// title is "Unable to <what>", unless the error knows that this is not what happened:
// a burn that goes on did not fail.
func title(what string, err error) string {
	var own interface{ Title() string }
	if errors.As(err, &own) && own.Title() != "" {
		return own.Title()
	}
	return "Unable to " + what
}

// AddErrorAt is AddError for an attribute, so that Terraform shows the line.
func AddErrorAt(diags *diag.Diagnostics, at path.Path, what string, err error) {
	if err != nil {
		diags.AddAttributeError(at, "Unable to "+what, Detail(err))
	}
}

// explainer is implemented by errors that bring the paragraphs of a detail.
type explainer interface {
	// Explain says what happened, what it means and what to check.
	Explain() string
}

// Detail says what happened, what it means and what to check, then gives the
// facts under labels.
func Detail(err error) string {
	text, facts := describe(err)
	if len(facts) == 0 {
		return text
	}
	return text + "\n\n" + strings.Join(facts, "\n")
}

// Reason gives the facts of an error under labels, for a finding that says itself what the
// error means.
func Reason(err error) string {
	text, facts := describe(err)
	if len(facts) == 0 {
		return text
	}
	return strings.Join(facts, "\n")
}

func describe(err error) (string, []string) {
	var (
		exit   *host.ExitError
		lost   *host.UnreachableError
		output *host.OutputError
		priv   *host.PrivilegeError
		move   *host.TransferError
		watch  *host.ObserveError
		exp    explainer
	)
	switch {
	case errors.As(err, &exp):
		return describeOwn(err, exp)
	case errors.As(err, &lost):
		return describeLost(err, lost)
	case errors.As(err, &output):
		return describeOutput(err, output)
	case errors.As(err, &priv):
		return describePrivilege(priv)
	case errors.As(err, &move):
		return describeTransfer(err, move)
	case errors.As(err, &exit): // of a transfer it is the script that moves the file
		return describeExit(err, exit)
	case errors.As(err, &watch):
		return "The host is in observe mode (mode = \"observe\" in the provider's hosts map), so nothing may change it. " +
				"Nothing was changed.\n\nSet mode = \"manage\" for this host if Terraform is to change it.",
			facts("Host", watch.Host, "Command", watch.Command)
	}
	return describeOther(err)
}

// describeOwn describes an error that brings its paragraphs, or some that follow on its cause.
func describeOwn(err error, own explainer) (string, []string) {
	adds, ok := own.(*explain.Failure)
	if !ok || adds.What != "" || adds.Err == nil {
		return own.Explain(), nil
	}
	text, f := describe(adds.Err)
	return strings.Join(append([]string{prefix(err, adds) + text}, adds.Follows()...), "\n\n"), f
}

func describeOther(err error) (string, []string) {
	var (
		unsupported *platform.UnsupportedError
		noPlatform  *platform.UnknownError
	)
	switch {
	case errors.As(err, &unsupported):
		return Sentence(unsupported.Error()), facts("Host", unsupported.Host)
	case errors.As(err, &noPlatform):
		return Sentence(noPlatform.Error()), facts("Host", noPlatform.Host)
	case errors.Is(err, context.DeadlineExceeded):
		return "The time-out of this operation has passed. " + Sentence(err.Error()) +
			"\n\nThe host may be slow, or it hangs. The next plan shows what was done.", nil
	case errors.Is(err, context.Canceled):
		return "The run was interrupted. " + Sentence(err.Error()) + "\n\nThe next plan shows what was done.", nil
	}
	return Sentence(err.Error()), nil
}

func describeExit(err error, e *host.ExitError) (string, []string) {
	text := prefix(err, e) + "A command ran on the host and failed."
	f := append(ran(e.Host, e.Command), facts("Exit status", strconv.Itoa(e.Status))...)
	if e.Signal != "" {
		f = append(f, "Signal: "+e.Signal)
	}
	stderr := e.Stderr
	if strings.TrimSpace(stderr) == "" {
		return text + " It printed nothing on standard error.", append(f, facts("Stdout", excerpt(e.Stdout))...)
	}
	return text, append(f, facts("Stderr", excerpt(stderr))...)
}

func describeLost(err error, e *host.UnreachableError) (string, []string) {
	text := Lost(e)
	if text == unreached {
		text += " What the state has of it stays."
	}
	if e.Advice != "" {
		text += "\n\n" + Sentence(e.Advice)
	}
	if _, known := lostAt[e.Op]; !known && !e.MayHaveRun {
		text += "\n\nTo plan the other hosts without it, set unreachable = \"keep\" in the provider. " + GoneForGood
	}
	f := facts("Host", e.Host, "Address", e.Address, "Step", e.Op)
	if e.MayHaveRun && !e.Reading {
		// What was to be run over a connection that never was helps nobody.
		f = append(f, facts("Command", e.Command)...)
	}
	if e.Err != nil {
		f = append(f, facts("Error", e.Err.Error())...)
	}
	return prefix(err, e) + text, f
}

// lostAt says what became of the steps that never got to a command.
var lostAt = map[string]string{
	host.OpKey:          "The private key could not be read on this machine. Nothing was offered to the host.",
	host.OpOffer:        "This machine has no key or password that it could offer to the host, so nothing was offered.",
	host.OpVerify:       "The host's key could not be trusted, so no password or command was sent to it.",
	host.OpAuthenticate: "The host answered and refused every key and password that was offered.",
	host.OpUpload:       lostCopy,
	host.OpDownload:     lostCopy,
}

const lostCopy = "The connection broke during the copy of a file. What was at its place before is still there, and " +
	"no card was written. Run the same command again."

// readLost stands also where a read follows a write.
const readLost = "Reading changes nothing; what an earlier step did stays."

const unreached = "The host could not be reached. This step changed nothing; what was done before it holds."

// Lost says what became of a step whose host did not answer.
func Lost(e *host.UnreachableError) string {
	if text, ok := lostAt[e.Op]; ok {
		return text
	}
	switch {
	case e.Limit != "" && e.Reading:
		return "Reading the host did not end within " + e.Limit + ". " + readLost + raise(e.Limit)
	case e.Limit != "" && e.MayHaveRun:
		return "A command on the host did not end within " + e.Limit +
			". It may still run there; the next plan reads what it did." + raise(e.Limit)
	case e.MayHaveRun && e.Reading:
		return "The connection broke while the host was being read. " + readLost + " Run it again."
	case e.MayHaveRun:
		return "The connection was lost while a command ran, so its outcome is not known. The next plan reads it back."
	}
	return unreached
}

// GoneForGood is the way to go on without a host.
const GoneForGood = "If the host is gone for good, take its resources out of the state (terraform state rm " +
	"ADDRESS, or a removed block with lifecycle { destroy = false }), " +
	"and its entry out of the provider's hosts."

// raise names the setting that gives a slow host more time, if there is one.
func raise(limit string) string {
	if name, _, ok := strings.Cut(limit, " = "); ok {
		return " Raise " + name + " if the host is slow."
	}
	return ""
}

func describeOutput(err error, e *host.OutputError) (string, []string) {
	return prefix(err, e) + "The provider did not understand the output of a command, so it draws no conclusion from " +
			"it. Another version of the program, or a wrapper around it, may print something else.\n\n" + Sentence(e.Problem),
		append(ran(e.Host, e.Command), facts("Output", excerpt(e.Output))...)
}

func describePrivilege(e *host.PrivilegeError) (string, []string) {
	text := fmt.Sprintf("The host answered, but the user %s could not become root: %s. The command was not run.", e.User,
		e.Reason)
	if e.Advice != "" {
		text += "\n\n" + Sentence(e.Advice)
	}
	return text, facts("Host", e.Host, "User", e.User, "Stderr", excerpt(e.Stderr))
}

func describeTransfer(err error, e *host.TransferError) (string, []string) {
	text := prefix(err, e) + "The host answered, but a file could not be moved. What was at that path before is still " +
		"there."
	if e.Advice != "" {
		text += "\n\n" + Sentence(e.Advice)
	}
	return text, facts("Host", e.Host, "Step", e.Op, "Path", e.Path, "Error", fmt.Sprint(e.Err))
}

// ran are the facts on a command of a host. A script of ours cannot be typed in: its name
// alone is given.
func ran(hostName, command string) []string {
	if name := host.ScriptName(command); name != "" {
		return facts("Host", hostName, "Script of the provider", name)
	}
	return facts("Host", hostName, "Command", command)
}

// prefix returns what the callers of the transport said before its error, as a
// sentence of its own: "stage the image: ", "staging the image: ", or "netplan does
// not accept the configuration: ".
func prefix(err, inner error) string {
	before, ok := strings.CutSuffix(err.Error(), inner.Error())
	before = strings.TrimRight(before, ": ")
	if !ok || before == "" {
		return ""
	}
	first, rest, _ := strings.Cut(before, " ")
	switch {
	case strings.HasSuffix(before, "."): // is one already
	case strings.HasSuffix(first, "ing"):
		before = "while " + before
	case !strings.HasPrefix(rest, "does not ") && !strings.Contains(rest, " has "):
		before = "while trying to " + before
	}
	return Sentence(before) + " "
}

// facts returns "Label: value" for pairs with a value; a value of several lines
// goes below its label, indented.
func facts(pairs ...string) []string {
	var out []string
	for i := 0; i+1 < len(pairs); i += 2 {
		label, value := pairs[i], strings.TrimSpace(pairs[i+1])
		switch {
		case value == "":
		case strings.Contains(value, "\n"):
			out = append(out, label+":\n    "+strings.ReplaceAll(value, "\n", "\n    "))
		default:
			out = append(out, label+": "+value)
		}
	}
	return out
}

// excerpt returns at most the last 20 lines of text and says what was left out, also
// of lines that are very long.
func excerpt(text string) string {
	const most, widest = 20, 1000
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if i >= len(lines)-most && len(line) > widest {
			lines[i] = fmt.Sprintf("%s… (%d bytes more)", line[:widest], len(line)-widest)
		}
	}
	if len(lines) <= most {
		return strings.Join(lines, "\n")
	}
	return fmt.Sprintf("(%d lines before)\n%s", len(lines)-most, strings.Join(lines[len(lines)-most:], "\n"))
}

// Sentence returns text with a capital first letter and a final period.
func Sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	// Tool, file and host names keep their case; only plain lower-case words of
	// ours are raised.
	first, _, _ := strings.Cut(text, " ")
	if strings.Trim(first, "abcdefghijklmnopqrstuvwxyz,") == "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") ||
		strings.HasSuffix(text, ":") {
		return text
	}
	return text + "."
}

// slowSudo is what a sudo takes that waits for a server which does not answer.
const slowSudo = 5 * time.Second

// WarnSlowSudo names a sudo that makes every command on a host slow.
func WarnSlowSudo(diags *diag.Diagnostics, s *inventory.Snapshot) {
	if s == nil || s.Sudo < slowSudo {
		return
	}
	diags.AddWarning("Host "+s.Host+" is slow: its sudo took longer than "+slowSudo.String(), fmt.Sprintf(
		"sudo took %s before it started a command. It does so for every command. The provider and the card are not slow.\n\n"+
			"Usual causes: /etc/hosts on the host does not name the host itself; a DNS or LDAP server does not answer; a PAM "+
			"module in /etc/pam.d/sudo waits. `time sudo -n true` on the host shows it.", s.Sudo.Round(time.Second)))
}

// IsTransport reports whether err says that a host could not be asked, rather
// than what is there.
func IsTransport(err error) bool {
	var (
		exit   *host.ExitError
		lost   *host.UnreachableError
		output *host.OutputError
		priv   *host.PrivilegeError
		move   *host.TransferError
	)
	return errors.As(err, &exit) || errors.As(err, &lost) || errors.As(err, &output) || errors.As(err, &priv) ||
		errors.As(err, &move)
}
