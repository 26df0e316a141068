// Package diagnostic makes diagnostics of errors and findings, in texts that leave a
// terminal alone.
//
// It must not decide whether a change is safe, and never asks a host.
package diagnostic
