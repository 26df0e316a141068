//go:build testbed && linux

package testbed

import (
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// runName names this process in the cgroups of the machine.
var runName = sync.OnceValue(func() string { return "testbed-" + rand.Text()[:8] })

// enterCgroups puts the program that follows into control groups of its own.
// Without them systemd-nspawn puts every container that one process starts into
// the same one, called "payload", as all of them that the machine runs: the
// systemd of one host then meets the units of another, of which it removes the
// groups while they start ("/run/nologin" stays then) and cannot signal the
// processes ("Input/output error").
//
// Another run may sweep a group away before anybody is in it.
const enterCgroups = `for d in $TESTBED_CGROUPS; do
	for try in 1 2 3 4 5; do
		mkdir -p "$d" && echo $$ >"$d/cgroup.procs" && continue 2
	done
	exit 1
done
exec systemd-nspawn "$@"`

// cgroups are the directories of a host's groups, in the hierarchies that systemd
// uses: that of version 2, and, where version 1 has the resources, its own.
func cgroups(host string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		var at string
		switch {
		case fields[1] == "name=systemd":
			at = "/sys/fs/cgroup/systemd"
		case fields[0] == "0":
			at = "/sys/fs/cgroup"
			if _, err := os.Stat(at + "/unified"); err == nil {
				at += "/unified"
			}
		default:
			continue
		}
		if _, err := os.Stat(filepath.Join(at, fields[2], "cgroup.procs")); err == nil {
			list = append(list, filepath.Join(at, fields[2], runName()+"-"+host))
		}
	}
	return list, nil
}

// sweepCgroups takes away what the hosts of a name, and runs that were killed, have
// left. What cannot be removed is in use, or the next run's to sweep.
func sweepCgroups(host string) {
	list, err := cgroups(host)
	if err != nil {
		return
	}
	for _, mine := range list {
		others, _ := filepath.Glob(filepath.Join(filepath.Dir(mine), "testbed-*"))
		for _, d := range others {
			if d == mine || !strings.HasPrefix(filepath.Base(d), runName()) {
				removeCgroup(d)
			}
		}
	}
}

// removeCgroup removes a group and those below it, unless one holds a process: a
// host that runs has empty ones, too.
func removeCgroup(at string) {
	var dirs []string
	err := filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		dirs = append(dirs, path)
		processes, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err == nil && len(processes) > 0 {
			err = fs.ErrExist
		}
		return err
	})
	if err != nil {
		return
	}
	for _, d := range slices.Backward(dirs) {
		_ = os.Remove(d)
	}
}
