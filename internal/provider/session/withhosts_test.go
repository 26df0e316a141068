package session

import (
	"context"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/hostpool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
)

// startTwoNames gives a session with a machine that has the names a and b, and the host c.
func startTwoNames(t *testing.T) *Data {
	t.Helper()
	l, err := labs.Start(t.TempDir(), labsim.Options{}, labs.Server("a", labsim.Debian12, "192.0.2.20", 0),
		labs.Server("c", labsim.Debian12, "192.0.2.21", 1))
	if err != nil {
		t.Fatal(err)
	}
	no, d := false, &Data{Hosts: map[string]HostConfig{}, Planned: planned.NewWalk()}
	configs := map[string]sshhost.Config{}
	for name, machine := range map[string]string{"a": "a", "b": "a", "c": "c"} {
		addr := l.Servers[machine].Addr
		configs[name] = sshhost.Config{Address: addr.IP.String(), Port: addr.Port, User: l.User(machine),
			PrivateKeyFile: l.KeyFile(), UseAgent: &no, KnownHostsFiles: []string{l.KnownHostsFile()}, SSHConfigFile: "none"}
		d.Hosts[name] = HostConfig{}
	}
	pool := hostpool.New(configs)
	d.Set, d.Lock = hosts.NewSet(pool.Host), pool.Lock
	t.Cleanup(func() {
		_ = pool.Close()
		l.Close()
	})
	return d
}

// A machine has one writer at a time, under whatever name. What was found of it under
// another name is forgotten before and after.
func TestWithHost_two_names_of_a_machine(t *testing.T) {
	t.Parallel()
	d := startTwoNames(t)
	peek := func(name string) bool {
		h, _, err := d.Host(name)
		return err == nil && h.Peek() != nil
	}
	entered := make(chan struct{})
	read := func(h *hosts.Host) error {
		_, err := h.Snapshot(t.Context())
		return err
	}
	err := d.WithHost(t.Context(), "b", func(*hosts.Host) error {
		go func() {
			if err := d.WithHost(context.WithoutCancel(t.Context()), "a", read); err != nil {
				t.Error(err)
			}
			close(entered)
		}()
		if err := d.WithHost(t.Context(), "c", read); err != nil {
			t.Error(err) // another machine is not held up
		}
		select {
		case <-entered:
			t.Error("two write to one machine")
		case <-time.After(time.Second):
		}
		_, _, _, err := d.Look(t.Context(), "a")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	if peek("b") || !peek("a") || !peek("c") {
		t.Errorf("remembered: a %t, b %t, c %t", peek("a"), peek("b"), peek("c"))
	}
	begun := false
	if err = d.WithHosts(t.Context(), []string{"b", "a"}, func(open []*hosts.Host) error {
		begun = open[0].Name() == "b" && open[1].Name() == "a" && !peek("a") && !peek("b")
		return nil
	}); err != nil || !begun {
		t.Errorf("both names at once: %v", err)
	}
}
