// Package unix gives a simulated host the small programs that scripts use:
// strict versions of coreutils, grep, sed, find, util-linux and sudo, with the
// options that a careful script needs and no others. An option they do not know
// is recorded as a violation.
//
// It must not know about cards or services.
package unix

import "github.com/ibfabric/terraform-provider-infiniband/internal/labsim"

// programs knows each program with its options. Where the second word is true, they
// end at the first operand, which begins another command.
var programs = map[string]labsim.Program{
	"cat":       labsim.WithFlags(cat, false),
	"ls":        labsim.WithFlags(ls, false, "d"),
	"tee":       labsim.WithFlags(tee, false),
	"mkdir":     labsim.WithFlags(mkdir, false, "p", "m="),
	"mv":        labsim.WithFlags(mv, false, "f", "T"),
	"cp":        labsim.WithFlags(cp, false, "p"),
	"rm":        labsim.WithFlags(rm, false, "f", "r"),
	"rmdir":     labsim.WithFlags(rmdir, false),
	"chmod":     chmod,
	"chown":     labsim.WithFlags(chown, false),
	"ln":        labsim.WithFlags(ln, false, "s", "f"),
	"touch":     labsim.WithFlags(touch, false),
	"stat":      labsim.WithFlags(stat, false, "c="),
	"readlink":  labsim.WithFlags(readlink, false),
	"df":        labsim.WithFlags(df, false, "P", "k"),
	"find":      find,
	"sync":      ok,
	"head":      labsim.WithFlags(head, false, "n="),
	"tail":      labsim.WithFlags(tail, false, "n=", "c="),
	"wc":        labsim.WithFlags(wc, false, "c"),
	"sha256sum": labsim.WithFlags(sum, false),
	"tr":        labsim.WithFlags(tr, true, "d"),
	"sort":      labsim.WithFlags(sortLines, false, "n"),
	"grep":      labsim.WithFlags(grep, false, "q", "E", "i", "c", "h", "H", "s", "l", "e=", "m="),
	"sed":       labsim.WithFlags(sed, false, "n"),
	"cut":       labsim.WithFlags(cut, false, "d=", "f=", "c="),
	"id":        labsim.WithFlags(id, false, "u", "n"),
	"uname":     labsim.WithFlags(uname, false, "s", "r"),
	"date":      labsim.WithFlags(date, false, "u"),
	"hostname":  hostname,
	"sleep":     sleep,
	"true":      ok,
	"kill":      kill,
	"pgrep":     labsim.WithFlags(pgrep, false, "a"),
	"who":       ok,
	"env":       labsim.WithFlags(env, true),
	"timeout":   labsim.WithFlags(timeout, true),
	"flock":     labsim.WithFlags(flock, true, "s", "n", "w=", "E="),
	"sudo":      labsim.WithFlags(sudo, true, "n", "S", "k", "p="),
	"printf":    builtin("printf"),
	"echo":      builtin("echo"),
}

// Install puts the programs into a machine.
func Install(m *labsim.Machine) {
	for name, program := range programs {
		m.Install("/usr/bin/"+name, program)
	}
	if m.OS == labsim.TrueNAS {
		m.FS.PutDir("/root", 0o700, 0, 0)
	}
}
