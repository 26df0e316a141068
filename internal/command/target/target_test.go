package target

import (
	"fmt"
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
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
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
	t.Setenv(string(auth.EnvPassword), "once")
	t.Setenv(string(auth.EnvSudoPassword), "")
	password := filepath.Join(t.TempDir(), "sudo")
	if err := os.WriteFile(password, []byte("secret\r\nmore\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, specs := parse(t, "-config-file none -user ops -identity ~/key -jump a@gate:2022,inner -connect-timeout 3s "+
		"-host-key-policy accept-new -sudo-password-file "+password+" intel9 root@xeon:2201 xeon:2202 [fe80::1]:22 ssh://nas pc=admin@192.0.2.7:2222")
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
		{"fe80::1", "[fe80::1]:22", "ops", 22}, {"nas", "nas:22", "ops", 0}, {"pc", "192.0.2.7:2222", "admin", 2222},
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
		"":    "no host is named",
		"a a": "host a is named twice",
		"a:x": `host "a:x": port "x" is not a number from 1 to 65535`,
		"a:222222222222222222222": `host "a:222222222222222222222": port "222222222222222222222" is not a number from 1 to ` +
			`65535`,
		"@a":                    `host "@a" has no user before the @`,
		"a/b":                   `host "a/b" is not [user@]host[:port]`,
		"a/b=c":                 `host "a/b=c": "a/b" is no name for it`,
		"=c":                    `host "=c": "" is no name for it`,
		"x=a x=b":               "host x is named twice",
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

// Each host, and each jump host, must show its own key and no other's.
func TestOpen_pinsKeys(t *testing.T) {
	t.Parallel()
	const line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPuaSnz4LfbIvw4RLtNvNZ3VbJnvxMUPDCfUqEVYqH8c"
	open := func(args ...string) (*set, error) {
		var o Options
		fs := command.NewFlags("test HOST", "")
		o.define(fs)
		specs, status, done := command.Parse(fs, append([]string{"-config-file", "none"}, args...),
			command.Streams{Out: t.Output(), Err: t.Output()})
		if done {
			return nil, fmt.Errorf("status %d", status)
		}
		return o.open(specs, command.Streams{})
	}
	set, err := open("-jump", "ops@gate:2022", "-host-key", "nas=SHA256:aaaa", "-host-key", "gate=SHA256:cccc=", "-host-key",
		"ops@pc:2201="+line, "-host-key", "nas=SHA256:bbbb", "nas", "ops@pc:2201")
	if err != nil {
		t.Fatal(err)
	}
	defer set.close()
	for i, want := range [][]string{{"SHA256:aaaa", "SHA256:bbbb"}, {line}} {
		at := set.targets[i]
		if !slices.Equal(at.Config.HostKeys, want) || !slices.Equal(at.Config.Jumps[0].HostKeys, []string{"SHA256:cccc="}) ||
			at.Err != nil {
			t.Errorf("%s: %+v", at.Spec, at.Config)
		}
	}
	alone, err := open("-host-key", line, "nas")
	if err != nil {
		t.Fatal(err)
	}
	defer alone.close()
	if got := alone.targets[0].Config.HostKeys; !slices.Equal(got, []string{line}) {
		t.Errorf("%q", got)
	}
	for want, args := range map[string][]string{
		"-host-key SHA256:aaaa names no host, and there are 2: write HOST=SHA256:aaaa": {"-host-key", "SHA256:aaaa", "a", "b"},
		"-host-key is for c, which is neither a HOST nor in -jump; these are: a, b. The key of a hop that the SSH " +
			"configuration names belongs into known_hosts": {"-host-key", "c=SHA256:aaaa", "-jump", "b", "a"},
		"status 2": {"-host-key", "md5:aa", "a"},
	} {
		if _, err := open(args...); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", args, err, want)
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
