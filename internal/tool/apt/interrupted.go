package apt

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// Interrupted reports whether apt-get refuses to work because of the journal of a dpkg
// that a power cut or a kill has ended.
func Interrupted(stderr string) bool { return strings.Contains(stderr, "dpkg was interrupted") }

// Halfway is a package that is not completely installed.
type Halfway struct {
	Name string
	// New says that no version of it was ever configured on this host.
	New bool
	// Wanted says that it is not to be removed. dpkg also ends the work on one on hold.
	Wanted bool
	// HalfInstalled says that its files are not all there. dpkg can only unpack it again.
	HalfInstalled bool
	configured    bool
}

// State is the state in the words of dpkg.
func (h Halfway) State() string {
	switch {
	case h.HalfInstalled:
		return "half installed"
	case h.configured:
		return "half configured"
	}
	return "unpacked, not configured"
}

// ListStates lists all packages that dpkg knows, with their states.
func ListStates() shellcmd.Command {
	return shellcmd.New("dpkg-query", "-W", "-f", `${Package}\t${db:Status-Abbrev}\t${Config-Version}\n`)
}

// ParseHalfway returns the packages that are not completely installed. A package that
// only waits for a trigger is complete: any next installation runs the trigger.
func ParseHalfway(out []byte) (all []Halfway) {
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 3 || len(f[1]) < 2 || !strings.Contains("HUF", f[1][1:2]) {
			continue
		}
		all = append(all, Halfway{Name: f[0], New: f[2] == "", Wanted: strings.Contains("ih", f[1][:1]),
			HalfInstalled: f[1][1] == 'H', configured: f[1][1] == 'F'})
	}
	return all
}

// Needed lists what an installation of packages includes: themselves and, each with its
// own, the packages that they depend on.
func Needed(packages ...string) shellcmd.Command {
	args := []string{
		"depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces",
		"--no-enhances", "--",
	}
	return shellcmd.New("apt-cache", append(args, packages...)...)
}

// ParseNeeded returns the names. What a package depends on is indented below it, and
// follows as a line of its own.
func ParseNeeded(out []byte) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimRight(line, "\n"); name != "" && name[0] != ' ' && name[0] != '<' {
			name, _, _ = strings.Cut(name, ":") // the architecture
			names[name] = true
		}
	}
	return names
}

// ConfigureAll ends what an interrupted dpkg has begun. It skips packages that are half
// installed, and exits 1 if another one depends on such a package.
func ConfigureAll() shellcmd.Command {
	return shellcmd.New("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "--force-confold", "--configure", "-a").
		AsRoot().Changes().WithTimeout(installTimeout)
}

// Reinstall unpacks and configures packages anew. Install leaves a half installed package
// as it is, and fails if another one depends on it.
func Reinstall(packages ...string) shellcmd.Command {
	return install(append([]string{"--reinstall", "--"}, packages...)...)
}
