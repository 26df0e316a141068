package benchmark

import "testing"

// A server that does not listen yet is asked again, whichever line of the client says so.
func TestRefusal_is_recognised(t *testing.T) {
	for _, text := range []string{
		"Couldn't connect to 10.77.0.2:18515\n Unable to open file descriptor for socket connection Unable to init the socket connection",
		"qperf: failed to connect to 10.77.0.2",
	} {
		if said := refusal(text); !isRefused(said) {
			t.Errorf("%q: %q", text, said)
		}
	}
}
