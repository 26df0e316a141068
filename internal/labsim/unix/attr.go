package unix

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

func owner(info fs.FileInfo) (uid, gid int) {
	if v, ok := info.Sys().(vfs.Info); ok {
		return v.UID, v.GID
	}
	return 0, 0
}

// userID resolves a user name or number.
func userID(p *labsim.Proc, name string) (uid, gid int, err error) {
	if u, ok := p.Machine.LookupUser(name); ok {
		return u.UID, u.GID, nil
	}
	n, err := strconv.Atoi(name)
	if err != nil {
		return 0, 0, fmt.Errorf("invalid user: '%s'", name)
	}
	return n, n, nil
}

func chmod(_ context.Context, p *labsim.Proc) int {
	f, good := chmodFlags(p)
	if !good || len(f) < 2 {
		return 2
	}
	for _, name := range f[1:] {
		info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(name), true)
		if err != nil {
			return p.Fail(1, "cannot access '%s': %s", name, reason(err))
		}
		mode, err := parseMode(f[0], info.Mode())
		if err != nil {
			return p.Unknown("mode " + f[0])
		}
		if err := p.Machine.FS.Chmod(p.Cred(), p.Abs(name), mode); err != nil {
			return p.Fail(1, "changing permissions of '%s': %s", name, reason(err))
		}
	}
	return 0
}

// chmodFlags lets modes such as -x through as operands.
func chmodFlags(p *labsim.Proc) ([]string, bool) {
	args := p.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "--") {
		p.Unknown("option " + args[0])
		return nil, false
	}
	return args, true
}

// parseMode knows octal modes and [ugoa]*[+-=][rwx]+.
func parseMode(s string, old fs.FileMode) (fs.FileMode, error) {
	if v, err := strconv.ParseUint(s, 8, 16); err == nil {
		mode := fs.FileMode(v) & fs.ModePerm
		if v&0o1000 != 0 {
			mode |= fs.ModeSticky
		}
		return mode, nil
	}
	at := strings.IndexAny(s, "+-=")
	if at < 0 {
		return 0, errors.New("not a mode")
	}
	var bits fs.FileMode
	for _, c := range s[at+1:] {
		b, known := map[rune]fs.FileMode{'r': 4, 'w': 2, 'x': 1}[c]
		if !known {
			return 0, errors.New("not a mode")
		}
		bits |= b
	}
	who := s[:at]
	if who == "" || strings.Contains(who, "a") {
		who = "ugo"
	}
	mode := old
	for _, c := range who {
		shift, known := map[rune]uint{'u': 6, 'g': 3, 'o': 0}[c]
		if !known {
			return 0, errors.New("not a mode")
		}
		switch s[at] {
		case '+':
			mode |= bits << shift
		case '-':
			mode &^= bits << shift
		default:
			mode = mode&^(7<<shift) | bits<<shift
		}
	}
	return mode, nil
}

func chown(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "R", "h")
	if !good || len(f.Args) < 2 {
		return 2
	}
	user, group, _ := strings.Cut(f.Args[0], ":")
	uid, gid := -1, -1
	var err error
	if user != "" {
		if uid, _, err = userID(p, user); err != nil {
			return p.Fail(1, "%v", err)
		}
	}
	if group != "" {
		if _, gid, err = userID(p, group); err != nil {
			return p.Fail(1, "%v", err)
		}
	}
	for _, name := range f.Args[1:] {
		if err := p.Machine.FS.Chown(p.Cred(), p.Abs(name), uid, gid); err != nil {
			return p.Fail(1, "changing ownership of '%s': %s", name, reason(err))
		}
	}
	return 0
}

// stat knows stat [-L] -c FORMAT FILE... with %s %a %A %u %g %U %G %Y %n %i %h.
func stat(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "c=", "L")
	if !good {
		return 2
	}
	if !f.Has("c") {
		return p.Unknown("stat without -c")
	}
	format := f.Get("c") + "\n"
	status := 0
	for _, name := range f.Args {
		info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(name), f.Has("L"))
		if err != nil {
			status = p.Fail(1, "cannot statx '%s': %s", name, reason(err))
			continue
		}
		out, bad := statFormat(p, format, name, info)
		if bad != "" {
			return p.Unknown("format %" + bad)
		}
		p.Printf("%s", out)
	}
	return status
}

func statFormat(p *labsim.Proc, format, name string, info vfs.Info) (out, bad string) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		v, ok := statField(p, format[i], name, info)
		if !ok {
			return "", string(format[i])
		}
		b.WriteString(v)
	}
	return b.String(), ""
}

func statField(p *labsim.Proc, verb byte, name string, info vfs.Info) (string, bool) {
	switch verb {
	case 's':
		return strconv.FormatInt(info.FileSize, 10), true
	case 'a':
		v := uint64(info.FileMode.Perm())
		if info.FileMode&fs.ModeSticky != 0 {
			v |= 0o1000
		}
		return strconv.FormatUint(v, 8), true
	case 'A':
		return modeText(info.FileMode), true
	case 'u':
		return strconv.Itoa(info.UID), true
	case 'g':
		return strconv.Itoa(info.GID), true
	case 'U', 'G':
		return userName(p, info.UID), true
	case 'Y':
		return strconv.FormatInt(info.Modified.Unix(), 10), true
	case 'n':
		return name, true
	case 'i':
		return strconv.FormatUint(info.Ino, 10), true
	case 'h':
		return strconv.Itoa(info.Nlink), true
	}
	return "", false
}

func userName(p *labsim.Proc, uid int) string {
	for _, u := range p.Machine.Users() {
		if u.UID == uid {
			return u.Name
		}
	}
	return strconv.Itoa(uid)
}

func modeText(m fs.FileMode) string {
	s := []byte("-rwxrwxrwx")
	for i := range 9 {
		if m.Perm()&(1<<(8-i)) == 0 {
			s[i+1] = '-'
		}
	}
	switch {
	case m.IsDir():
		s[0] = 'd'
	case m&fs.ModeSymlink != 0:
		s[0] = 'l'
	case m&fs.ModeCharDevice != 0:
		s[0] = 'c'
	}
	if m&fs.ModeSticky != 0 {
		s[9] = 't'
	}
	return string(s)
}
