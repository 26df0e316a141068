package job

import (
	"crypto/sha256"
	_ "embed" // the scripts are files so that a shell checker can read them
	"encoding/hex"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
)

// The scripts are constants of POSIX sh; values reach them as positional
// parameters and files only. They use no descriptor above 2 and no trap.
var (
	//go:embed script/job.sh
	jobBody string
	//go:embed script/start.sh
	startScript string
	//go:embed script/look.sh
	lookScript string
	//go:embed script/settle.sh
	settleScript string
	//go:embed script/stop.sh
	stopScript string
)

// jobScript is what a job runs.
var jobScript = cardusers.Functions + jobBody

// startCommand stores a job and starts its unit. A lost answer is harmless: the
// directory tells whether it ran.
func startCommand(e journal.Entry) shellcmd.Command {
	request, argv, answers := e.Text(), lines(e.Argv), answerText(len(e.Answers))
	// The start compares it with what it has stored: a full disk that took half a script must not run the rest.
	sum := sha256.Sum256([]byte(jobScript + request + argv + answers))
	return shellcmd.Script("start-flash-job", startScript,
		inventory.StateDir, e.ID, inventory.JobUnit(e.ID), flock.File, flock.Holder, hex.EncodeToString(sum[:]), jobScript,
		request, argv, answers).AsRoot().Changes()
}

// claim has a look keep a job from beginning that has not begun.
const claim = "claim"

func lookCommand(id string, claims bool) shellcmd.Command {
	args := []string{journal.Dir(id), inventory.JobUnit(id), flock.File, flock.Holder}
	if claims {
		args = append(args, claim)
	}
	cmd := shellcmd.Script("look-at-flash-job", answer.Functions+cardusers.Functions+lookScript, args...).AsRoot()
	if claims {
		return cmd.Changes()
	}
	return cmd
}

// lines ends each word with a line end.
func lines(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, "\n") + "\n"
}

// Just as many as were foreseen. At the end of its input the tool takes each further question as refused.
func answerText(n int) string { return strings.Repeat("y\n", n) }
