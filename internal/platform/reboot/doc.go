// Package reboot restarts a host with proof: another boot id than before, and a system that
// has finished starting. It runs the user's drain and resume commands around it.
//
// It must not decide whether a host may be restarted, or how its system does it.
package reboot
