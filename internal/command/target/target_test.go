package target

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
)

func parse(t *testing.T, line string) (Options, []string) {
	t.Helper()
	var o Options
	fs := command.NewFlags("test HOST", "")
	o.define(fs)
	rest, _, done := command.Parse(fs, strings.Fields(line), command.Streams{Out: t.Output(), Err: t.Output()})
	if done {
		t.Fatalf("%q is not parsed", line)
	}
	return o, rest
}

func TestOpen_readsHostsAsSSHTakesThem(t *testing.T) {
	t.Setenv(string(sshhost.EnvPassword), "once")
	t.Setenv(string(sshhost.EnvSudoPassword), "")
	password := filepath.Join(t.TempDir(), "sudo")
	if err := os.WriteFile(password, []byte("secret\r\nmore\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, specs := parse(t, "-config-file none -user ops -identity ~/key -jump a@gate:2022,inner -connect-timeout 3s "+
		"-host-key-policy accept-new -sudo-password-file "+password+" intel9 root@xeon:2201 xeon:2202 [fe80::1]:22 ssh://nas")
	set, err := o.open(specs, command.Streams{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.close()
	for i, want := range []struct {
		name, address, user string
		port                int
	}{
		{"intel9", "intel9:22", "ops", 0}, {"xeon", "xeon:2201", "root", 2201}, {"xeon:2202", "xeon:2202", "ops", 2202},
		{"fe80::1", "[fe80::1]:22", "ops", 22}, {"nas", "nas:22", "ops", 0},
	} {
		got := set.targets[i]
		if got.Err != nil || got.Name != want.name || got.SSH.Address() != want.address || got.SSH.User() != want.user ||
			got.Config.Port != want.port || got.Spec != specs[i] {
			t.Errorf("%s: %+v, address %s user %s: %v", specs[i], got, got.SSH.Address(), got.SSH.User(), got.Err)
		}
		if !got.Host.Observe() {
			t.Errorf("%s may be changed", got.Name)
		}
	}
	cfg := set.targets[0].Config
	if cfg.PrivateKeyFile != "~/key" || len(cfg.Jumps) != 2 || cfg.Jumps[0].User != "a" || cfg.Jumps[0].Port != 2022 ||
		cfg.Jumps[1].Address != "inner" || cfg.ConnectTimeout != 3*time.Second || cfg.HostKeyPolicy != "accept-new" ||
		cfg.SudoPassword != "secret" || cfg.Password != "once" {
		t.Errorf("%+v", cfg)
	}
}

// A host whose configuration is wrong does not stop the others.
func TestOpen_keepsTheErrorOfOneHost(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("Host bad\n  BindInterface lo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, specs := parse(t, "-config-file "+config+" bad good")
	set, err := o.open(specs, command.Streams{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.close()
	if bad := set.targets[0]; bad.Err == nil || !strings.Contains(bad.Err.Error(), "BindInterface") || bad.Host != nil {
		t.Errorf("bad: %v", bad.Err)
	}
	if good := set.targets[1]; good.Err != nil || good.Host == nil {
		t.Errorf("good: %v", good.Err)
	}
}

func TestOpen_refuses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                      "no host is named",
		"a a":                   "host a is named twice",
		"a:x":                   `host "a:x" is not [user@]host[:port]`,
		"-port 70000 a":         "-port 70000 is not between 1 and 65535",
		"-host-key-policy no a": `-host-key-policy "no" is neither strict nor accept-new`,
		"-jump gate:x a":        `jump host "gate:x": port "x" is not a number from 1 to 65535`,
		"-ask-sudo-password a":  "-ask-sudo-password needs a terminal; use -sudo-password-file or INFINIBAND_SUDO_PASSWORD",
		"-ask-sudo-password -sudo-password-file x a": "-ask-sudo-password and -sudo-password-file exclude each other",
		"-sudo-password-file /does/not/exist a":      "the password for sudo cannot be read: open /does/not/exist: no such file or directory",
	} {
		o, specs := parse(t, "-config-file none "+line)
		if _, err := o.open(specs, command.Streams{In: strings.NewReader("")}); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}

func TestEach_yieldsInOrderAndHoldsTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 3
	targets := make([]*Target, 20)
	for i := range targets {
		targets[i] = &Target{Name: strconv.Itoa(i)}
	}
	var now, most atomic.Int32
	full := make(chan struct{})
	reached := sync.OnceFunc(func() { close(full) })
	got := slices.Collect(Each(targets, limit, func(target *Target) string {
		if n := now.Add(1); n == limit {
			reached()
		} else if n > limit {
			most.Store(n)
		}
		<-full // nobody ends before as many run as may
		defer now.Add(-1)
		return target.Name
	}))
	for i, name := range got {
		if name != targets[i].Name {
			t.Errorf("%d: %s", i, name)
		}
	}
	if len(got) != len(targets) || most.Load() > limit {
		t.Errorf("%d results, %d at a time, want %d and at most %d", len(got), most.Load(), len(targets), limit)
	}
}
