package infiniband

import (
	"cmp"
	"context"
	"slices"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// saquery asks the master's subnet administrator for its managers or groups.
func saquery(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "C Ca=", "P Port=", "g")
	groups := o.Has("g")
	if bad != "" || groups == (len(o.Args) == 1) || !groups && o.Args[0] != "SMIR" {
		return p.Unknown("form of saquery " + bad)
	}
	s := stateOf(p.Machine)
	port := s.madPort(o)
	// The real one does not tell a port that cannot be opened from a fabric without a manager,
	// and names neither as given. Only what the system has said last differs.
	if p.UID != 0 || !s.m.FS.Exists(umadFile) || o.Has("C") && !hasHCA(s.hcas(), o.Or("C", "")) {
		return noAdministrator(p, o, "No such file or directory")
	}
	if port == nil {
		return noAdministrator(p, o, "Success")
	}
	managers := s.m.Lab.SubnetManagers(port)
	slices.SortStableFunc(managers, func(a, b labsim.SMView) int { return cmp.Compare(b.State, a.State) })
	if len(managers) == 0 || managers[0].State != labsim.SMMaster {
		if port.View().SMLID != 0 { // it asks there, and nobody answers
			p.Errorf("Query SA failed: Connection timed out\n")
			return int(syscall.ETIMEDOUT)
		}
		return noAdministrator(p, o, "Success")
	}
	if groups {
		for _, g := range s.m.Lab.MasterGroups(port) {
			p.Printf("MCMemberRecord group "+
				"dump:\n\t\tMGID....................ff12:401b:%x::ffff:ffff\n\t\tMlid....................0x%X\n"+
				"\t\tMtu.....................0x%X\n\t\tpkey....................0x%X\n\t\tRate....................0x%X\n\t\tSL......................0x0\n",
				g.Key|0x8000, g.MLID, 0x80|mtuCode(g.MTU), g.Key|0x8000, 0x80|g.Rate)
		}
		return 0
	}
	count := int(s.m.Lab.Clock.Now().Sub(s.m.BootTime()).Seconds()) + 1
	for _, m := range managers {
		p.Printf("SMInfoRecord dump:\n\t\tRID\n\t\tLID...................%d\n\t\tSMInfo "+
			"dump:\n\t\tGUID..................0x%016x\n"+
			"\t\tSM_Key................0x0000000000000000\n\t\tActCount..............%d\n\t\tPriority..............%d\n\t\tSMState...............%d\n",
			m.LID, m.GUID, count, m.Priority, m.State)
	}
	return 0
}

func noAdministrator(p *labsim.Proc, o *labsim.Flags, last string) int {
	port := ":" + o.Or("P", "0")
	if !o.Has("C") {
		port = "(null)" + port
	}
	p.Errorf("ibwarn: [%d] sa_get_handle: No SM/SA found on port %s\nibpanic: [%d] main: Failed to bind to the SA: %s\n",
		p.PID, port, p.PID, last)
	return 255
}

func mtuCode(mtu int) int {
	for code, bytes := range []int{0, 256, 512, 1024, 2048, 4096} {
		if bytes == mtu {
			return code
		}
	}
	return 0
}
