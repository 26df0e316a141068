//go:build linux

package machine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/netstack"
)

const (
	homeOfUser = "/home/" + User
	hostKey    = "ssh_host_ed25519_key"
)

// identity is the files that make a machine one of its own: its name, its machine-id and
// its host key, and who may log in.
func (m *Machine) identity(ctx context.Context) (map[string]netstack.File, error) {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	if err := run(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", m.Name, "-f", m.path(hostKey)); err != nil {
		return nil, err
	}
	private, err := os.ReadFile(m.path(hostKey))
	if err != nil {
		return nil, err
	}
	public, err := os.ReadFile(m.path(hostKey + ".pub"))
	if err != nil {
		return nil, err
	}
	return map[string]netstack.File{
		"/etc/machine-id":                    {Text: hex.EncodeToString(id) + "\n", Mode: 0o444},
		"/etc/hostname":                      {Text: m.Name + "\n", Mode: 0o644},
		"/etc/hosts":                         {Text: "127.0.0.1 localhost\n127.0.1.1 " + m.Name + "\n", Mode: 0o644},
		"/etc/ssh/" + hostKey:                {Text: string(private), Mode: 0o600},
		"/etc/ssh/" + hostKey + ".pub":       {Text: string(public), Mode: 0o644},
		homeOfUser + "/.ssh/authorized_keys": {Text: m.Operator + "\n", Mode: 0o600},
	}, nil
}

// writeFiles writes files and links into the disk of a machine that is off, without
// mounting it.
func (m *Machine) writeFiles(ctx context.Context, files map[string]netstack.File, links map[string]string) error {
	script := []string{"mkdir " + homeOfUser + "/.ssh", "set_inode_field " + homeOfUser + "/.ssh mode 040700"}
	for i, to := range slices.Sorted(maps.Keys(files)) {
		from := m.path("file" + strconv.Itoa(i))
		if err := os.WriteFile(from, []byte(files[to].Text), 0o600); err != nil {
			return err
		}
		script = append(script, "rm "+to, "write "+from+" "+to, fmt.Sprintf("set_inode_field %s mode 0100%o", to, files[to].Mode))
	}
	for at, target := range links {
		script = append(script, "rm "+at, "symlink "+at+" "+target)
	}
	for _, p := range []string{homeOfUser + "/.ssh", homeOfUser + "/.ssh/authorized_keys"} {
		script = append(script, "set_inode_field "+p+" uid 1000", "set_inode_field "+p+" gid 1000")
	}
	cmd := exec.CommandContext(ctx, "debugfs", "-w", "-f", "-", m.disk()) //nolint:gosec // a path of ours
	cmd.Stdin = strings.NewReader(strings.Join(script, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("write: ")) {
		return fmt.Errorf("debugfs: %w\n%s", cmp.Or(err, errors.New("a file was not written")), out)
	}
	return nil
}

// takeOver is the script that makes a running copy a machine of its own. Who has read a
// file of the identity before is told. The boot id stays that of the original until the copy
// restarts.
func takeOver(c Config, files map[string]netstack.File, now time.Time) string {
	var s strings.Builder
	fmt.Fprintf(&s, "date -u -s @%d.%03d >/dev/null\n", now.Unix(), now.Nanosecond()/1e6)
	s.WriteString("umask 077\nmkdir -p " + homeOfUser + "/.ssh\n")
	for _, to := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&s, "cat >%s <<'END OF FILE'\n%sEND OF FILE\nchmod %o %[1]s\n", to, files[to].Text, files[to].Mode)
	}
	fmt.Fprintf(&s, "chown -R %[1]s:%[1]s %[2]s/.ssh\nhostname %[3]s\n", User, homeOfUser, c.Name)
	s.WriteString("rm -f " + agentUnit + " " + agentLink + "\n")
	s.WriteString("systemctl --no-ask-password restart systemd-journald </dev/null\nkill -HUP $(cat /run/sshd.pid)\n")
	return s.String()
}

// awaitFunctions is the script that waits until the drivers have taken the functions that
// were plugged in: the n-th slot is bus n.
func awaitFunctions(cards [][]string) string {
	var s strings.Builder
	for slot, sockets := range cards {
		for n := range sockets {
			fmt.Fprintf(&s, "until [ -e /sys/bus/pci/devices/0000:%02x:00.%d ]; do sleep 0.1; done\n", slot+1, n)
		}
	}
	// A driver asks for its companions (mlx4_core for mlx4_en) after its own start, and
	// rdma-core has services of systemd load more (ib_ipoib).
	s.WriteString("udevadm settle\nsleep 0.3\nudevadm settle\n" +
		"until [ -z \"$(systemctl list-jobs --no-legend)\" ]; do sleep 0.1; done\nudevadm settle\n")
	return s.String()
}

// The agent is a shell of the original on its second serial line. It waits there when the
// original is kept, and so in every copy, for the script that gives the copy its identity.
// That script removes it. It has no prompts (+i), which would be in its answers.
const (
	agentUnit = "/etc/systemd/system/lab-agent.service"
	agentLink = "/etc/systemd/system/multi-user.target.wants/lab-agent.service"
	agentText = `[Unit]
Description=Gives a copy of this machine an identity
[Service]
ExecStart=/bin/sh -c 'exec </dev/ttyS1 >/dev/ttyS1 2>&1; stty raw -echo; systemctl is-system-running --wait; sync; echo ready; exec sh +i'
`
)

// agentFiles are what the original has beyond any other machine.
func agentFiles() netstack.Choice {
	return netstack.Choice{Files: map[string]netstack.File{agentUnit: {Text: agentText, Mode: 0o644}},
		Links: map[string]string{agentLink: "../" + path.Base(agentUnit)}}
}
