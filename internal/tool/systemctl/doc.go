// Package systemctl builds the commands that ask and steer systemd, and reads
// what it says about units.
//
// It must not run anything.
package systemctl
