package unix

import (
	"context"
	"io/fs"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// chmod knows octal modes, a+x and a-x.
func chmod(_ context.Context, p *labsim.Proc) int {
	if len(p.Args) < 3 {
		return p.Unknown("chmod operands")
	}
	for _, name := range p.Args[2:] {
		info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(name), true)
		if err != nil {
			return p.Fail(1, "cannot access '%s': %s", name, reason(err))
		}
		mode, err := strconv.ParseUint(p.Args[1], 8, 9)
		switch {
		case p.Args[1] == "a+x":
			mode = uint64(info.Mode().Perm() | 0o111)
		case p.Args[1] == "a-x":
			mode = uint64(info.Mode().Perm() &^ 0o111)
		case err != nil:
			return p.Unknown("mode " + p.Args[1])
		}
		if err := p.Machine.FS.Chmod(p.Cred(), p.Abs(name), fs.FileMode(mode)); err != nil {
			return p.Fail(1, "changing permissions of '%s': %s", name, reason(err))
		}
	}
	return 0
}

// chown knows UID:GID.
func chown(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if len(f.Args) < 2 {
		return p.Unknown("chown operands")
	}
	user, group, _ := strings.Cut(f.Args[0], ":")
	uid, err := strconv.Atoi(user)
	gid, groupErr := strconv.Atoi(group)
	if err != nil || groupErr != nil {
		return p.Unknown("owner " + f.Args[0])
	}
	for _, name := range f.Args[1:] {
		if err := p.Machine.FS.Chown(p.Cred(), p.Abs(name), uid, gid); err != nil {
			return p.Fail(1, "changing ownership of '%s': %s", name, reason(err))
		}
	}
	return 0
}

// stat knows stat -c FORMAT FILE... with %s %a %U %G %Z %n.
func stat(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if !f.Has("c") {
		return p.Unknown("stat without -c")
	}
	status := 0
	for _, name := range f.Args {
		info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(name), false)
		if err != nil {
			status = p.Fail(1, "cannot statx '%s': %s", name, reason(err))
			continue
		}
		mode := uint64(info.FileMode.Perm())
		if info.FileMode&fs.ModeSticky != 0 {
			mode |= 0o1000
		}
		out := strings.NewReplacer("%s", strconv.FormatInt(info.FileSize, 10), "%a", strconv.FormatUint(mode, 8),
			"%Z", strconv.FormatInt(info.Changed.Unix(), 10), "%U", userName(p, info.UID), "%G", userName(p, info.GID), "%n", strings.ReplaceAll(name, "%",
				"\x00")).Replace(f.Get("c"))
		if strings.Contains(out, "%") {
			return p.Unknown("format " + f.Get("c"))
		}
		p.Printf("%s\n", strings.ReplaceAll(out, "\x00", "%"))
	}
	return status
}

func userName(p *labsim.Proc, uid int) string {
	for _, u := range p.Machine.Users() {
		if u.UID == uid {
			return u.Name
		}
	}
	return strconv.Itoa(uid)
}
