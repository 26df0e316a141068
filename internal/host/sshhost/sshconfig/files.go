package sshconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kevinburke/ssh_config"

	"github.com/ibfabric/terraform-provider-infiniband/internal/memo"
)

// userConfig is the OpenSSH client configuration: what the program ssh says of it, or
// else the user's file and then the system's. The first value found wins, as in ssh.
type userConfig struct {
	ssh   string // the program, or empty: the files are read here
	path  string // as for -F of ssh; empty for the two usual files
	home  string
	local string // name of the local user

	answers memo.Map[string, *options] // of ssh, by question

	once  sync.Once
	files []configFile
	err   error
}

type configFile struct {
	path string
	cfg  *ssh_config.Config
}

// loadUserConfig takes path instead of the two usual files if it is not empty;
// ConfigFileNone reads nothing.
func loadUserConfig(path string) (*userConfig, error) {
	u := &userConfig{path: path}
	if home, err := os.UserHomeDir(); err == nil {
		u.home = home
	}
	account := ""
	if me, err := user.Current(); err == nil {
		u.local, account = me.Username, me.HomeDir
	}
	if u.path != "" && u.path != ConfigFileNone {
		u.path = tilde(u.home, u.path)
		// A file that is named must be there, as with ssh -F; of the two usual ones, one that is missing is
		// empty.
		f, err := os.Open(u.path)
		if err != nil {
			return nil, fmt.Errorf("the SSH client configuration cannot be read: %w", err)
		}
		_ = f.Close()
	}
	// For ssh, ~ is the home directory of the account, whatever HOME says; with
	// another HOME it would read another person's file.
	// Without any file ssh would only tell its defaults, at the cost of a process for each host.
	if u.home == account && (u.path != "" || exists(u.userFile()) || exists(systemFile)) {
		u.ssh, _ = exec.LookPath("ssh")
	}
	if u.path == ConfigFileNone {
		u.ssh = ""
	}
	if u.ssh == "" {
		return u, u.readFiles()
	}
	return u, nil
}

// ConfigFileNone as Config.SSHConfigFile reads no file, as `ssh -F none` does.
const ConfigFileNone = "none"

const systemFile = "/etc/ssh/ssh_config"

func (u *userConfig) userFile() string { return filepath.Join(u.home, ".ssh", "config") }

// readFiles reads the files without ssh, once.
func (u *userConfig) readFiles() error {
	u.once.Do(func() {
		switch u.path {
		case ConfigFileNone:
		case "":
			for _, p := range []string{u.userFile(), systemFile} {
				if err := u.read(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
					u.err = err
					return
				}
			}
		default:
			u.err = u.read(u.path)
		}
	})
	return u.err
}

func (u *userConfig) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("the SSH client configuration cannot be read: %w", err)
	}
	// Before Decode, whose errors of a Match line name no file.
	if err = checkMatches(path, u.home, 0); err != nil {
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

// lines returns every value of key for alias with its place, without quotes around
// it as a whole.
func (u *userConfig) lines(alias, key string) ([]sourcedValue, error) {
	var out []sourcedValue
	for _, f := range u.files {
		vs, err := f.cfg.GetAll(alias, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", f.path, key, err)
		}
		for _, v := range vs {
			if len(v) > 1 && strings.Count(v, `"`) == 2 && strings.HasPrefix(v, `"`) && strings.HasSuffix(v, `"`) {
				v = v[1 : len(v)-1]
			}
			out = append(out, sourcedValue{v, key + " in " + f.path})
		}
	}
	return out, nil
}

// sourcedValue is a value with the place it came from, for messages.
type sourcedValue struct{ value, source string }
