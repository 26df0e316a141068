package acctest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// printed is what a process has printed so far.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// eventually polls until a condition holds, for two minutes.
func eventually(what string, holds func() bool) error {
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("in vain waited for " + what)
		}
	}
	return nil
}

// onlooker is a person on another machine, who has the program and may log in.
type onlooker struct {
	t       *testing.T
	program string
	config  string
	host    string
}

// onlooker has a program of its own: the operator's processes are killed.
func (o *operator) onlooker(w *Lab, host, program string) *onlooker {
	key, known := w.keys()
	at := w.Host(host)
	o.write("ssh_config", fmt.Sprintf("Host %s\n  HostName %v\n  Port %v\n  User %v\n  IdentityFile %s\n"+
		"  IdentitiesOnly yes\n  UserKnownHostsFile %s\n", host, at["address"], at["port"], at["user"], key, known))
	return &onlooker{o.t, program, filepath.Join(o.dir, "ssh_config"), host}
}

// start runs a command of the program on the host.
func (l *onlooker) start(args ...string) (*exec.Cmd, *printed) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	l.t.Cleanup(cancel)
	out := &printed{}
	words := append([]string{args[0], "-config-file", l.config}, args[1:]...)
	cmd := exec.CommandContext(ctx, l.program, append(words, l.host)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		l.t.Error(err)
	}
	return cmd, out
}

// says runs a command to its end.
func (l *onlooker) says(args ...string) (status int, text string) {
	l.t.Helper()
	cmd, out := l.start(args...)
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), out.String()
}

// burns gives the results of the burns that history knows.
func (l *onlooker) burns() string {
	l.t.Helper()
	status, text := l.says("history", "-json")
	var all struct {
		Hosts []struct {
			Changes []struct{ What, From, To, Result string }
		}
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil || status != 0 || len(all.Hosts) != 1 {
		l.t.Fatalf("history ended with %d: %v\n%s", status, err, text)
	}
	var burns []string
	for _, c := range all.Hosts[0].Changes {
		if c.What == "burn" {
			burns = append(burns, c.From+" to "+c.To+": "+c.Result)
		}
	}
	return strings.Join(burns, "\n")
}

// The engine and its provider are killed in the middle of a burn, while somebody watches
// from elsewhere. Each look says what is true at that moment, with the exit status of it;
// on the testbed mstflint is the real one.
func TestWatch_outlives_a_killed_provider(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds the provider's process in /proc")
	}
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	firmware := "infiniband_firmware." + host
	cfg := w.cardOnly(host).Without("infiniband_guids."+host, "infiniband_link_type."+host).With(firmware,
		map[string]any{"activation": "none"})
	built := buildProvider(t)
	o := newOperator(t, w, cfg, built)
	look := o.onlooker(w, host, built)
	apply, said := o.command("apply", "-auto-approve")

	var watch *exec.Cmd
	var seen *printed
	left := 12 // well within the burn of the smallest image
	w.Card(host).Flash.SetHook(func(card.Op) error {
		if left--; left != 0 {
			return nil
		}
		watch, seen = look.start("watch", "-every", "200ms")
		// The burn goes on when it was seen beside the provider, and after that was killed.
		burns := func() bool { return strings.Contains(seen.String(), " burning ") }
		if err := errors.Join(eventually("the burn", burns), o.kill(apply)); err != nil {
			t.Errorf("%v; watch:\n%s", err, seen)
		}
		if status, text := look.says("watch", "-once"); status != 5 || !strings.Contains(text, " burning ") {
			t.Errorf("in the burn: status %d\n%s", status, text)
		}
		return nil
	})
	if err := apply.Run(); err == nil || watch == nil {
		t.Fatalf("the apply was not killed in the burn: %v\n%s", err, said)
	}
	ended := func() bool { return strings.Contains(seen.String(), " burned ") }
	if err := eventually("the end of the burn", ended); err != nil {
		t.Errorf("%v; watch:\n%s", err, seen)
	}
	w.Card(host).Flash.SetHook(nil)
	if status, text := look.says("watch", "-once"); status != 5 || !strings.Contains(text, " burned ") {
		t.Errorf("after the burn: status %d\n%s", status, text)
	}
	const what = card.PSIDEN + " 2.40.5032 to " + card.PSIDVPI + " 2.42.5000: "
	if got := look.burns(); got != what+"burned" {
		t.Errorf("history says %q", got)
	}
	o.says(0, "apply", "-auto-approve")
	if got := look.burns(); got != what+"verified" {
		t.Errorf("history says %q", got)
	}
	if status, text := look.says("watch", "-once"); status != 4 || !strings.Contains(text, " verified ") {
		t.Errorf("after the next apply: status %d\n%s", status, text)
	}
	// It gives up after a minute, if the apply takes longer than that.
	_ = watch.Wait()
	status, lines := watch.ProcessState.ExitCode(), strings.Split(strings.TrimSpace(seen.String()), "\n")
	last := lines[len(lines)-1]
	if status != 0 && status != 5 || (status == 0) != strings.Contains(last, " verified ") {
		t.Errorf("watch ended with %d:\n%s", status, seen)
	}
	t.Logf("watch showed:\n%s", seen)
	if images, _ := w.Burns(host); images != 1 {
		t.Errorf("%d burns", images)
	}
}
