//go:build testbed && linux

package testbed

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// users are the programs that have used a card. A tool writes to the configuration
// space before it reads a register; lspci only reads it, and disturbs nobody.
type users struct {
	mu      sync.Mutex
	seen    map[uint32]string // command line by process
	clashes []string
}

// commandLine is empty for a process that has ended, also if nobody has waited for it.
func commandLine(pid uint32) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}

// usedBy takes down the first access of a process, and which others that use the card
// run at that moment. FUSE gives the number that the process has out here.
func (d *Device) usedBy(pid uint32) {
	u := &d.users
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, known := u.seen[pid]; known {
		return
	}
	command := commandLine(pid)
	for other, line := range u.seen {
		if now := commandLine(other); now != "" && now == line {
			u.clashes = append(u.clashes, fmt.Sprintf("%q began at the card beside %q", command, line))
		}
	}
	if u.seen == nil {
		u.seen = map[uint32]string{}
	}
	u.seen[pid] = command
}

// Users are the command lines of all programs that have used the card, and Clashes
// those that began while another one was at it.
func (d *Device) Users() (all, clashes []string) {
	d.users.mu.Lock()
	defer d.users.mu.Unlock()
	for _, line := range d.users.seen {
		all = append(all, line)
	}
	return all, append([]string{}, d.users.clashes...)
}
