package iperf3

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

func TestParse(t *testing.T) {
	data, err := os.ReadFile("testdata/two-streams.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Parse(data)
	if err != nil || r.Retransmits != 5 || int(r.BitsPerSecond) != 3857353667 {
		t.Errorf("%v %+v", err, r)
	}
	var said *Error
	if _, err = Parse([]byte(`{"start":{"connected":[]},"end":{},"error":"unable to connect to server: Connection refused"}`)); !errors.As(err, &said) {
		t.Errorf("got %v", err)
	}
	for text, want := range map[string]string{
		"iperf3: error": "not the JSON of iperf3: invalid character 'i' looking for beginning of value",
		`{"end":{}}`:    "the JSON of iperf3 has no end.sum_received",
	} {
		if _, err = Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// The real program over the loopback interface.
func TestClient_real_iperf3(t *testing.T) {
	realtool.Path(t, "iperf3")
	lo, port := netip.MustParseAddr("127.0.0.1"), 25201
	client := Client(lo, port, time.Second, 2)
	out, err := exec.CommandContext(t.Context(), client[0], client[1:]...).Output()
	var said *Error
	if _, parsed := Parse(out); !errors.As(parsed, &said) ||
		said.Message != "unable to connect to server: Connection refused" &&
			said.Message != "unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.: Connection refused" {
		t.Errorf("without a server: %v %v", err, parsed)
	}
	server := Server(lo, port)
	run := exec.CommandContext(t.Context(), server[0], server[1:]...)
	if err = run.Start(); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		time.Sleep(100 * time.Millisecond)
		out, _ = exec.CommandContext(t.Context(), client[0], client[1:]...).Output()
		if _, err = Parse(out); !errors.As(err, &said) {
			break
		}
	}
	r, err := Parse(out)
	if err != nil || r.BitsPerSecond < 1e6 {
		t.Errorf("%v %+v\n%s", err, r, out)
	}
	if err = run.Wait(); err != nil {
		t.Errorf("the server: %v", err)
	}
}
