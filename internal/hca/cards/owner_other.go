//go:build !unix

package cards

import "os"

// alive reports whether a process runs: there finding one fails if it does not.
func alive(pid int) bool {
	_, err := os.FindProcess(pid)
	return err == nil
}
