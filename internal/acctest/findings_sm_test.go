package acctest

import (
	"fmt"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// everybody is the default partition as it is without a file.
var everybody = map[string]any{"ipoib": true, "full": []any{"ALL"}}

// smWithPartitions is a subnet manager with partitions.
func smWithPartitions(partitions map[string]any) func(*Lab) Config {
	return func(*Lab) Config { return sm(labs.Intel9, map[string]any{"partitions": partitions}) }
}

// partitionFindings are those of partitions, keys and files.
func partitionFindings() []findingCase {
	const ubuntu = labs.Intel9
	const edited = "# Managed by Terraform (ibfabric/infiniband). Written by infiniband_opensm.\n"
	one, two := portGUID(ubuntu, 1), portGUID(ubuntu, 2)
	files := func(code, path, text, at string, says ...string) findingCase {
		return findingCase{code: code, at: at, says: says, config: func(*Lab) Config { return sm(ubuntu, nil) },
			prepare: func(w *Lab) {
				drivers(w)
				w.Put(ubuntu, path, text)
			}}
	}
	lint := func(code string, partitions map[string]any, says ...string) findingCase {
		return findingCase{code: code, at: "partitions", says: says, prepare: drivers, config: smWithPartitions(partitions)}
	}
	return []findingCase{
		lint("SM013", map[string]any{"storage": map[string]any{"pkey": "0x0001", "full": []any{"ALL"}}},
			"partitions has storage", `full = ["ALL"]`),
		lint("SM014", map[string]any{"Default": map[string]any{"full": []any{"ALL"}}}, "no ipoib = true"),
		lint("SM015", map[string]any{"Default": everybody, "a": map[string]any{"pkey": "0x0001", "full": []any{"ALL"}},
			"b": map[string]any{"pkey": "0x8001", "full": []any{one}}},
			`"a" and "b" have the P_Key 0x8001`),
		lint("SM016", map[string]any{"Default": everybody,
			"a": map[string]any{"pkey": "0x0001", "ipoib": true, "rate_gbps": 400, "full": []any{one}}},
			one, "Gb/s, the group 400"),
		files("SM021", "/etc/opensm/opensm.conf", "sm_priority 3\n", "host", "sets sm_priority"),
		files("SM022", "/etc/opensm/opensm.conf", "m_key 0x1234\n", "host",
			"/etc/opensm/opensm.conf of intel9 sets m_key", "options of its own, without it"),
		files("HO034", smConf, edited+"qos TRUE\n# sm_key 0x1234\n", "",
			smConf+" also has: qos TRUE; # sm_key (value not shown)", "be kept as /etc/opensm/."),
		files("HO035", smConf, "sm_priority 3\n", "", smConf+" of intel9", "move the file away"),
		files("SM035", "/etc/default/opensm", "PORTS="+two+"\n", "",
			"On intel9 opensm@"+two+".service starts when the package is installed, and at boot."),
		files("SM024", "/etc/opensm/partitions.conf", "broken ;\n", "partitions", "/etc/opensm/partitions.conf",
			"ignores the whole file"),
		{code: "SM033", says: []string{"/etc/systemd/system/opensm@" + one + ".service.d/zz.conf of intel9 has: ExecStart=/usr/sbin/opensm -p 1"},
			prepare: func(w *Lab) {
				drivers(w)
				w.Put(ubuntu, "/etc/systemd/system/opensm@"+one+".service.d/zz.conf",
					"[Service]\nExecStart=\nExecStart=/usr/sbin/opensm -p 1 --guid %I\n")
			}, config: func(*Lab) Config { return sm(ubuntu, nil) }},
		{code: "SM032", says: []string{"opensm@" + one + ".service of intel9", "systemctl unmask opensm@" + one + ".service"},
			config: func(*Lab) Config { return sm(ubuntu, nil) }, prepare: func(w *Lab) {
				drivers(w)
				w.Run(ubuntu, "systemctl mask opensm@"+one+".service")
			}},
		{code: "SM040", at: "keys", prepare: drivers, says: []string{"The keys of " + two + " on intel9 differ from those of " + one},
			config: func(*Lab) Config {
				second := sm(ubuntu, withKeys(2, nil))[0].With(map[string]any{"port_guid": two, "priority": 3})
				second.Name = "second"
				return append(sm(ubuntu, withKeys(1, nil)), second)
			}},
		{code: "SM042", at: "m_key_protection_level", prepare: drivers, says: []string{"m_key_protection_level is 3"}, config: func(*Lab) Config {
			return sm(ubuntu, withKeys(1, map[string]any{"m_key_protection_level": 3}))
		}},
		{code: "SM043", at: "m_key_lease_period", prepare: drivers, says: []string{"m_key_protection_level is 1, without"},
			config: func(*Lab) Config { return sm(ubuntu, withKeys(1, map[string]any{"m_key_lease_period": nil})) }},
		{code: "SM023", at: "partitions", says: []string{two}, prepare: drivers, config: func(*Lab) Config {
			second := sm(ubuntu, map[string]any{"port_guid": two, "priority": 3,
				"partitions": map[string]any{"Default": everybody}})[0]
			second.Name = "second"
			return append(sm(ubuntu, nil), second)
		}},
	}
}

// smWithPrefix is a subnet manager with a prefix of its own on a host's first port.
func smWithPrefix(w *Lab) Config {
	guid := fmt.Sprintf("0x%016x", w.Card(labs.Intel9).Ports[0].View().GUID)
	return sm(labs.Intel9, map[string]any{"port_guid": guid, "subnet_prefix": "0xfec0000000000006"})
}

// drivers5 loads what drivers loads on a host with a ConnectX-4.
func drivers5(w *Lab) { w.Run(labs.Intel9, "modprobe mlx5_ib && modprobe ib_umad") }

// fabricFindings are those that the fabric or another host knows.
func fabricFindings() []findingCase {
	const ubuntu, nas = labs.Intel9, labs.Xeon2zfs
	plain := func(*Lab) Config { return sm(ubuntu, nil) }
	with := func(change func(ubuntu, nas *labs.Host)) func() []labs.Host {
		return func() []labs.Host {
			hosts := vpi()
			change(&hosts[0], &hosts[1])
			return hosts
		}
	}
	byHand := func(w *Lab) {
		drivers(w)
		w.Install(ubuntu, "infiniband-diags")
		w.Manage(nas, 9)
	}
	rails := func(p map[string]any) { p["fabrics"] = map[string]any{"a": []any{ubuntu}, "b": []any{nas}} }
	return []findingCase{
		{code: "SM038", at: "port_guid", provider: rails, config: plain, prepare: byHand,
			says: []string{portGUID(ubuntu, 1) + " (fabric a)", portGUID(nas, 1) + ", which the configuration puts on fabric b"}},
		{code: "SM018", at: "priority",
			says: []string{portGUID(nas, 1), "xeon2zfs 0000:04:00.0 port 1",
				"priority 9 and is master"}, config: plain, prepare: byHand},
		{code: "SM018", at: "priority", says: []string{portGUID(nas, 1), "priority 9 and is master", "the other one rules"},
			config: plain, prepare: byHand,
			provider: func(p map[string]any) {
				if hosts, ok := p["hosts"].(map[string]any); ok {
					delete(hosts, nas)
				}
			}},
		{code: "SM028", only: "a program that fails", at: "priority",
			says: []string{"sminfo ended with status 255", "Run sminfo and saquery SMIR"}, config: plain, prepare: func(w *Lab) {
				byHand(w)
				w.Machine(ubuntu).Faults.Trap("sminfo", 0, labsim.ProgramFault{Exit: true, Status: 255})
			}},
		{code: "SM019", at: "port_guid", says: []string{portGUID(ubuntu, 1), "intel9 0000:01:00.0 port 1 and on xeon2zfs"},
			prepare: drivers, config: plain,
			hosts: with(func(ubuntu, nas *labs.Host) { nas.Cards[0].GUIDs = ubuntu.Cards[0].GUIDs })},
		{code: "SM020", at: "port_guid", says: []string{"opensm@" + portGUID(ubuntu, 1) + ".service does not run"},
			config: plain, prepare: func(w *Lab) {
				drivers(w)
				w.Manage(ubuntu, 1)
			}},
	}
}

// A subnet manager that is masked while it runs goes on until the next boot. The plan says so
// at once, also of an instance that systemd has forgotten since.
func TestSM_masked(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws, cfg := w.Workspace(), sm(labs.Intel9, nil)
	mustApply(t, ws, cfg)
	unit := "opensm@" + portGUID(labs.Intel9, 1) + ".service"
	for _, then := range []string{"", "; systemctl stop " + unit} {
		w.Run(labs.Intel9, "systemctl mask "+unit+then)
		plan := cleanPlan(t, ws, cfg)
		if len(plan.Diags.Warnings().Find("SM032", "The apply refuses", "systemctl unmask "+unit)) != 1 {
			t.Errorf("masked%s:\n%s", then, plan.Diags)
		}
		diags, err := ws.Apply(t.Context(), plan)
		if err != nil || len(diags.Errors().Find("SM032", "systemctl unmask "+unit)) != 1 {
			t.Errorf("the apply, masked%s: %v\n%s", then, err, diags)
		}
		w.Run(labs.Intel9, "systemctl unmask "+unit)
		mustApply(t, ws, cfg)
		emptyPlan(t, ws, cfg)
	}
}
