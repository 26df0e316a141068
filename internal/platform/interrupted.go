package platform

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/apt"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/pacman"
)

// takeUpDpkg ends what a dpkg has begun that a power cut or a kill has ended. apt-get
// itself installs nothing then.
//
// "dpkg --configure -a" completes every package of the host. So it is run only if each
// one that is not complete is new to the host and part of what this apply installs: that
// is what the plan has announced. An upgrade that was interrupted is the owner's.
func takeUpDpkg(ctx context.Context, h *hosts.Host, packages []string, failed *host.ExitError) (
	first []shellcmd.Command, found bool, err error) {
	r, err := h.Run(ctx, apt.ListStates())
	if err != nil {
		return nil, false, err
	}
	left := apt.ParseHalfway(r.Stdout)
	if len(left) == 0 && !apt.Interrupted(failed.Stderr) {
		return nil, false, nil
	}
	others, err := foreign(ctx, h, packages, left)
	if err != nil {
		return nil, true, err
	}
	if len(others) > 0 {
		return nil, true, interrupted(h.Name(), packages, others, left, failed)
	}
	var again []string
	for _, p := range left {
		if p.HalfInstalled {
			again = append(again, p.Name)
		}
	}
	_, err = h.Run(ctx, apt.ConfigureAll())
	if len(again) > 0 {
		// What depends on a half installed package is configured once that is there.
		if exitOf(err) != nil {
			err = nil
		}
		first = append(first, apt.Reinstall(again...))
	}
	if err != nil {
		return nil, true, fmt.Errorf("ending an interrupted installation of %s: %w", strings.Join(packages, ", "), err)
	}
	return first, true, nil
}

// foreign are the incomplete packages that an installation of packages does not include.
func foreign(ctx context.Context, h *hosts.Host, packages []string, left []apt.Halfway) ([]apt.Halfway, error) {
	if len(left) == 0 {
		return nil, nil
	}
	r, err := h.Run(ctx, apt.Needed(packages...))
	if err != nil {
		return nil, err
	}
	needed := apt.ParseNeeded(r.Stdout)
	var others []apt.Halfway
	for _, p := range left {
		if !needed[p.Name] || !p.New || !p.Wanted {
			others = append(others, p)
		}
	}
	return others, nil
}

// interrupted says that an installation of other packages was interrupted on the host, and that
// nothing can be installed before somebody ends it. all are others and those of installs.
func interrupted(host string, installs []string, others, all []apt.Halfway, err error) error {
	return &explain.Failure{
		What: fmt.Sprintf("An installation, an upgrade or a removal of packages on %s was interrupted, for example by a "+
			"power cut. It has left %s. This apply installs %s and what that needs. It leaves the rest to you. "+
			"Nothing was installed.", host, states(others), strings.Join(installs, ", ")),
		Check: fmt.Sprintf("End the interrupted work on %s, then run apply again:\n    %s", host,
			strings.Join(endHalfway(all), "\n    ")),
		Facts: []explain.Fact{{"Host", host}}, Err: err,
	}
}

// endHalfway are the commands that a person types.
func endHalfway(all []apt.Halfway) []string {
	commands := []string{"sudo dpkg --configure -a"}
	var again, away []string
	for _, p := range all {
		switch {
		case !p.Wanted:
			away = append(away, p.Name)
		case p.HalfInstalled:
			again = append(again, p.Name)
		}
	}
	if len(again) > 0 {
		commands = append(commands, "sudo apt-get install --reinstall "+strings.Join(again, " "))
	}
	if len(away) > 0 {
		commands = append(commands, "sudo dpkg --remove "+strings.Join(away, " "))
	}
	return commands
}

// states names packages, each with its state; of very many it names the first.
func states(all []apt.Halfway) string {
	const most = 10
	var words []string
	for i, p := range all {
		if i == most {
			return fmt.Sprintf("%s and %d more", strings.Join(words, ", "), len(all)-most)
		}
		words = append(words, fmt.Sprintf("%s (%s)", p.Name, p.State()))
	}
	return strings.Join(words, ", ")
}

// pacmanAdvice says what to do about what an interrupted pacman has left, or about lists
// that are old.
func pacmanAdvice(failed *host.ExitError, packages []string) string {
	said := failed.Stdout + failed.Stderr
	switch {
	case pacman.Locked(said):
		return "Is pacman running on the host (pgrep -x pacman)? Then wait until it ends. If it is not, a power cut or a " +
			"kill has ended it and its lock is left: sudo rm /var/lib/pacman/db.lck. Then run apply again."
	case pacman.FilesInTheWay(said):
		return "These files belong to no package. If an installation was interrupted, they are what it has left, and " +
			"pacman may replace them: sudo pacman -S --overwrite '*' " + strings.Join(packages, " ") + ". Then run apply again."
	}
	return "If the package lists are old, upgrade the system first (pacman -Syu): packages are not added to a system " +
		"that is upgraded in part."
}

func exitOf(err error) *host.ExitError {
	var exit *host.ExitError
	errors.As(err, &exit)
	return exit
}
