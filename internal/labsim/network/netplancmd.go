package network

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

const exitConfig = 78 // os.EX_CONFIG

// netplan knows generate, apply and get. try is not simulated: a lost SSH
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
	case p.Args[1] == "get" && len(o.Args) <= 1:
		return s.planGet(p, root, strings.Join(o.Args, ""))
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

// planGet prints one setting, "ethernets.ID.KEY"; null if it is not there.
func (s *State) planGet(p *labsim.Proc, root, key string) int {
	plan, err := s.readPlan(root, s.warnPermissions(p))
	if err != nil {
		p.Errorf("%v\n", err)
		return 1
	}
	parts := strings.Split(strings.TrimPrefix(key, "network."), ".")
	if len(parts) != 3 || parts[0] != "ethernets" {
		return p.Unknown("netplan get " + key)
	}
	i := plan.ifaces[parts[1]]
	if i == nil {
		p.Printf("null\n")
		return 0
	}
	value := map[string]string{"mtu": strconv.Itoa(i.mtu), "infiniband-mode": strconv.Quote(i.mode), "addresses": ""}
	switch v, known := value[parts[2]]; {
	case !known:
		return p.Unknown("netplan get " + key)
	case parts[2] == "addresses" && len(i.addresses) > 0:
		for _, a := range i.addresses {
			p.Printf("- %q\n", a)
		}
	case v == "0" || v == `""` || v == "":
		p.Printf("null\n")
	default:
		p.Printf("%s\n", v)
	}
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
