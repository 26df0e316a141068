// Package activation has a card run what was written: it restarts the host where that
// is allowed and wanted, proves that the right card runs it, and never restarts a host
// twice for the same content.
//
// It must not write to a card, restart a host that the provider may not restart, or
// decide which activation a change needs.
package activation
