package sshconfig

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// Configurations as people and distributions have them. DIR is the directory of the
// files. Each is read by the real ssh, and without it: the same has to come out, or
// an error that names the line.
var corpus = []struct {
	name   string
	files  map[string]string // config, and what it includes
	alias  string
	user   string // of the provider's configuration
	want   string // see summary
	refuse string // what reading without ssh says
}{
	{name: "nothing said", files: map[string]string{"config": ""}, alias: "intel9", want: "me@intel9:22"},
	{name: "Fedora and RHEL",
		files: map[string]string{
			"config": "Include DIR/ssh_config.d/*.conf\n",
			"ssh_config.d/20-systemd-ssh-proxy.conf": "Host unix/* unix%* vsock/* vsock%*\n" +
				"    ProxyCommand /usr/lib/systemd/systemd-ssh-proxy %h %p\n    ProxyUseFdpass yes\n    CheckHostIP no\n" +
				"Host .host machine/.host\n    ProxyCommand /usr/lib/systemd/systemd-ssh-proxy unix/run/ssh %p\n" +
				"    ProxyUseFdpass yes\n    CheckHostIP no\n",
			"ssh_config.d/50-redhat.conf": "Match final all\n\t# Follow system-wide Crypto Policy, if defined:\n" +
				"\tInclude DIR/openssh.config\n\n\tForwardX11Trusted yes\n",
			"openssh.config": "Ciphers aes256-gcm@openssh.com,aes256-ctr\nRequiredRSASize 2048\n",
		}, alias: "intel9", want: "me@intel9:22", refuse: "50-redhat.conf:1"},
	{name: "Debian", files: map[string]string{"config": "Include DIR/ssh_config.d/*.conf\nHost *\n#   ForwardAgent no\n" +
		"    SendEnv LANG LC_*\n    HashKnownHosts yes\n"}, alias: "intel9", want: "me@intel9:22"},
	{name: "the first value counts", files: map[string]string{"config": "Host nas*\n  User admin\n  Port 2022\n" +
		"Host * !gate\n  User ops\n  HostName %h.lab.example\n  ServerAliveInterval 30\n"},
		alias: "nas1", want: "admin@nas1.lab.example:2022"},
	{name: "a host that is left out", files: map[string]string{"config": "Host * !gate\n  User ops\n"}, alias: "gate",
		want: "me@gate:22"},
	{name: "Match host with a list", files: map[string]string{"config": "Match host nas1,nas2 user ops\n  Port 2022\n"},
		alias: "nas1", user: "ops", want: "ops@nas1:2022", refuse: "config:1"},
	{name: "Match for another user", files: map[string]string{"config": "Match host nas1,nas2 user ops\n  Port 2022\n"},
		alias: "nas1", user: "admin", want: "admin@nas1:22", refuse: "config:1"},
	{name: "Match exec that holds", files: map[string]string{"config": "Match host nas1 exec \"test %h = nas1\"\n" +
		"  ProxyJump gate\n"}, alias: "nas1", want: "me@nas1:22 jump gate", refuse: "config:1"},
	{name: "Match exec that does not", files: map[string]string{"config": "Match exec \"test %h = nas1\"\n  ProxyJump gate\n"},
		alias: "nas2", want: "me@nas2:22", refuse: "config:1"},
	{name: "Match originalhost", files: map[string]string{"config": "Host nas1\n  HostName 192.0.2.7\n" +
		"Match originalhost nas1\n  User a\nMatch host 192.0.2.7\n  Port 7\n"},
		alias: "nas1", want: "a@192.0.2.7:7", refuse: "config:3"},
	{name: "Match final sees the name", files: map[string]string{"config": "Host nas1\n  HostName nas1.lab\n" +
		"Match final host *.lab\n  User lab\n"}, alias: "nas1", want: "lab@nas1.lab:22", refuse: "config:3"},
	{name: "Include below a Host", files: map[string]string{"config": "Host nas*\n  Include DIR/nas.conf\nHost *\n  User ops\n",
		"nas.conf": "Port 2022\n"}, alias: "nas1", want: "ops@nas1:2022"},
	{name: "a chain of jumps", files: map[string]string{"config": "Host nas1\n ProxyJump a@gate:2022,[2001:db8::1]:23\n"},
		alias: "nas1", want: "me@nas1:22 jump a@gate:2022,[2001:db8::1]:23"},
	{name: "no jump", files: map[string]string{"config": "Host nas1\n ProxyJump none\nHost *\n ProxyJump gate\n"},
		alias: "nas1", want: "me@nas1:22"},
	{name: "Session Manager", files: map[string]string{"config": "host i-* mi-*\n    ProxyCommand sh -c \"aws ssm " +
		"start-session --target %h --parameters 'portNumber=%p'\"\n    User ec2-user\n"}, alias: "i-0abc",
		want: "ec2-user@i-0abc:22 proxy sh -c \"aws ssm start-session --target i-0abc --parameters 'portNumber=22'\""},
	{name: "signs with =", files: map[string]string{"config": "Host=nas1\n  HostName=192.0.2.7\n  User=ops\n  Port = 2022\n"},
		alias: "nas1", want: "ops@192.0.2.7:2022"},
	{name: "Compute Engine", files: map[string]string{"config": "Host lab.zone.project\n    HostName 192.0.2.7\n" +
		"    IdentityFile DIR/google_compute_engine\n    UserKnownHostsFile=DIR/google_known\n    HostKeyAlias=compute.42\n" +
		"    IdentitiesOnly=yes\n    CheckHostIP=no\n"}, alias: "lab.zone.project",
		want: "me@192.0.2.7:22 key DIR/google_compute_engine only alias compute.42 known DIR/google_known"},
	{name: "Vagrant", files: map[string]string{"config": "Host default\n  HostName 127.0.0.1\n  User vagrant\n  Port 2222\n" +
		"  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n  PasswordAuthentication no\n" +
		"  IdentityFile \"DIR/a b/private_key\"\n  IdentitiesOnly yes\n  LogLevel FATAL\n"}, alias: "default",
		want: "vagrant@127.0.0.1:2222 key DIR/a b/private_key only known /dev/null"},
	{name: "several lists, names with blanks", files: map[string]string{"config": "UserKnownHostsFile \"DIR/a b\" " +
		"DIR/%h DIR/c\nStrictHostKeyChecking accept-new\n"}, alias: "nas1",
		want: "me@nas1:22 known DIR/a b,DIR/nas1,DIR/c policy accept-new"},
	{name: "keys and certificates", files: map[string]string{"config": "IdentityFile DIR/%r@%n\nIdentityFile DIR/second\n" +
		"CertificateFile DIR/%r-cert.pub\nCertificateFile DIR/other-cert.pub\nRevokedHostKeys DIR/revoked\n"},
		alias: "nas1", user: "ops",
		want: "ops@nas1:22 key DIR/ops@nas1,DIR/second cert DIR/ops-cert.pub,DIR/other-cert.pub revoked DIR/revoked"},
	{name: "files named by the alias of the key", files: map[string]string{"config": "IdentityFile DIR/%k\n" +
		"CertificateFile DIR/%k-cert.pub\nIdentityAgent DIR/%k.agent\nHostKeyAlias lab.42\n"}, alias: "nas1",
		want: "me@nas1:22 key DIR/lab.42 cert DIR/lab.42-cert.pub agent DIR/lab.42.agent alias lab.42"},
	{name: "agent behind a name with blanks", files: map[string]string{"config": "Host *\n" +
		"  IdentityAgent \"DIR/Group Containers/agent.sock\"\n"}, alias: "nas1",
		want: "me@nas1:22 agent DIR/Group Containers/agent.sock"},
	{name: "one family, and from where", files: map[string]string{"config": "AddressFamily inet6\nBindAddress ::1\n"},
		alias: "nas1", want: "me@nas1:22 tcp6 from ::1"},
}

