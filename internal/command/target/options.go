package target

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// Options are the flags that every command with hosts has.
type Options struct {
	User, Identity, Jump, ConfigFile, HostKeyPolicy string
	HostKeys                                        pins
	Port                                            int
	ConnectTimeout                                  time.Duration
	SudoPasswordFile                                string
	AskSudoPassword                                 bool
	JSON                                            bool // for the command to obey

	// NoJSON, if set, leaves -json out. It is no flag.
	NoJSON bool
	// Trace, if set, is told what is done over SSH. It is no flag.
	Trace func(host.Event)
}

// define adds the flags to those of a command.
func (o *Options) define(fs *flag.FlagSet) {
	fs.StringVar(&o.User, "user", "", "log in as `USER`, where HOST names none")
	fs.IntVar(&o.Port, "port", 0, "TCP `PORT` of the SSH server, where HOST names none")
	fs.StringVar(&o.Identity, "identity", "", "private key `FILE`; a passphrase comes from "+string(auth.EnvPassphrase))
	fs.StringVar(&o.Jump, "jump", "", "pass these `HOSTS` on the way, nearest first: [user@]host[:port],…")
	fs.StringVar(&o.ConfigFile, "config-file", "",
		"SSH client configuration `FILE` instead of ~/.ssh/config; none reads none")
	fs.StringVar(&o.HostKeyPolicy, "host-key-policy", "",
		"`POLICY` for a host whose key is not known: strict refuses it, accept-new records the key")
	fs.Var(&o.HostKeys, "host-key", "`[HOST=]KEY` that a host or jump host must show, as host_keys has it: SHA256:… or "+
		"a line of authorized_keys; may be given several times. HOST may be left out if only one is named")
	fs.DurationVar(&o.ConnectTimeout, "connect-timeout", 0, "`TIME` that one attempt to connect may take; default 10s")
	fs.StringVar(&o.SudoPasswordFile, "sudo-password-file", "",
		"read the password for sudo from the first line of `FILE`; else from "+string(auth.EnvSudoPassword))
	fs.BoolVar(&o.AskSudoPassword, "ask-sudo-password", false, "ask for the password for sudo, once for all hosts")
	if !o.NoJSON {
		fs.BoolVar(&o.JSON, "json", false, "print JSON for scripts")
	}
}

func (o *Options) sudoPassword(std command.Streams) (string, error) {
	switch {
	case o.AskSudoPassword && o.SudoPasswordFile != "":
		return "", errors.New("-ask-sudo-password and -sudo-password-file exclude each other")
	case o.SudoPasswordFile != "":
		text, err := os.ReadFile(o.SudoPasswordFile)
		if err != nil {
			return "", fmt.Errorf("the password for sudo cannot be read: %w", err)
		}
		line, _, _ := strings.Cut(string(text), "\n")
		return strings.TrimSuffix(line, "\r"), nil
	case o.AskSudoPassword:
		return ask(std)
	}
	return auth.EnvSudoPassword.Value(), nil
}

// ask reads a password from a terminal, without showing it.
func ask(std command.Streams) (string, error) {
	in, ok := std.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return "", errors.New("-ask-sudo-password needs a terminal; use -sudo-password-file or " +
			string(auth.EnvSudoPassword))
	}
	fmt.Fprint(std.Err, "Password for sudo: ")
	text, err := term.ReadPassword(int(in.Fd()))
	fmt.Fprintln(std.Err)
	if err != nil {
		return "", fmt.Errorf("the password for sudo cannot be read: %w", err)
	}
	return string(text), nil
}

// way are the flags without which another command may reach another host, or none.
func (o *Options) way() []string {
	port := ""
	if o.Port != 0 {
		port = strconv.Itoa(o.Port)
	}
	var flags []string
	for _, f := range [][2]string{{"-user", o.User}, {"-port", port}, {"-identity", o.Identity}, {"-jump", o.Jump},
		{"-config-file", o.ConfigFile}, {"-host-key-policy", o.HostKeyPolicy}} {
		if f[1] != "" {
			flags = append(flags, f[0], shellcmd.Quote(f[1]))
		}
	}
	return flags
}
