package host

// Event is one thing done over the transport, for counting and tests.
type Event struct {
	Kind       string // "dial", "run", "upload", "download"
	What       string // address, redacted command, or path
	Fresh      bool   // over a connection of its own
	RoundTrips int    // times that the transport waited for the host; a file's bytes count as one
	Err        error
}
