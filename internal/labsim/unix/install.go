// Package unix gives a simulated host the small programs that scripts use:
// strict versions of coreutils, grep, sed, find, util-linux and sudo, with the
// options that a careful script needs and no others. An option they do not know
// is recorded as a violation.
//
// It must not know about cards or services.
package unix

import "github.com/ibfabric/terraform-provider-infiniband/internal/labsim"

// Install puts the programs into a machine.
func Install(m *labsim.Machine) {
	for name, program := range map[string]labsim.Program{
		"cat": cat, "ls": ls, "tee": tee, "mkdir": mkdir, "mv": mv, "cp": cp, "rm": rm, "chmod": chmod,
		"chown": chown, "ln": ln, "stat": stat, "sync": ok, "sha256sum": sum, "head": head, "tail": tail,
		"wc": wc, "grep": grep, "sed": sed, "cut": cut, "tr": tr, "sort": sortLines, "df": df,
		"id": id, "uname": uname, "hostname": hostname, "date": date, "sleep": sleep, "true": ok, "false": fail,
		"env": env, "readlink": readlink,
		"find": find, "kill": kill, "flock": flock,
		"timeout": timeout, "touch": touch,
		"dmesg": dmesg, "ps": ps, "pgrep": pgrep, "test": test, "[": test, "printf": printf, "echo": echo,
		"who": ok, "sudo": sudo,
	} {
		m.Install("/usr/bin/"+name, program)
	}
	if m.OS == labsim.TrueNAS {
		m.FS.PutDir("/root", 0o700, 0, 0)
	}
}
