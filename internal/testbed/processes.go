//go:build testbed && linux

package testbed

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// proc is one process.
type proc struct {
	pid, parent int
	name        string
}

// below reports whether a process is another or stems from it.
func (p proc) below(ancestor int) bool {
	for pid := p.pid; pid > 1; {
		if pid == ancestor {
			return true
		}
		q, ok := readProc(pid)
		if !ok {
			return false
		}
		pid = q.parent
	}
	return false
}

func readProc(pid int) (proc, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{}, false
	}
	// The name is in parentheses and may hold any character.
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return proc{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 2 {
		return proc{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	return proc{pid: pid, parent: parent, name: string(text[open+1 : end])}, err == nil
}

// processes lists those of the sandbox.
func processes() []proc {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []proc
	for _, n := range names {
		if pid, err := strconv.Atoi(n.Name()); err == nil {
			if p, ok := readProc(pid); ok {
				list = append(list, p)
			}
		}
	}
	return list
}

func children(parent int) []int {
	var list []int
	for _, p := range processes() {
		if p.parent == parent {
			list = append(list, p.pid)
		}
	}
	return list
}
