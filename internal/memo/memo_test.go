package memo

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestMap_makes_once_for_all_that_wait(t *testing.T) {
	var m Map[string, int]
	var made atomic.Int32
	failed := errors.New("no")
	create := func() (int, error) { time.Sleep(10 * time.Millisecond); return int(made.Add(1)), failed }
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			if n, err := m.Get("a", "1", create); n != 1 || !errors.Is(err, failed) {
				t.Errorf("got %d, %v", n, err)
			}
		})
	}
	wait.Wait()
	if n, _ := m.Get("b", "1", create); n != 2 {
		t.Errorf("another key: %d", n)
	}
	if n, _ := m.Get("a", "2", create); n != 3 {
		t.Errorf("another version: %d", n)
	}
	if len(m.made) != 2 {
		t.Errorf("%d results are kept", len(m.made))
	}
}
