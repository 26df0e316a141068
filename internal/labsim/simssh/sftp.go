package simssh

import (
	"errors"
	"io"
	"os"
	"path"
	"sync"
	"syscall"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// sftp serves the SFTP subsystem over the virtual files with the user's rights.
func (s *Server) sftp(conn *ssh.ServerConn, wire *line, ch ssh.Channel) {
	s.Machine.Count(func(n *labsim.Counters) { n.SFTP++ })
	user, _ := s.Machine.LookupUser(conn.User())
	h := &files{server: s, wire: wire, home: user.Home,
		cred: vfs.Cred{UID: user.UID, GIDs: s.Machine.GroupIDs(user.Name, user.GID)}}
	out := &gate{ch: ch}
	// The server of Debian is a program that the login shell starts.
	_, _ = io.WriteString(out, s.Machine.Faults.Get().LoginPrints)
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
		if flags := r.AttrFlags(); flags.Permissions && !flags.UidGid && !flags.Acmodtime && !flags.Size {
			return wireError(f.fs().Chmod(f.cred, r.Filepath, r.Attributes().FileMode().Perm()))
		}
	case "Mkdir":
		return wireError(f.fs().Mkdir(f.cred, r.Filepath, 0o775))
	case "Remove":
		return wireError(f.fs().Remove(f.cred, r.Filepath))
	}
	f.server.Machine.Violate("sftp: not simulated: %s", r.Method)
	return sftp.ErrSSHFxOpUnsupported
}

// Fileread implements sftp.FileReader.
func (f *files) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	f.server.Machine.Violate("sftp: not simulated: %s", r.Method)
	return nil, sftp.ErrSSHFxOpUnsupported
}

// Filelist implements sftp.FileLister.
func (f *files) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	if r.Method == "Stat" {
		info, err := f.fs().Stat(f.cred, r.Filepath, true)
		if err != nil {
			return nil, wireError(err)
		}
		return one{info}, nil
	}
	f.server.Machine.Violate("sftp: not simulated: %s", r.Method)
	return nil, sftp.ErrSSHFxOpUnsupported
}

// RealPath implements sftp.RealPathFileLister. Clients ask it for "." to learn
// their home directory, and get the name as they wrote it.
func (f *files) RealPath(name string) (string, error) {
	if !path.IsAbs(name) {
		name = path.Join(f.home, name)
	}
	return path.Clean(name), nil
}

// StatVFS implements sftp.StatVFSFileCmder. Clients ask it after a write that
// failed: SFTP has no status for a full disk.
func (f *files) StatVFS(r *sftp.Request) (*sftp.StatVFS, error) {
	limit, used, err := f.fs().Space(r.Filepath)
	if err != nil {
		return nil, wireError(err)
	}
	const block = 4096
	free := uint64(max(limit-used, 0)) / block
	return &sftp.StatVFS{Bsize: block, Frsize: block, Blocks: uint64(limit) / block, Bfree: free, Bavail: free, Namemax: 255}, nil
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

// one is the answer to a question for one file.
type one struct{ info os.FileInfo }

func (o one) ListAt(to []os.FileInfo, at int64) (int, error) {
	if at > 0 || len(to) == 0 {
		return 0, io.EOF
	}
	to[0] = o.info
	return 1, io.EOF
}
