package hosts

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/simssh"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/truenas"
)

// labHost opens a host of a simulated lab over SSH and counts its commands.
func labHost(t *testing.T, lab *labs.Lab, name string) (*Host, *atomic.Int32) {
	t.Helper()
	agent := false
	var runs atomic.Int32
	server := lab.Servers[name]
	h, err := sshhost.New(name, sshhost.Config{
		Address: server.Addr.IP.String(), Port: server.Addr.Port, User: lab.User(name), PrivateKeyFile: lab.KeyFile(),
		UseAgent:        &agent,
		KnownHostsFiles: []string{lab.KnownHostsFile()}, SSHConfigFile: "none",
		Trace: func(e host.Event) {
			if e.Kind == "run" {
				runs.Add(1)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Drop() })
	return New(h), &runs
}

// TestHost_over_SSH collects the facts of the simulated lab's hosts: the real
// script in a shell, below sudo, over a real SSH connection.
func TestHost_over_SSH(t *testing.T) {
	lab, err := labs.Start(t.TempDir(), labsim.Options{}, labs.TwoHosts()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	for _, tt := range []struct {
		name, os string
		uid      int
		pci      string
		rdma     string
		psid     ib.PSID
	}{
		{labs.Intel9, "ubuntu", 1000, "0000:01:00.0", "mlx4_0", "MT_9200111023"},
		{labs.Xeon2zfs, "truenas", 950, "0000:04:00.0", "mlx4_0", "MT_9200111023"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, runs := labHost(t, lab, tt.name)
			s := snapshot(t, h)
			if got := runs.Load(); got != 1 {
				t.Errorf("%d commands", got)
			}
			if s.OS.ID != tt.os || s.Hostname != tt.name || s.StateFree.Or(0) <= 0 ||
				(s.TrueNAS != nil) != (tt.os == "truenas") {
				t.Errorf("host: %+v name %q free %d", s.OS, s.Hostname, s.StateFree.Or(-1))
			}
			if s.TrueNAS != nil && s.TrueNAS.Error != "" {
				t.Errorf("middleware: %s", s.TrueNAS.Error)
			}
			if len(s.Routes.Default) != 1 || s.Routes.Default[0].Dev != "eno1" {
				t.Errorf("routes %+v", s.Routes)
			}
			if devs, ok := s.SSH.Devs.Get(); s.UID != tt.uid || s.SSH.Client != simssh.ClientAddress || !ok ||
				!slices.Equal(devs, []string{"eno1"}) {
				t.Errorf("logged in as %d over %+v, want %d over eno1", s.UID, s.SSH, tt.uid)
			}
			c, ok := s.Card(ib.MustParsePCIAddress(tt.pci))
			if !ok {
				t.Fatalf("no card, only %+v", s.Cards)
			}
			if c.Chip.Name != "ConnectX-3 Pro" || c.Driver != "mlx4_core" || c.PartNumber == "" || !c.Serial.Known() ||
				c.RDMADevice != tt.rdma || c.RunningPSID != tt.psid ||
				len(c.Ports) != 2 || c.Ports[0].TypeNow != "eth" || c.Ports[1].Netdev == "" {
				t.Errorf("card: %+v", c)
			}
			if c.Flash == nil || c.Flash.PSID != "MT_9200111023" || !c.Flash.GUIDs.Node.IsUnset() ||
				c.Flash.GUIDs.MAC1.OUI() != "e41d2d" {
				t.Errorf("flash: %+v (%s: %s)", c.Flash, c.FlashFailure, c.FlashError)
			}
		})
	}
	for _, v := range lab.Violations() {
		t.Errorf("the lab was asked for what no real host would answer: %s", v)
	}
}

// TestHost_over_SSH_sees_what_is_around collects what the verdict on a restart
// needs from simulated hosts that have it.
func TestHost_over_SSH_sees_what_is_around(t *testing.T) {
	lab, err := labs.Start(t.TempDir(), labsim.Options{}, labs.TwoHosts()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	nas := lab.Machine(labs.Xeon2zfs)
	truenas.SetUPS(nas, "OB LB")
	truenas.SetScan(nas, truenas.ScanScrub)
	h, _ := labHost(t, lab, labs.Xeon2zfs)
	s := snapshot(t, h)
	if len(s.Pools) != 2 || s.Pools[1] != (inventory.Pool{Name: "tank", State: "ONLINE", Doing: "scrub"}) ||
		s.Pools[0].Doing != "" {
		t.Errorf("pools: %+v", s.Pools)
	}
	if b := s.Battery.Or(nil); len(b) != 1 || b[0] != (inventory.UPS{Name: "ups", Status: "OB LB"}) {
		t.Errorf("batteries: %+v, %s", b, s.Battery.Why())
	}
	if u, asked := s.Units["kubelet.service"]; !asked || u.LoadState != "not-found" {
		t.Errorf("kubelet: %+v, asked %t", u, asked)
	}
	for _, v := range lab.Violations() {
		t.Errorf("the lab was asked for what no real host would answer: %s", v)
	}
}
