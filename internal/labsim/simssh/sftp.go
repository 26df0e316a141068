package simssh

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// sftp serves the SFTP subsystem over the virtual files with the user's rights.
func (s *Server) sftp(conn *ssh.ServerConn, wire *line, ch ssh.Channel) {
	s.Machine.Count(func(n *labsim.Counters) { n.SFTP++ })
	user, _ := s.Machine.LookupUser(conn.User())
	h := &files{server: s, wire: wire, home: user.Home, cred: vfs.Cred{UID: user.UID, GIDs: s.Machine.GroupIDs(user.Name, user.GID)}}
	out := &gate{ch: ch}
	srv := sftp.NewRequestServer(out, sftp.Handlers{FileGet: h, FilePut: h, FileCmd: h, FileList: h},
		sftp.WithStartDirectory(user.Home))
	_ = srv.Serve()
	_ = srv.Close()
	out.finish(0)
}

type files struct {
	server *Server
	wire   *line
	home   string
	cred   vfs.Cred

	mu      sync.Mutex
	written int64
}

func (f *files) fs() *vfs.FS { return f.server.Machine.FS }

// Fileread implements sftp.FileReader.
func (f *files) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	h, err := f.fs().Open(f.cred, r.Filepath, os.O_RDONLY, 0)
	if err != nil {
		return nil, wireError(err)
	}
	return h, nil
}

// Filewrite implements sftp.FileWriter.
func (f *files) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	flags := r.Pflags()
	mode := os.O_WRONLY
	if flags.Creat {
		mode |= os.O_CREATE
	}
	if flags.Trunc {
		mode |= os.O_TRUNC
	}
	if flags.Excl {
		mode |= os.O_EXCL
	}
	h, err := f.fs().Open(f.cred, r.Filepath, mode, 0o664)
	if err != nil {
		return nil, wireError(err)
	}
	return &upload{files: f, file: h}, nil
}

// upload counts bytes, so that a connection can be cut inside a file.
type upload struct {
	files *files
	file  *vfs.File
}

// WriteAt implements io.WriterAt.
func (u *upload) WriteAt(p []byte, off int64) (int, error) {
	limit := u.files.server.Machine.Faults.Get().CutUploadAt
	u.files.mu.Lock()
	room := limit - u.files.written
	u.files.written += int64(len(p))
	u.files.mu.Unlock()
	if limit > 0 && room < int64(len(p)) {
		n, _ := u.file.WriteAt(p[:max(room, 0)], off)
		u.files.wire.cut()
		return n, io.ErrUnexpectedEOF
	}
	n, err := u.file.WriteAt(p, off)
	return n, wireError(err)
}

// Filecmd implements sftp.FileCmder.
func (f *files) Filecmd(r *sftp.Request) error {
	switch r.Method {
	case "Setstat":
		return wireError(f.setstat(r))
	case "Rename", "PosixRename":
		if r.Method == "Rename" {
			if _, err := f.fs().Stat(f.cred, r.Target, false); err == nil {
				return sftp.ErrSSHFxFailure
			}
		}
		return wireError(f.fs().Rename(f.cred, r.Filepath, r.Target))
	case "Rmdir", "Remove":
		return wireError(f.fs().Remove(f.cred, r.Filepath))
	case "Mkdir":
		return wireError(f.fs().Mkdir(f.cred, r.Filepath, 0o775))
	case "Symlink":
		return wireError(f.fs().Symlink(f.cred, r.Filepath, r.Target))
	}
	f.server.Machine.Violate("sftp: not simulated: %s", r.Method)
	return sftp.ErrSSHFxOpUnsupported
}

// PosixRename implements sftp.PosixRenameFileCmder.
func (f *files) PosixRename(r *sftp.Request) error {
	return wireError(f.fs().Rename(f.cred, r.Filepath, r.Target))
}

func (f *files) setstat(r *sftp.Request) error {
	flags, attrs := r.AttrFlags(), r.Attributes()
	if flags.Permissions {
		if err := f.fs().Chmod(f.cred, r.Filepath, attrs.FileMode().Perm()); err != nil {
			return err
		}
	}
	if flags.UidGid {
		if err := f.fs().Chown(f.cred, r.Filepath, int(attrs.UID), int(attrs.GID)); err != nil {
			return err
		}
	}
	if flags.Acmodtime {
		if err := f.fs().Chtimes(f.cred, r.Filepath, time.Unix(int64(attrs.Mtime), 0)); err != nil {
			return err
		}
	}
	if flags.Size {
		h, err := f.fs().Open(f.cred, r.Filepath, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return h.Truncate(int64(attrs.Size))
	}
	return nil
}

// Filelist implements sftp.FileLister.
func (f *files) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	switch r.Method {
	case "List":
		infos, err := f.fs().ReadDir(f.cred, r.Filepath)
		if err != nil {
			return nil, wireError(err)
		}
		list := make(lister, len(infos))
		for i, info := range infos {
			list[i] = info
		}
		return list, nil
	case "Stat":
		return f.one(r.Filepath, true)
	}
	f.server.Machine.Violate("sftp: not simulated: %s", r.Method)
	return nil, sftp.ErrSSHFxOpUnsupported
}

// Lstat implements sftp.LstatFileLister.
func (f *files) Lstat(r *sftp.Request) (sftp.ListerAt, error) { return f.one(r.Filepath, false) }

// Readlink implements sftp.ReadlinkFileLister.
func (f *files) Readlink(name string) (string, error) {
	t, err := f.fs().Readlink(f.cred, name)
	return t, wireError(err)
}

// RealPath implements sftp.RealPathFileLister. Clients ask it for "." to learn
// their home directory, and get the name as they wrote it.
func (f *files) RealPath(name string) (string, error) {
	if !path.IsAbs(name) {
		name = path.Join(f.home, name)
	}
	return path.Clean(name), nil
}

// StatVFS implements sftp.StatVFSFileCmder.
func (f *files) StatVFS(r *sftp.Request) (*sftp.StatVFS, error) {
	limit, used, err := f.fs().Space(r.Filepath)
	if err != nil {
		return nil, wireError(err)
	}
	free := uint64(max(limit-used, 0)) / 4096
	return &sftp.StatVFS{Bsize: 4096, Frsize: 4096, Blocks: uint64(limit) / 4096, Bfree: free, Bavail: free, Namemax: 255}, nil
}

func (f *files) one(name string, follow bool) (sftp.ListerAt, error) {
	info, err := f.fs().Stat(f.cred, name, follow)
	if err != nil {
		return nil, wireError(err)
	}
	return lister{info}, nil
}

type lister []fs.FileInfo

// ListAt implements sftp.ListerAt.
func (l lister) ListAt(out []fs.FileInfo, offset int64) (int, error) {
	if offset >= int64(len(l)) {
		return 0, io.EOF
	}
	n := copy(out, l[offset:])
	if n < len(out) {
		return n, io.EOF
	}
	return n, nil
}

// wireError turns an errno into what sftp-server of OpenSSH answers.
func wireError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOENT):
		return sftp.ErrSSHFxNoSuchFile
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EROFS):
		return sftp.ErrSSHFxPermissionDenied
	}
	return sftp.ErrSSHFxFailure
}
