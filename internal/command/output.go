package command

import (
	"io"
	"os"
	"sync"
)

// output is standard output that remembers the first failure of a write.
type output struct {
	io.Writer

	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	return n, err
}

func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// OutFile is the file that Out writes to, such as a terminal; ok is false if it is none.
func (s Streams) OutFile() (file *os.File, ok bool) {
	to := s.Out
	if o, wrapped := to.(*output); wrapped {
		to = o.Writer
	}
	file, ok = to.(*os.File)
	return file, ok
}
