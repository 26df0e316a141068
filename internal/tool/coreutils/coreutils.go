// Package coreutils builds the small commands that every Linux host has: read
// and write a kernel file, make and remove a directory, remove a file.
//
// It must not run anything.
package coreutils

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

const bootIDPath = "/proc/sys/kernel/random/boot_id"

// BootID reads the id that the kernel draws at each boot.
func BootID() shellcmd.Command { return shellcmd.New("cat", bootIDPath) }

// Cat reads files, one after the other, as root.
func Cat(paths ...string) shellcmd.Command {
	return shellcmd.New("cat", append([]string{"--"}, paths...)...).AsRoot()
}

// WriteKernelFile writes a line to a file of sysfs or procfs. tee is used
// because a shell's redirection would run without root, and because it prints
// the kernel's reason for a refusal. The newline is needed: attributes such as
// "mode" of IPoIB and "mlx4_port1" compare it too.
func WriteKernelFile(path, value string) shellcmd.Command {
	return shellcmd.New("tee", "--", path).WithStdin(value + "\n").AsRoot().Changes()
}

// WriteFile replaces the content of a small file. It is not atomic. A file that must be
// replaced atomically is uploaded.
func WriteFile(path, content string) shellcmd.Command {
	return shellcmd.New("tee", "--", path).WithStdin(content).AsRoot().Changes()
}

// Touch makes an empty file, or gives the time of now to one that is there.
func Touch(path string) shellcmd.Command {
	return shellcmd.New("touch", "--", path).AsRoot().Changes()
}

// RemoveFile removes a file if it is there.
func RemoveFile(path string) shellcmd.Command {
	return shellcmd.New("rm", "-f", "--", path).AsRoot().Changes()
}

// RemoveEmptyDirectory removes a directory if nothing is in it.
func RemoveEmptyDirectory(path string) shellcmd.Command {
	return shellcmd.Script("remove-empty-directory", removeEmptyScript, path).AsRoot().Changes()
}

// The exit status of rmdir does not tell a directory that is not empty from one that stays
// for another reason; neither is in the way.
const removeEmptyScript = `# $1 path
rmdir -- "$1" 2>/dev/null || :
`

// UserCommand runs a command line of the user's configuration. Nowhere else is a text
// given to a shell to interpret.
func UserCommand(text string) shellcmd.Command {
	return shellcmd.New("sh", "-c", text).AsRoot().Changes()
}
