package simssh_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

func TestFaults_uploadIsCutInsideTheFile(t *testing.T) {
	l := start(t, labsim.Options{})
	m := l.Machine(labs.Intel9)
	m.Faults.Set(labsim.FaultSpec{CutUploadAt: 100000})
	s, err := sftp.NewClient(dial(t, l, labs.Intel9))
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Create("big")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.Write(make([]byte, 300000)); err == nil {
		t.Error("the upload was not cut")
	}
	data, err := m.FS.ReadFile("/home/ops/big")
	if err != nil || len(data) == 0 || len(data) > 100000 {
		t.Errorf("%d bytes arrived, %v", len(data), err)
	}
	m.Faults.Clear()
	must(t, dial(t, l, labs.Intel9), "true")
}

func TestFaults_diskFull(t *testing.T) {
	l := start(t, labsim.Options{})
	if err := l.Machine(labs.Intel9).FS.SetQuota("/home/ops", 1000); err != nil {
		t.Fatal(err)
	}
	s, err := sftp.NewClient(dial(t, l, labs.Intel9))
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Create("big")
	if err != nil {
		t.Fatal(err)
	}
	var status *sftp.StatusError
	if _, err := f.Write(make([]byte, 2000)); !errors.As(err, &status) {
		t.Errorf("write to a full disk: %v", err)
	}
}

func TestFaults_connections(t *testing.T) {
	l := start(t, labsim.Options{})
	m, server := l.Machine(labs.Intel9), l.Servers[labs.Intel9]
	before := server.HostKey()
	try := func(timeout time.Duration) error {
		c, err := ssh.Dial("tcp", server.Addr.String(), &ssh.ClientConfig{
			User: "ops", Auth: []ssh.AuthMethod{ssh.Password("nothing")}, HostKeyCallback: ssh.FixedHostKey(before),
			Timeout: timeout,
		})
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	m.Faults.Set(labsim.FaultSpec{Refuse: true})
	if err := try(time.Second); err == nil || strings.Contains(err.Error(), "unable to authenticate") {
		t.Errorf("refused: %v", err)
	}
	m.Faults.Set(labsim.FaultSpec{NewKeyAtReboot: true})
	m.PowerCut()
	awaitReboot(t, m, 2)
	if err := try(time.Second); err == nil || !strings.Contains(err.Error(), "host key mismatch") {
		t.Errorf("changed key: %v", err)
	}
	m.Faults.Clear()
	if err := try(time.Second); err == nil || !strings.Contains(err.Error(), "unable to authenticate") {
		t.Errorf("wrong password: %v", err)
	}
}

func TestFaults_rebootThatNeverReturns(t *testing.T) {
	l := start(t, labsim.Options{})
	m := l.Machine(labs.Intel9)
	m.Faults.Set(labsim.FaultSpec{RebootNever: true})
	m.Reboot()
	for m.Up() {
		time.Sleep(time.Millisecond)
	}
	if err := m.Lab.Clock.Sleep(t.Context(), 2*time.Second); err != nil {
		t.Fatal(err)
	}
	if m.Up() || m.BootID() != "" {
		t.Error("the machine came back")
	}
	m.Faults.Clear()
	m.Start()
	must(t, dial(t, l, labs.Intel9), "true")
}

func TestServer_countsWhatClientsDo(t *testing.T) {
	l := start(t, labsim.Options{})
	m := l.Machine(labs.Intel9)
	c := dial(t, l, labs.Intel9)
	must(t, c, "id -u >/dev/null")
	must(t, c, "true")
	if n := m.Counters(); n.Connections != 1 || n.Sessions != 2 || n.SFTP != 0 || n.BytesIn == 0 {
		t.Errorf("counters: %+v", n)
	}
	found := false
	for _, e := range m.Journal() {
		found = found || e.Args[0] == "id" && e.UID == 0 && e.Exit == 0 && e.Session == 1
	}
	if !found {
		t.Errorf("journal: %+v", m.Journal())
	}
}
