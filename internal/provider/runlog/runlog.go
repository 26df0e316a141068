// Package runlog writes run.log below backup_dir, which says line by line how far the
// writes of cards are: made for "tail -f".
//
// It must not stop or delay what it tells of.
package runlog

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// Name is the file below backup_dir.
const Name = "run.log"

// Log is the file of one backup_dir. It is safe for concurrent use.
type Log struct {
	dir string // empty: no log

	mu      sync.Mutex
	problem error
	told    bool
	warned  bool // see WarnOfRunner
}

// New is the log below a directory, which is made with the first line.
func New(dir string) *Log { return &Log{dir: dir} }

// Add appends a line for a step. A line that cannot be written is lost, and Warn says so.
func (l *Log) Add(s journal.Step) {
	if l.dir == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(diagnostic.Visible(s.String()) + "\n"); err != nil && l.problem == nil {
		l.problem = err
	}
}

// write appends by one call to a file that is opened for appending: so two applies at
// once, on one machine or on a file server, do not mix their lines.
func (l *Log) write(line string) error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(l.dir, Name)
	// To open a pipe waits for its reader.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return errors.New(path + " is no regular file")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// Warn says once that lines could not be written.
func (l *Log) Warn(diags *diag.Diagnostics) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.problem == nil || l.told {
		return
	}
	l.told = true
	diags.AddWarning("Unable to write "+filepath.Join(l.dir, Name),
		diagnostic.Sentence("Lines about the progress of this apply are missing in it: "+diagnostic.Line(l.problem.Error()))+
			" The change itself does not depend on it. Mend the file or its directory, or remove it.")
}

// WarnOfRunner says once, where a plan needs backups, that backup_dir is in the folder that a job of a CI was checked
// out to. Runners remove it, and those that keep it clean it of what is not in the repository (git clean -ffdx).
func (l *Log) WarnOfRunner(diags *diag.Diagnostics) {
	workspace := cmp.Or(os.Getenv("GITHUB_WORKSPACE"), os.Getenv("CI_PROJECT_DIR"))
	if l == nil || l.dir == "" || os.Getenv("CI") != "true" || workspace == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	dir, err := filepath.Abs(l.dir)
	if err == nil {
		dir, err = filepath.Rel(workspace, dir)
	}
	if err != nil || l.warned || !filepath.IsLocal(dir) {
		return
	}
	l.warned = true
	diags.AddWarning("The backups of this apply will be gone: backup_dir is in the workspace of a CI job",
		"A runner removes its workspace after the job, or cleans it before the next one. The backup is the way back to the "+
			"present firmware.\n\nName a backup_dir that outlives the job. Or copy it out of the workspace at the end of the "+
			"job, also of one that failed.\n\nbackup_dir: "+diagnostic.Line(l.dir)+"\nworkspace: "+diagnostic.Line(workspace))
}
