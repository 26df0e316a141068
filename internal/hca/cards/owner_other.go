//go:build !unix

package cards

import "os"

// alive reports whether a process runs. On Windows FindProcess fails for one that does
// not.
func alive(pid int) bool {
	_, err := os.FindProcess(pid)
	return err == nil
}
