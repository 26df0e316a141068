package nmcli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// upTimeout is how long NetworkManager may take to activate a profile.
// A command waits ten seconds longer: nmcli's own end names the cause, a time limit does not.
const upTimeout = 30 * time.Second

// Load has NetworkManager read profiles that were written or changed.
func Load(paths ...string) shellcmd.Command {
	return shellcmd.New("nmcli", append([]string{"connection", "load"}, paths...)...).AsRoot().Changes()
}

// Reload has NetworkManager read all profiles; those whose file is gone are
// forgotten, and their interfaces released.
func Reload() shellcmd.Command {
	return shellcmd.New("nmcli", "connection", "reload").AsRoot().Changes()
}

// Up activates a profile on one interface. NetworkManager takes the interface
// down, writes the mode, and takes it up again.
func Up(uuid, name string) shellcmd.Command {
	return shellcmd.New("nmcli", "--wait", strconv.Itoa(int(upTimeout.Seconds())), "connection", "up", "uuid", uuid,
		"ifname", name).
		AsRoot().Changes().WithTimeout(upTimeout + 10*time.Second)
}

// UpID is Up for a profile that is known by its name.
func UpID(id, name string) shellcmd.Command {
	return shellcmd.New("nmcli", "--wait", strconv.Itoa(int(upTimeout.Seconds())), "connection", "up", "id", id, "ifname",
		name).
		AsRoot().Changes().WithTimeout(upTimeout + 10*time.Second)
}

// UpVirtual activates a profile that makes its own interface, a P_Key child or a bond.
func UpVirtual(uuid string) shellcmd.Command {
	return shellcmd.New("nmcli", "--wait", strconv.Itoa(int(upTimeout.Seconds())), "connection", "up", "uuid", uuid).
		AsRoot().Changes().WithTimeout(upTimeout + 10*time.Second)
}

// The D-Bus service of NetworkManager; nmcli has no command for a checkpoint
// that outlives it.
const (
	service = "org.freedesktop.NetworkManager"
	root    = "/org/freedesktop/NetworkManager"
)

func bus(method, signature string, args ...string) shellcmd.Command {
	argv := append([]string{"call", service, root, service, method, signature}, args...)
	return shellcmd.New("busctl", argv...).AsRoot()
}

// FindDevice asks for the object of an interface.
func FindDevice(name string) shellcmd.Command { return bus("GetDeviceByIpIface", "s", name) }

// deleteNew has a rollback remove profiles that were made after the checkpoint.
const deleteNew = 2

// CreateCheckpoint has NetworkManager itself go back to the present state of a
// device, profiles included, unless the checkpoint is destroyed within timeout.
// The daemon holds it: neither the connection nor this provider has to live.
func CreateCheckpoint(device string, timeout time.Duration) shellcmd.Command {
	// One device, not all (an empty list): a rollback of others would undo what other people do meanwhile.
	return bus("CheckpointCreate", "aouu", "1", device, strconv.Itoa(int(timeout.Seconds())),
		strconv.Itoa(deleteNew)).Changes()
}

// DestroyCheckpoint keeps what was changed since. It fails if NetworkManager has
// gone back already.
func DestroyCheckpoint(checkpoint string) shellcmd.Command {
	return bus("CheckpointDestroy", "o", checkpoint).Changes()
}

// ParseObject reads the answer `o "/org/…/Devices/3"`.
func ParseObject(out string) (string, error) {
	text := strings.TrimSpace(out)
	path, quoted := strings.CutSuffix(strings.TrimPrefix(text, `o "`), `"`)
	// What is not a path must not become an argument of the next call.
	if !quoted || !strings.HasPrefix(path, root+"/") {
		return "", fmt.Errorf("%q is not the path of an object of NetworkManager", text)
	}
	return path, nil
}
