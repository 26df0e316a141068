//go:build linux

package realflint

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// staging brings the files that a command line names from the host to where the tool finds them, and back.
type staging struct {
	proc  *labsim.Proc
	tmp   string // of this machine
	run   string // below it
	files []stagedFile
	shown [][2]string // what the tool prints, and what the host prints in its place
}

type stagedFile struct {
	name, at string
	before   []byte
	there    bool
}

// outputs are the commands whose last word is a file to be written.
var outputs = map[string]bool{"ri": true, "rrom": true, "dc": true, "dh": true}

// arguments are those of the tool.
func (s *staging) arguments(device string, c *labsim.Card) ([]string, error) {
	args := []string{s.proc.Args[0]}
	for i, arg := range s.proc.Args[1:] {
		option, value := "", arg
		if strings.HasPrefix(arg, "-") {
			at := strings.Index(arg, "=") + 1
			if at == 0 {
				at = len(arg)
			}
			option, value = arg[:at], arg[at:]
		}
		switch {
		case c != nil && value == device:
			value = c.Config.BDF
			if value != device && !strings.HasSuffix(value, ":"+device) {
				s.shown = append(s.shown, [2]string{value, device})
			}
		case s.isFile(value, s.proc.Args[i]):
			var err error
			if value, err = s.stage(value); err != nil {
				return nil, err
			}
		}
		args = append(args, option+value)
	}
	return args, nil
}

// isFile says whether a word stands for a file of the host.
func (s *staging) isFile(word, last string) bool {
	if word == "" {
		return false
	}
	info, err := s.proc.Machine.FS.Stat(s.proc.Cred(), s.proc.Abs(word), true)
	return strings.Contains(word, "/") || outputs[last] || err == nil && !info.IsDir()
}

// stage copies a file to where the tool finds it. One that is not there can still be written, if its folder is there.
func (s *staging) stage(name string) (string, error) {
	inside := path.Join(s.run, strconv.Itoa(len(s.files)), path.Base(name))
	f := stagedFile{name: name, at: filepath.Join(s.tmp, inside)}
	shown := temporaries + "/" + inside
	s.shown = append(s.shown, [2]string{shown, name})
	s.files = append(s.files, f)
	folder, err := s.proc.Machine.FS.Stat(vfs.Root, path.Dir(s.proc.Abs(name)), true)
	if isFolder := err == nil && folder.IsDir(); !isFolder {
		return shown, nil
	}
	if err = os.MkdirAll(filepath.Dir(f.at), 0o700); err != nil {
		return "", err
	}
	data, err := s.proc.ReadFile(name)
	if isThere := err == nil; !isThere {
		return shown, nil // the tool finds that out
	}
	s.files[len(s.files)-1].before, s.files[len(s.files)-1].there = data, true
	return shown, os.WriteFile(f.at, data, 0o600)
}

// takeBack writes to the host what the tool has written.
func (s *staging) takeBack() error {
	for _, f := range s.files {
		data, err := os.ReadFile(f.at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && f.there && bytes.Equal(data, f.before) {
			continue
		}
		if err == nil {
			err = s.proc.WriteFile(f.name, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *staging) remove() { _ = os.RemoveAll(filepath.Join(s.tmp, s.run)) }

// renamed passes on what the tool prints with the host's names.
type renamed struct {
	w     io.Writer
	names [][2]string
	kept  string // may be the beginning of a name
}

func (r *renamed) Write(b []byte) (int, error) {
	text := r.kept + string(b)
	r.kept = ""
	for _, n := range r.names {
		text = strings.ReplaceAll(text, n[0], n[1])
	}
	for _, n := range r.names {
		for size := min(len(n[0])-1, len(text)); size > len(r.kept); size-- {
			if strings.HasPrefix(n[0], text[len(text)-size:]) {
				r.kept = text[len(text)-size:]
			}
		}
	}
	if _, err := io.WriteString(r.w, text[:len(text)-len(r.kept)]); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (r *renamed) flush() error {
	_, err := io.WriteString(r.w, r.kept)
	return err
}
