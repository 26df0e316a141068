package cardprog

import (
	"context"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// devlink is the program of iproute2 for what a driver knows and does of its device: dev info. Its texts are those of
// iproute2 6.1 with mlx5_core and mlxfw of Linux 6.1 (captured with an emulated card).
func devlink(_ context.Context, p *labsim.Proc) int {
	args := p.Args[1:]
	if len(args) < 3 || args[0] != "dev" || !strings.HasPrefix(args[2], "pci/") {
		return p.Unknown("form of devlink")
	}
	c := p.Machine.Card(strings.TrimPrefix(args[2], "pci/"))
	if c == nil || !byMlx5(p, c) {
		return answers(p, "No such device")
	}
	if len(args) == 3 && args[1] == "info" {
		return devlinkInfo(p, c, args[2])
	}
	return p.Unknown("form of devlink")
}

// byMlx5 says whether mlx5_core has the card.
func byMlx5(p *labsim.Proc, c *labsim.Card) bool {
	at, err := p.Machine.FS.RealPath(p.Cred(), "/sys/bus/pci/devices/"+c.Config.BDF+"/driver")
	return err == nil && strings.HasSuffix(at, "/mlx5_core")
}

// answers prints what the kernel has refused.
func answers(p *labsim.Proc, text string) int {
	p.Errorf("kernel answers: %s\n", text)
	return 1
}

// devlinkInfo prints what the firmware says of itself: nothing if it has no such registers, nor after an update that did
// not end well (Linux mlx5_fw_image_pending).
func devlinkInfo(p *labsim.Proc, c *labsim.Card, name string) int {
	u := c.Update()
	if u == nil {
		return answers(p, "Operation not supported")
	}
	if outcome, _ := u.Outcome(); outcome != card.UpdateNever && outcome != card.UpdatePending {
		return answers(p, "No data available")
	}
	running, next := c.Booted(), c.Booted()
	if staged := c.Staged(); staged != nil {
		next = staged
	}
	p.Printf("%s:\n  driver mlx5_core\n  versions:\n      fixed:\n        fw.psid %s\n", name, running.PSID)
	for _, v := range []struct {
		kind string
		of   *card.Image
	}{{"running", running}, {"stored", next}} {
		text := card.VersionText(v.of.Version)
		p.Printf("      %s:\n        fw.version %s\n        fw %s\n", v.kind, text, text)
	}
	return 0
}
