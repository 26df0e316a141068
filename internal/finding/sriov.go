package finding

// Rules of virtual functions.
var (
	VirtualFunctionsUnsupported = &Rule{Code: "VF001", Severity: Refuse, Title: "Virtual functions cannot be kept here",
		Attribute: "card_id",
		Meaning: "Only mlx5_core takes their number while it runs, and only a system that keeps a unit in /etc has them " +
			"after a restart. mlx4_core takes it from its option num_vfs at load.",
		WayOut: "For a ConnectX-3 write `options mlx4_core num_vfs=4` into a file of /etc/modprobe.d by hand, with the same " +
			"number in SRIOV_EN and NUM_OF_VFS. Else take the resource out."}
	VirtualFunctionsTooMany = &Rule{Code: "VF002", Severity: Refuse, Title: "Card offers fewer virtual functions",
		Attribute: "number",
		Meaning: "The card offers what its settings SRIOV_EN and NUM_OF_VFS said at the last start of the host. " +
			"The firmware of the machine must support SR-IOV, too.",
		WayOut: "Set SRIOV_EN = true and NUM_OF_VFS with infiniband_nv_config, and restart the host with it. Then plan " +
			"this resource. Or ask for fewer."}
	VirtualFunctionsInUse = &Rule{Code: "VF003", Severity: NeedsConsent,
		Title:     "Virtual functions in use would be removed or changed",
		Attribute: Allow, Consent: "removed_functions",
		Meaning: "The kernel changes their number only by removing all and making new ones, and a function takes another " +
			"GUID only when it is bound anew. A guest loses its device, an " +
			"interface its addresses and storage its path, until they are set up again.",
		WayOut: "Shut the guests down, or take the interfaces down. If losing them is acceptable, write into the resource:"}
	VirtualPortsUnsupported = &Rule{Code: "VF004", Severity: Refuse, Title: "GUIDs of virtual functions cannot be set",
		Attribute: "link_state",
		Meaning: "The GUIDs and link states of functions on InfiniBand are set and read through the interface that " +
			"ib_ipoib makes for the port of the card.",
		WayOut: "On InfiniBand run `modprobe ib_ipoib` on the host, and see that each boot loads it, as rdma-core does. On " +
			"Ethernet take link_state out."}
)
