package network

import (
	"context"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

const exitConfig = 78 // os.EX_CONFIG

// netplan knows generate and apply. try is not simulated: a lost SSH
// session kills it without reverting, so nobody should rely on it.
func netplan(_ context.Context, p *labsim.Proc) int {
	if len(p.Args) < 2 {
		p.Printf("You need to specify a command\n")
		return 1
	}
	o, bad := labsim.ParseArgs(p.Args[2:], false, "root-dir=")
	if bad != "" {
		return p.Unknown("option " + bad)
	}
	s := Of(p.Machine)
	root := strings.TrimSuffix(o.Or("root-dir", ""), "/")
	switch {
	case p.UID != 0 && root == "":
		p.Errorf("ERROR: cannot run %s as non-root\n", p.Args[1])
		return 1
	case p.Args[1] == "generate" && len(o.Args) == 0:
		return s.planGenerate(p, root, 1)
	case p.Args[1] == "apply" && len(o.Args) == 0 && root == "":
		return s.planApply(p)
	}
	return p.Unknown("netplan " + p.Args[1])
}

// planApply reconfigures every interface that networkd manages, changed or not.
func (s *State) planApply(p *labsim.Proc) int {
	if rc := s.planGenerate(p, "", exitConfig); rc != 0 {
		return rc
	}
	s.networkReload()
	for _, d := range s.m.Netdevs() {
		if s.networkFor(d.Name) != nil {
			s.reconfigure(d.Name)
		}
	}
	return 0
}

func (s *State) warnPermissions(p *labsim.Proc) func(string) {
	return func(file string) {
		p.Errorf("\n** (generate:%d): WARNING **: %s: Permissions for %s are too open. Netplan configuration should NOT be "+
			"accessible by others.\n",
			p.PID, s.m.Lab.Clock.Now().UTC().Format("15:04:05.000"), file)
	}
}

func (s *State) planGenerate(p *labsim.Proc, root string, failure int) int {
	plan, err := s.readPlan(root, s.warnPermissions(p))
	if err != nil {
		p.Errorf("%v\n", err)
		return failure
	}
	s.render(root, plan)
	return 0
}

// seedNetplan writes the file that the installer left: the management interface
// with its static address.
func (s *State) seedNetplan(renderer string) {
	var b strings.Builder
	b.WriteString("network:\n  version: 2\n")
	if renderer != "" {
		b.WriteString("  renderer: " + renderer + "\n")
	}
	b.WriteString("  ethernets:\n")
	n := 0
	for _, d := range s.m.Config.Netdevs {
		if d.Type != labsim.TypeEthernet {
			continue
		}
		n++
		fmt.Fprintf(&b, "    %s:\n      dhcp4: true\n", d.Name)
	}
	if n > 0 {
		s.m.FS.Put("/etc/netplan/50-cloud-init.yaml", b.String(), 0o600)
	}
}
