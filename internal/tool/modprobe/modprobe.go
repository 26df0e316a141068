// Package modprobe builds the commands that load kernel modules, and reads and
// writes the files that say what is loaded at boot and with which options.
//
// It must not run anything.
package modprobe

import (
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

const initramfsTimeout = 10 * time.Minute

// Load loads a module with what it depends on. A module that is loaded already is no
// error.
func Load(module string) shellcmd.Command {
	return shellcmd.New("modprobe", "--", module).AsRoot().Changes()
}

// NotFound reports whether modprobe failed because the running kernel has no
// such module (kmod 30 and later).
func NotFound(stderr string) bool { return strings.Contains(stderr, "not found in directory") }

// UpdateInitramfs rebuilds the initial RAM disks of all installed kernels
// (initramfs-tools).
func UpdateInitramfs() shellcmd.Command {
	return shellcmd.New("update-initramfs", "-u", "-k", "all").AsRoot().Changes().WithTimeout(initramfsTimeout)
}

// Dracut rebuilds the initial RAM disks of all installed kernels (dracut).
func Dracut() shellcmd.Command {
	return shellcmd.New("dracut", "--force", "--regenerate-all").AsRoot().Changes().WithTimeout(initramfsTimeout)
}

// Mkinitcpio rebuilds the initial RAM disks of all presets (mkinitcpio).
func Mkinitcpio() shellcmd.Command {
	return shellcmd.New("mkinitcpio", "-P").AsRoot().Changes().WithTimeout(initramfsTimeout)
}

// MarkRebuild makes an empty file, and brings it to the disk.
func MarkRebuild(mark string) shellcmd.Command {
	return shellcmd.Script("mark-rebuild", markScript, mark).AsRoot().Changes()
}

const markScript = `# $1 path
umask 022
mkdir -p "${1%/*}" && : >"$1" && sync "$1" "${1%/*}"
`

// ParseLoadList reads a file of modules-load.d(5).
func ParseLoadList(text string) []string {
	var modules []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") {
			modules = append(modules, line)
		}
	}
	return modules
}
