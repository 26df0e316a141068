package acctest

import (
	"testing"
	"time"
)

func TestCore_two_hosts(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	ws := w.Workspace()
	b := time.Now()
	cfg := w.BothHosts()
	applied(t, ws, cfg)
	t.Log(time.Since(b))
	b = time.Now()
	emptyPlan(t, ws, cfg)
	t.Log(time.Since(b))
}
