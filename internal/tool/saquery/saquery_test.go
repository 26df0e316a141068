package saquery

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
)

const managers = `SMInfoRecord dump:
		RID
		LID...................1
		SMInfo dump:
		GUID..................0xe41d2d0300e44ed1
		SM_Key................0x0000000000000000
		ActCount..............69
		Priority..............14
		SMState...............3
SMInfoRecord dump:
		RID
		LID...................7
		SMInfo dump:
		GUID..................0x2c902004a1b00
		SM_Key................0x0000000000000000
		ActCount..............2
		Priority..............15
		SMState...............2
`

func TestParseManagers(t *testing.T) {
	got, err := ParseManagers(managers)
	want := []Manager{{1, 0xe41d2d0300e44ed1, 14, 3}, {7, 0x0002c902004a1b00, 15, 2}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"LID....1\n", strings.Replace(managers, "0xe41d2d0300e44ed1", "x", 1),
		strings.Replace(managers, "...14", "...", 1)} {
		if got, err := ParseManagers(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestParseGroups(t *testing.T) {
	got, err := ParseGroups("MCMemberRecord group dump:\n\t\tMGID....................ff12:401b:ffff::ffff:ffff\n\t\tMlid....................0xC000\n" +
		"\t\tMtu.....................0x85\n\t\tpkey....................0xFFFF\n\t\tRate....................0x87\n\t\tSL......................0x0\n")
	if diff := cmp.Diff([]Group{{"ff12:401b:ffff::ffff:ffff", 4096, 7, 0xffff}}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := ParseGroups(""); len(got) > 0 || err != nil {
		t.Errorf("%v, %v of nothing", got, err)
	}
}

func TestCommands(t *testing.T) {
	if got := Managers("mlx4_0", 2); got.String() != "saquery -C mlx4_0 -P 2 SMIR" || got.Changing() || !got.Root() {
		t.Errorf("got %s", got)
	}
	if got := Groups("mlx4_0", 1).String(); got != "saquery -C mlx4_0 -P 1 -g" {
		t.Errorf("got %s", got)
	}
}

func TestReal(t *testing.T) {
	const node, guid = "H-e41d2d0300e44ed0", 0xe41d2d0300e44ed1
	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
	run := func(argv []string) (string, int) {
		argv[2] = "ibsim0" // the only device that ibsim shows
		r := f.Run(node, argv[0], argv[1:]...)
		return r.Stdout + r.Stderr, r.Status
	}
	if out, status := run(Managers("x", 1).Argv()); status == 0 {
		t.Errorf("without a manager: %d %s", status, out)
	}
	f.StartSM(node, ibsimtest.SM{Priority: 7,
		Partitions: "Default=0x7fff, ipoib, mtu=5, rate=7 : ALL=full ;\nb=0x0002, ipoib : ALL=full ;\n"}).Wait("SUBNET UP")
	out, status := run(Managers("x", 1).Argv())
	got, err := ParseManagers(out)
	if len(got) != 1 || got[0] != (Manager{LID: 1, GUID: guid, Priority: 7, State: 3}) || err != nil || status != 0 {
		t.Errorf("%d %v %v\n%s", status, got, err, out)
	}
	out, _ = run(Groups("x", 1).Argv())
	groups, err := ParseGroups(out)
	want := []Group{{"ff12:401b:8002::ffff:ffff", 2048, 3, 0x8002}, {"ff12:401b:ffff::ffff:ffff", 4096, 7, 0xffff}}
	if diff := cmp.Diff(want, groups); diff != "" || err != nil {
		t.Errorf("%v\n%s\n%s", err, diff, out)
	}
}
