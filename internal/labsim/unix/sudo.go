package unix

import (
	"context"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// sudo knows sudo [-n] [-S] [-k] [-p PROMPT] [--] COMMAND...; the
// texts are those of sudo 1.9. With -S the password is one line of standard input,
// read only when a password is needed.
func sudo(ctx context.Context, p *labsim.Proc, f *labsim.Flags) int {
	spec := p.Machine.Faults.Get()
	if spec.SudoMissing {
		p.Errorf("sh: 1: sudo: not found\n")
		return 127
	}
	user, _ := p.Machine.LookupUser(p.User)
	if p.UID == 0 {
		user.Sudo = labsim.SudoNoPasswd
	}
	if spec.SudoRefused || user.Sudo == labsim.SudoNone || user.Sudo == "" {
		p.Errorf("%s is not in the sudoers file.\n", p.User)
		return 1
	}
	if user.Sudo == labsim.SudoPassword {
		if status := askPassword(p, f, user); status != 0 {
			return status
		}
	}
	if len(f.Args) == 0 {
		return p.Unknown("sudo without a command")
	}
	return runAsRoot(ctx, p, f)
}

func askPassword(p *labsim.Proc, f *labsim.Flags, user labsim.User) int {
	if f.Has("n") {
		return p.Fail(1, "a password is required")
	}
	if !f.Has("S") {
		p.Errorf("sudo: a terminal is required to read the password; either use the -S option to read from standard input " +
			"or configure an askpass helper\n")
		return p.Fail(1, "a password is required")
	}
	prompt := "[sudo] password for " + p.User + ": "
	if f.Has("p") {
		prompt = f.Get("p")
	}
	for try := 1; ; try++ {
		p.Errorf("%s", prompt)
		line, end := readLine(p)
		if line == user.Password && user.Password != "" {
			return 0
		}
		if end {
			p.Errorf("\n")
			return p.Fail(1, "no password was provided\nsudo: a password is required")
		}
		if try == 3 {
			return p.Fail(1, "3 incorrect password attempts")
		}
		p.Errorf("Sorry, try again.\n")
	}
}

// readLine reads byte by byte, so that the rest of the input stays for the command.
func readLine(p *labsim.Proc) (line string, end bool) {
	var b strings.Builder
	one := make([]byte, 1)
	for {
		n, err := p.Stdin.Read(one)
		if n == 1 {
			if one[0] == '\n' {
				return b.String(), false
			}
			b.WriteByte(one[0])
		}
		if err != nil {
			return b.String(), b.Len() == 0
		}
	}
}

func runAsRoot(ctx context.Context, p *labsim.Proc, f *labsim.Flags) int {
	as, _ := p.Machine.LookupUser("root")
	child := p.Child(f.Args...)
	child.User, child.UID, child.GID = as.Name, as.UID, as.GID
	child.Env = map[string]string{
		"PATH": labsim.DefaultPath, "HOME": as.Home, "USER": as.Name, "LOGNAME": as.Name, "SHELL": as.Shell,
		"SUDO_USER": p.User, "SUDO_UID": strconv.Itoa(p.UID), "SUDO_GID": strconv.Itoa(p.GID),
		"SUDO_COMMAND": strings.Join(f.Args, " "),
	}
	for _, keep := range []string{"LANG", "LC_ALL", "TERM"} {
		if v, ok := p.Env[keep]; ok {
			child.Env[keep] = v
		}
	}
	return p.Machine.Exec(ctx, child)
}