func TestUserConfig_corpus(t *testing.T) {
	program := realtool.Path(t, "ssh")
	for _, tc := range corpus {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tc.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				write(t, path, strings.ReplaceAll(text, "DIR", dir))
			}
			read := func(ssh string) (string, error) {
				u := &userConfig{ssh: ssh, path: filepath.Join(dir, "config"), home: dir, local: "me"}
				no := false
				cfg := Config{Address: tc.alias, User: tc.user}
				if !strings.Contains(tc.want, "agent") {
					cfg.UseAgent = &no
				}
				h, err := u.hop(cfg)
				if err != nil {
					return "", err
				}
				return summary(t, u, h, dir), nil
			}
			if got, err := read(program); err != nil || got != tc.want {
				t.Errorf("with ssh:    %q %v\nwant %q", got, err, tc.want)
			}
			got, err := read("")
			switch {
			case tc.refuse == "" && (err != nil || got != tc.want):
				t.Errorf("without ssh: %q %v\nwant %q", got, err, tc.want)
			case tc.refuse != "" && (err == nil || !strings.Contains(err.Error(), tc.refuse)):
				t.Errorf("without ssh: %q %v\nwant an error with %q", got, err, tc.refuse)
			}
		})
	}
}

// summary writes down what a configuration has decided and is not the default.
func summary(t *testing.T, u *userConfig, h *Hop, dir string) string {
	t.Helper()
	if me, err := user.Current(); err == nil && h.User == me.Username {
		h.User = "me" // ssh knows the account's name
	}
	text := h.User + "@" + strings.NewReplacer("[", "", "]", "").Replace(h.Address())
	add := func(label string, values ...string) {
		if all := strings.Join(values, ","); all != "" {
			text += " " + label + " " + all
		}
	}
	jumps, err := u.jumps(h)
	if err != nil {
		t.Fatal(err)
	}
	var names, keys, certs []string
	for _, j := range jumps {
		name := j.Address
		if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		if j.User != "" {
			name = j.User + "@" + name
		}
		if j.Port != 0 {
			name = fmt.Sprintf("%s:%d", name, j.Port)
		}
		names = append(names, name)
	}
	add("jump", names...)
	add("proxy", h.Proxy)
	for _, f := range h.Keys.Identities {
		keys = append(keys, f.Path)
	}
	for _, f := range h.Keys.Certificates {
		certs = append(certs, f.Path)
	}
	add("key", keys...)
	if h.Keys.OnlyNamed {
		text += " only"
	}
	add("cert", certs...)
	add("revoked", h.Trust.Revoked)
	if h.Keys.Agent != os.Getenv("SSH_AUTH_SOCK") {
		add("agent", h.Keys.Agent)
	}
	add("alias", h.Trust.Alias)
	var known []string
	for _, f := range h.Trust.Files {
		if !strings.HasPrefix(f, "/etc/ssh/") && !strings.Contains(f, "/.ssh/known_hosts") {
			known = append(known, f)
		}
	}
	add("known", known...)
	if h.Trust.Policy != knownhosts.Strict {
		add("policy", string(h.Trust.Policy))
	}
	if h.Family != "tcp" {
		text += " " + h.Family
	}
	add("from", h.Bind)
	return strings.ReplaceAll(text, dir, "DIR")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An address, a user or an alias is no piece of shell of the machine that runs Terraform.
func TestUserConfig_noShellFromValues(t *testing.T) {
	program := realtool.Path(t, "ssh")
	for _, cfg := range []Config{
		{Address: "$(id>x)"}, {Address: "nas1;id"}, {Address: "nas1", User: "a`id`"}, {Address: "nas1", User: "a|id"},
		{Address: "nas1", User: "-oA"}, {Address: "nas1", User: "a b"}, {Address: "nas1", User: "a\nid"},
	} {
		file := filepath.Join(t.TempDir(), "config")
		write(t, file, "ProxyCommand nc %h %p %r\n")
		for _, ssh := range []string{program, ""} {
			u := &userConfig{ssh: ssh, path: file, home: t.TempDir(), local: "me"}
			h, err := u.hop(cfg)
			if err == nil {
				err = u.proxyCommand(h)
			}
			if err == nil {
				t.Errorf("ssh %q, %q of %q: the shell runs %q", ssh, cfg.User, cfg.Address, h.Proxy)
			} else if ssh == "" && !strings.Contains(err.Error(), "a character that a shell acts on") {
				t.Errorf("%q of %q: %v", cfg.User, cfg.Address, err)
			}
		}
	}
}

// What is not supported and would change the way or the trust is named.
func TestUserConfig_unsupported(t *testing.T) {
	program := realtool.Path(t, "ssh")
	for line, want := range map[string]string{
		"KnownHostsCommand /bin/echo %H":               "KnownHostsCommand",
		"BindInterface lo":                             "BindInterface",
		"ProxyCommand nc %h %p\nProxyUseFdpass yes":    "ProxyUseFdpass",
		"IdentityFile ~/.ssh/%z":                       "unknown token: %z",
		"Port x":                                       "config",
		"Host *\n  UnknownOption yes":                  "config",
		"UserKnownHostsFile ~/known\nProxyJump gate:x": "gate:x",
	} {
		file := filepath.Join(t.TempDir(), "config")
		write(t, file, line+"\n")
		for _, ssh := range []string{program, ""} {
			if ssh == "" && strings.Contains(line, "UnknownOption") {
				continue // only ssh knows all options
			}
			u := &userConfig{ssh: ssh, path: file, home: t.TempDir(), local: "me"}
			h, err := u.hop(Config{Address: "nas1"})
			if err == nil {
				_, err = u.jumps(h)
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q with %q: %v", line, ssh, err)
			}
		}
	}
}

func TestUserConfig_withoutSSH(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	write(t, file, "CanonicalizeHostname yes\nCanonicalDomains lab.example\n")
	t.Setenv("PATH", t.TempDir())
	_, err := Resolve(Config{Address: "nas1", SSHConfigFile: file})
	if err == nil || !strings.Contains(err.Error(), "CanonicalizeHostname in "+file+" yes needs the program ssh") {
		t.Errorf("got %v", err)
	}
}

// Where a setting stands is what a person looks for.
func TestRoute_namesTheLines(t *testing.T) {
	program := realtool.Path(t, "ssh")
	dir := t.TempDir()
	file, more := filepath.Join(dir, "config"), filepath.Join(dir, "more")
	write(t, more, "Host nas*\n  User wrong\n  IdentityFile "+dir+"/second\n")
	write(t, file, "Host other\n  User no\nMatch host nas1 exec true\n  User ops\n  IdentityFile="+dir+"/first\n"+
		"Host *\n  Include "+more+"\n  ProxyJump gate\nMatch all\n  Port 2022\n")
	u := &userConfig{ssh: program, path: file, home: dir, local: "me"}
	no := false
	h, err := u.hop(Config{Address: "nas1", UseAgent: &no, HostKeyPolicy: knownhosts.AcceptNew})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range h.Origins(t.Context()) {
		got = append(got, strings.Join([]string{o.Setting, o.Value, o.Source}, " "))
	}
	want := strings.Join([]string{
		"HostName nas1 default", "Port 2022 FILE:10", "User ops FILE:4", "ProxyJump gate FILE:8",
		"StrictHostKeyChecking accept-new given",
		"IdentityFile " + dir + "/first FILE:5", "IdentityFile " + dir + "/second " + more + ":3",
	}, "\n")
	if text := strings.ReplaceAll(strings.Join(got, "\n"), file, "FILE"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}
