package flock

import (
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

func TestWrap_keeps_the_command(t *testing.T) {
	cmd := shellcmd.New("mstflint", "-d", "0000:01:00.0", "sg").AsRoot().Changes().WithStdin("y\n").WithTimeout(time.Minute)
	got := Exclusive(cmd)
	if want := "flock -n -E 75 " + File + " mstflint -d 0000:01:00.0 sg"; got.String() != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !got.Root() || !got.Changing() || got.Stdin() != "y\n" || got.Timeout() != time.Minute {
		t.Error("the wrapped command lost a property")
	}
	read := Shared(shellcmd.New("mstflint", "-v"))
	if want := "flock -s -n -E 75 " + File + " mstflint -v"; read.String() != want {
		t.Errorf("got  %s\nwant %s", read, want)
	}
	if read.Root() || read.Changing() {
		t.Error("the wrapped command gained a property")
	}
}
