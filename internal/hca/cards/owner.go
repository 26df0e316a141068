package cards

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Owner is the apply that started a job and watches it. Other applies leave the job to
// it while it lives.
type Owner struct {
	Machine string
	Process string // process id and, where known, its start time: ids are used again
}

func thisProcess() Owner {
	machine, err := os.Hostname()
	if err != nil {
		machine = "unknown"
	}
	return Owner{Machine: machine, Process: processName(os.Getpid())}
}

// processName names a process by its id and start time; empty if it does not run. Linux
// gives the state in field 3 of stat, and the start time in field 22, in ticks since boot
// (proc_pid_stat(5)). The name before them may hold blanks and brackets.
func processName(pid int) string {
	id := strconv.Itoa(pid)
	if runtime.GOOS != "linux" {
		if alive(pid) {
			return id
		}
		return ""
	}
	stat, err := os.ReadFile("/proc/" + id + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return id
	}
	// One that was killed in a container stays, as its first process may reap none.
	if fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return id + "@" + fields[19] + "@" + strings.TrimSpace(string(boot))
}

// isAlive reports whether an owner on this machine still runs. Of an owner on another
// machine it knows nothing.
func isAlive(w Owner) bool {
	id, _, _ := strings.Cut(w.Process, "@")
	pid, err := strconv.Atoi(id)
	return err == nil && w.Machine == thisProcess().Machine && processName(pid) == w.Process
}
