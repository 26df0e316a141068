package control

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

func serve(t *testing.T) (*labs.Lab, *Client) {
	t.Helper()
	l, err := labs.Start(t.TempDir(), labsim.Options{Speed: 20}, labs.TwoHosts()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	s, err := Serve(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return l, Dial(l.Dir)
}

func TestClient_readsAndDisturbsALab(t *testing.T) {
	l, c := serve(t)
	r, err := c.Exec(t.Context(), labs.Intel9, "hostname; exit 3")
	if err != nil || r.Exit != 3 || r.Stdout != labs.Intel9+"\n" {
		t.Errorf("exec: %+v, %v", r, err)
	}
	answer, err := c.Get(t.Context(), "evidence")
	if err != nil {
		t.Fatal(err)
	}
	var hosts map[string]HostEvidence
	if err := json.Unmarshal(answer, &hosts); err != nil {
		t.Fatal(err)
	}
	if e := hosts[labs.Xeon2zfs].Cards[0]; e.FlashPSID != card.PSIDEN || !e.FlashBootable || len(e.Ports) != 2 ||
		e.Ports[0].LinkType != "eth" {
		t.Errorf("evidence: %+v", e)
	}
	if _, err := c.Post(t.Context(), "fault",
		Request{Host: labs.Intel9, Fault: &labsim.FaultSpec{SudoRefused: true}}); err != nil {
		t.Error(err)
	}
	if !l.Machine(labs.Intel9).Faults.Get().SudoRefused {
		t.Error("the fault was not set")
	}
	if _, err := c.Post(t.Context(), "power", Request{Host: labs.Intel9, Action: "cut"}); err != nil {
		t.Error(err)
	}
	if err := l.Machine(labs.Intel9).AwaitBoot(t.Context(), 2); err != nil {
		t.Error(err)
	}
	port := labsim.CardEnd(labs.Intel9, "0000:01:00.0", 1)
	pull := func(action string) error {
		_, err := c.Post(t.Context(), "cable", Request{Host: labs.Intel9, PCI: "0000:01:00.0", Port: 1, Action: action})
		return err
	}
	before, _ := l.Peer(port)
	if err := pull("out"); err != nil {
		t.Error(err)
	}
	if there, connected := l.Peer(port); connected {
		t.Errorf("the cable still leads to %+v", there)
	}
	if err := pull("out"); err == nil || !strings.Contains(err.Error(), "no cable to pull out") {
		t.Errorf("pulled twice: %v", err)
	}
	if err := pull("in"); err != nil {
		t.Error(err)
	}
	if there, connected := l.Peer(port); !connected || there != before {
		t.Errorf("the cable leads to %+v, %t", there, connected)
	}
	if _, err := c.Post(t.Context(), "power", Request{Host: "nobody", Action: "cut"}); err == nil ||
		!strings.Contains(err.Error(), "no host") {
		t.Errorf("unknown host: %v", err)
	}
}

func TestSlot_exchangesAndRenumbersCards(t *testing.T) {
	l, c := serve(t)
	const at = "0000:01:00.0"
	before := l.Machine(labs.Intel9).Card(at)
	slot := func(pci, action, to string) (string, error) {
		answer, err := c.Post(t.Context(), "slot", Request{Host: labs.Intel9, PCI: pci, Action: action, To: to})
		return string(answer), err
	}
	answer, err := slot(at, "exchange", "")
	if err != nil || !strings.Contains(answer, "MT1234X00900") {
		t.Fatalf("exchange: %s, %v", answer, err)
	}
	if now := l.Machine(labs.Intel9).Card(at); now.Card == before.Card || now.Running().MACs == before.Running().MACs {
		t.Errorf("the slot holds the card that was there: %+v", now.Config)
	}
	if answer, err = slot(at, "renumber", ""); err != nil || !strings.Contains(answer, `"0000:02:00.0":"MT1234X00900"`) {
		t.Errorf("renumber: %s, %v", answer, err)
	}
	if answer, err = slot("0000:02:00.0", "move", "0000:41:00.0"); err != nil ||
		!strings.Contains(answer, `"0000:41:00.0":"MT1234X00900"`) {
		t.Errorf("move: %s, %v", answer, err)
	}
	// A shutdown that waits for a unit without end does not hold up the lab.
	if r, bad := c.Exec(t.Context(), labs.Intel9, "systemd-run --unit=waits -p KillSignal=SIGCONT -p TimeoutStopSec=1000000 "+
		"-p SendSIGKILL=no sleep 100000"); bad != nil || r.Exit != 0 {
		t.Fatalf("%+v, %v", r, bad)
	}
	if answer, err = slot("", "renumber", ""); err != nil || !strings.Contains(answer, `"0000:42:00.0":"MT1234X00900"`) {
		t.Errorf("renumber while a unit is waited for: %s, %v", answer, err)
	}
	if answer, err = slot("0000:42:00.0", "move", "0000:41:00.0"); err != nil {
		t.Errorf("move back: %s, %v", answer, err)
	}
	for _, wrong := range [][3]string{{at, "exchange", ""}, {"0000:41:00.0", "steal", ""}} {
		if _, err = slot(wrong[0], wrong[1], wrong[2]); err == nil {
			t.Errorf("%v: no error", wrong)
		}
	}
}

func TestWriteFiles_namesEveryHost(t *testing.T) {
	l, _ := serve(t)
	if err := WriteFiles(l); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(l.Dir, VariablesFile))
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Hosts map[string]HostAccess `json:"hosts"`
		Image string                `json:"image"`
	}
	if err := json.Unmarshal(data, &v); err != nil || len(v.Hosts) != 2 || v.Hosts[labs.Intel9].Port == 0 ||
		!filepath.IsAbs(v.Image) {
		t.Errorf("%+v, %v", v, err)
	}
}
