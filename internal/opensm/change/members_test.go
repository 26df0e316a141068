package change

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

func TestCompare(t *testing.T) {
	all := []opensm.Partition{
		{Name: "Default", PKey: opensm.DefaultPKey, Members: []opensm.Member{{Port: "ALL", Membership: opensm.Full}}},
		{Name: "storage", PKey: 1, Members: []opensm.Member{{Port: testPort.String(), Membership: opensm.Limited}}},
		{Name: "backup", PKey: 2, Members: []opensm.Member{{Port: "0x1", Membership: opensm.Full}}},
	}
	for _, tt := range []struct {
		name string
		have []uint16
		want string
	}{
		{"as declared", []uint16{0xffff, 0x0001}, ""},
		{"keys of others", []uint16{0xffff, 0x0001, 0x8123}, ""},
		{"the file was dropped", []uint16{0xffff},
			`is declared a limited (0x0001) member of partition "storage" and is none`},
		{"full for limited", []uint16{0xffff, 0x8001},
			`is declared a limited (0x0001) member of partition "storage" and is a full (0x8001) one`},
		{"both for limited", []uint16{0xffff, 0x0001, 0x8001},
			`is declared a limited (0x0001) member of partition "storage" and is a full (0x8001) one`},
		{"limited for full", []uint16{0x7fff, 0x0001},
			`is declared a full (0xffff) member of partition "Default" and is a limited (0x7fff) one`},
		{"a stranger", []uint16{0xffff, 0x0001, 0x0002},
			`is not declared a member of partition "backup" and is a limited (0x0002) one`},
		{"empty", nil, `is declared a full (0xffff) member of partition "Default" and is none|is declared a limited (0x0001) member of partition "storage" and is none`},
	} {
		if got := strings.Join(compare(all, tt.have, testPort, "ALL"), "|"); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// onFabric is a host whose commands run on a node of ibsim.
type onFabric struct {
	host.Host
	f  *ibsimtest.Fabric
	id string
}

func (n onFabric) Name() string { return n.id }

func (n onFabric) Run(_ context.Context, cmd shellcmd.Command) (host.Result, error) {
	frame := shellcmd.NewFrame()
	text, err := shellcmd.Compose(cmd, frame, shellcmd.Elevation{})
	if err != nil {
		return host.Result{}, err
	}
	// The umad library of ibsim makes a directory where a program runs.
	r := n.f.Shell(n.id, strings.Replace(text, "cd /\n", "", 1))
	var out strings.Builder
	scanner := shellcmd.Scanner{Frame: frame, Sink: &out}
	_, err = scanner.Write([]byte(r.Stdout))
	stderr, _ := frame.TrimStderr([]byte(r.Stderr))
	if status, ended := scanner.Ended(); err == nil && (!ended || status != 0) {
		err = &host.ExitError{Host: n.id, Command: cmd.String(), Status: status, Stdout: out.String(), Stderr: string(stderr)}
	}
	return host.Result{Stdout: []byte(out.String()), Stderr: stderr}, err
}

// What real opensm puts into the tables of all ports is compared with what was
// declared: the cases are a file that is in force, one that opensm drops, and one
// that says something else.
func TestReal_members(t *testing.T) {
	const absent = ib.GUID(0xe41d2d03000000aa)
	declared := func(storage ...opensm.Member) opensm.Request {
		return opensm.Request{Host: "a", PortGUID: testPort, Partitions: []opensm.Partition{
			{Name: "Default", PKey: opensm.DefaultPKey, IPoIB: true, SL: -1, Scope: -1,
				Members: []opensm.Member{{Port: "ALL", Membership: opensm.Full}}},
			{Name: "storage", PKey: 1, SL: -1, Scope: -1, Members: storage},
		}}
	}
	a, b := opensm.Member{Port: testPort.String(), Membership: opensm.Full}, opensm.Member{Port: ib.GUID(portB).String(), Membership: opensm.Limited}
	d := declared(a, b, opensm.Member{Port: absent.String(), Membership: opensm.Full})
	for _, tt := range []struct {
		name, file string
		wrong      []string
	}{
		{"in force", tool.PartitionsText("", d.Partitions), nil},
		{"full for limited", tool.PartitionsText("", declared(a, opensm.Member{Port: b.Port, Membership: opensm.Full}).Partitions),
			[]string{`xeon2zfs port 1 (0xe41d2d0300e44f11) is declared a limited (0x0001) member of partition "storage" and is a full (0x8001) one; it has 0xffff, 0x8001`}},
		{"a member left out", tool.PartitionsText("", declared(a).Partitions),
			[]string{`xeon2zfs port 1 (0xe41d2d0300e44f11) is declared a limited (0x0001) member of partition "storage" and is none; it has 0xffff`}},
		{"a file in error", tool.PartitionsText("", d.Partitions) + "broken ;\n",
			[]string{`0xe41d2d0300e44ed1 is declared a full (0x8001) member of partition "storage" and is none; it has 0xffff`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
			f.StartSM(nodeA, ibsimtest.SM{PortGUID: testPort.String(), Partitions: tt.file}).Wait("SUBNET UP")
			o := Options{ProofTimeout: time.Nanosecond,
				Lab: found.Lab{Known: map[ib.GUID]string{portB: "xeon2zfs port 1"}}}.withDefaults()
			wrong, notes, err := provePartitions(t.Context(), onFabric{f: f, id: nodeA}, device{"ibsim0", 1, 1}, d, o)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range wrong {
				got = append(got, m.String())
			}
			if !slices.Equal(got, tt.wrong) {
				t.Errorf("got %q\nwant %q", got, tt.wrong)
			}
			// The walk comes after the master's own port is right.
			if ownRight := tt.name != "a file in error"; ownRight != (len(notes) == 1 &&
				strings.Contains(notes[0], "Not in the fabric") && strings.Contains(notes[0], absent.String())) {
				t.Errorf("notes: %q", notes)
			}
			if len(wrong) == 0 {
				return
			}
			if cause := findCause(initialize(func(s *Symptoms) { s.Wrong = wrong })); cause.Kind != CausePKey ||
				!strings.Contains(cause.What, tt.wrong[0]) {
				t.Errorf("%+v", cause)
			}
		})
	}
}
