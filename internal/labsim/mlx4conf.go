package labsim

import "strings"

// Files of rdma-core on the RHEL family: the port types of mlx4 cards, and the
// script that the module's install line runs right after loading.
const (
	MLX4Conf  = "/etc/rdma/mlx4.conf"
	MLX4Setup = "/usr/libexec/mlx4-setup.sh"
)

// mlx4Setup is mlx4-setup.sh for one card: a line "ADDRESS TYPE [TYPE]" is written
// to the driver, Ethernet on port 2 first. In the initramfs it reads the copy there.
func (m *Machine) mlx4Setup(c *Card) {
	if !c.Config.Model.Switchable || !m.FS.Exists(MLX4Setup) {
		return
	}
	data, _ := m.FS.ReadFile(MLX4Conf)
	text := string(data)
	m.mu.Lock()
	if m.early {
		text = m.initramfs[MLX4Conf]
	}
	m.mu.Unlock()
	for _, line := range strings.Split(text, "\n") {
		// The shell reads everything behind the first type into the second.
		f := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if f[0] != c.Config.BDF || len(f) < 2 || len(c.Ports) > 1 && len(f) < 3 {
			continue
		}
		if len(c.Ports) == 1 {
			_ = m.writePortType(c, 1, f[1]+"\n")
			continue
		}
		if f[1] == LinkETH && f[2] != LinkETH {
			continue // "In order for port1 to be eth, port2 to must also be eth"
		}
		_ = m.writePortType(c, 2, f[2]+"\n")
		_ = m.writePortType(c, 1, f[1]+"\n")
	}
}
