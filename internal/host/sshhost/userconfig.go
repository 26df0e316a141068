package sshhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kevinburke/ssh_config"
)

// userConfig is the OpenSSH client configuration: the user's file and then the
// system's. The first value found wins, as in ssh.
type userConfig struct {
	files []configFile
	home  string
	local string // name of the local user
}

type configFile struct {
	path string
	cfg  *ssh_config.Config
}

// loadUserConfig reads path instead of the two usual files if it is not empty;
// "none" reads nothing, as `ssh -F none` does.
func loadUserConfig(path string) (*userConfig, error) {
	u := &userConfig{}
	if home, err := os.UserHomeDir(); err == nil {
		u.home = home
	}
	if me, err := user.Current(); err == nil {
		u.local = me.Username
	}
	switch path {
	case "none":
		return u, nil
	case "":
		for _, p := range []string{filepath.Join(u.home, ".ssh", "config"), "/etc/ssh/ssh_config"} {
			if err := u.read(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		return u, nil
	default:
		if err := u.read(u.tilde(path)); err != nil {
			return nil, err
		}
		return u, nil
	}
}

func (u *userConfig) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("the SSH client configuration cannot be read: %w", err)
	}
	if err = u.checkMatches(path, 0); err != nil {
		_ = f.Close()
		return err
	}
	cfg, err := ssh_config.Decode(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("the SSH client configuration %s is not understood: %w. "+matchAdvice, path, err)
	}
	u.files = append(u.files, configFile{path, cfg})
	return nil
}

// get returns the first value of key for alias, and the file it stands in.
func (u *userConfig) get(alias, key string) (value, file string, err error) {
	for _, f := range u.files {
		v, err := f.cfg.Get(alias, key)
		if err != nil {
			return "", "", fmt.Errorf("%s: %s: %w", f.path, key, err)
		}
		if v != "" {
			return v, f.path, nil
		}
	}
	return "", "", nil
}

// all returns every value of key for alias with its file; ssh adds up the
// IdentityFile lines of all matching sections.
func (u *userConfig) all(alias, key string) ([]sourced, error) {
	var out []sourced
	for _, f := range u.files {
		vs, err := f.cfg.GetAll(alias, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", f.path, key, err)
		}
		for _, v := range vs {
			out = append(out, sourced{v, key + " in " + f.path})
		}
	}
	return out, nil
}

// sourced is a value with the place it came from, for messages.
type sourced struct{ value, source string }

// number returns a positive integer, or 0 if key is not set.
func (u *userConfig) number(alias, key string) (int, error) {
	v, file, err := u.get(alias, key)
	if err != nil || v == "" {
		return 0, err
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %s %q is not a number", file, key, v)
	}
	return n, nil
}

// tilde replaces a leading ~ by the home directory.
func (u *userConfig) tilde(path string) string {
	if path == "~" {
		return u.home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(u.home, rest)
	}
	return path
}

// expand replaces ~, ${VARIABLE} and the % tokens that make sense before a
// connection exists.
func (u *userConfig) expand(text string, h *hop) string {
	text = os.Expand(u.tilde(text), func(name string) string {
		// Only ${NAME} is a variable to ssh; os.Expand also offers $NAME.
		if !strings.Contains(text, "${"+name+"}") {
			return "$" + name
		}
		return os.Getenv(name)
	})
	return strings.NewReplacer(
		"%%", "%", "%h", h.host, "%n", h.alias, "%p", strconv.Itoa(h.port),
		"%r", h.user, "%d", u.home, "%u", u.local,
	).Replace(text)
}

// fields splits a value that lists several paths, honouring double quotes.
func fields(s string) []string {
	var out []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if rest, ok := strings.CutPrefix(s, `"`); ok {
			word, after, _ := strings.Cut(rest, `"`)
			out, s = append(out, word), after
			continue
		}
		word, after, _ := strings.Cut(s, " ")
		out, s = append(out, word), after
	}
	return out
}
