package sshconfig

import (
	"cmp"
	"strings"
	"sync"
)

// Tail keeps the last of what a program prints.
// The last, because a program says at its end why it ends.
type Tail struct {
	Most int // bytes; 0 is 2000
	mu   sync.Mutex
	kept []byte
}

func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	t.kept = t.kept[max(0, len(t.kept)-cmp.Or(t.Most, 2000)):]
	return len(b), nil
}

// String is what was kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

// Said is what was kept as a part of a message; empty if the program was silent.
func (t *Tail) Said() string {
	text := strings.Join(strings.Fields(t.String()), " ")
	if text == "" {
		return ""
	}
	return "; it said: " + text
}
