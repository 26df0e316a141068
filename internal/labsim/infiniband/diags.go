package infiniband

import "github.com/ibfabric/terraform-provider-infiniband/internal/labsim"

// InstallDiags installs infiniband-diags.
func InstallDiags(m *labsim.Machine) {
	for name, program := range map[string]labsim.Program{
		"ibstat": ibstat, "sminfo": sminfo, "saquery": saquery, "ibhosts": ibhosts, "ibswitches": ibswitches,
		"ibnodes": ibnodes, "ibnetdiscover": ibnetdiscover,
		"iblinkinfo": iblinkinfo, "ibqueryerrors": ibqueryerrors, "smpquery": smpquery, "vendstat": vendstat, "perfquery": perfquery, "ibportstate": ibportstate,
	} {
		m.Install("/usr/sbin/"+name, program)
	}
}
