package modprobe

import "testing"

func TestParseLoadList(t *testing.T) {
	got := ParseLoadList("# comment\n; another\nib_ipoib\n\n  ib_umad \n")
	if len(got) != 2 || got[0] != "ib_ipoib" || got[1] != "ib_umad" {
		t.Errorf("%q", got)
	}
}

func TestNotFound(t *testing.T) {
	if !NotFound("modprobe: FATAL: Module ib_ipoib not found in directory /lib/modules/6.8.0-90-generic\n") {
		t.Error("a missing module is not recognised")
	}
	if NotFound("modprobe: ERROR: could not insert 'ib_ipoib': Operation not permitted\n") {
		t.Error("a refused module counts as missing")
	}
}
