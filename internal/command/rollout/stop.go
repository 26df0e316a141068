package rollout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// stopFile is a file that the first rollout which fails writes, and all look at before each wave: shards are
// rollouts of their own, and equal cards fail alike in each of them. Empty is none.
type stopFile string

// stopError says that another rollout has failed, or an earlier one.
type stopError struct{ file, text string }

func (e *stopError) Error() string {
	return fmt.Sprintf("a rollout has failed, so no wave is begun. Mend it and remove %s, which says:\n%s", e.file, e.text)
}

// usable is an error if a failure could not be written.
func (s stopFile) usable() error {
	if s == "" {
		return nil
	}
	if info, err := os.Stat(string(s)); err == nil && info.IsDir() {
		return fmt.Errorf("-stop-file: %s is a directory", s)
	}
	// Not the file itself: others would stop.
	probe, err := os.CreateTemp(filepath.Dir(string(s)), ".infiniband-rollout-*")
	if err != nil {
		return fmt.Errorf("-stop-file: nothing can be written there: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// check is *stopError if the file is there. One that cannot be read is taken for one that is.
func (s stopFile) check() error {
	if s == "" {
		return nil
	}
	text, err := os.ReadFile(string(s))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		text = []byte(err.Error())
	}
	return &stopError{string(s), strings.TrimSpace(string(text))}
}

// write notes a failure, and says what to do with the file.
func (s stopFile) write(failure error) string {
	if s == "" {
		return ""
	}
	if err := os.WriteFile(string(s), []byte(failure.Error()+"\n"), 0o600); err != nil {
		return "stop other rollouts by hand, because " + string(s) + " cannot be written: " + err.Error()
	}
	return "remove " + string(s)
}
