package labsim

import (
	"fmt"
	"strconv"
)

// publishSensors makes the temperatures of a card, which mlx5_core shows since Linux 6.7: one of the
// chip, and one of the module in its cage if that tells one.
func (m *Machine) publishSensors(c *Card) {
	major, minor := 0, 0
	_, _ = fmt.Sscanf(m.Kernel, "%d.%d", &major, &minor)
	if c.Config.Model.Driver != "mlx5_core" || major < 6 || major == 6 && minor < 7 {
		return
	}
	dir := c.dir() + "/hwmon/hwmon2"
	m.FS.PutDynamic(dir+"/name", 0o444, text("mlx5"), nil)
	sensors := []string{"asic", "Module0"}
	for i, celsius := range c.Config.Temperatures {
		sensor := fmt.Sprintf("%s/temp%d", dir, i+1)
		m.FS.PutDynamic(sensor+"_input", 0o444, text(strconv.Itoa(celsius*1000)), nil)
		m.FS.PutDynamic(sensor+"_label", 0o444, text(sensors[i]), nil)
	}
}
