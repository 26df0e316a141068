// Package iperf3 builds the commands of iperf3 and reads its JSON.
//
// It must not run anything.
package iperf3

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"
)

// Server returns the arguments of a server that ends after one test.
func Server(addr netip.Addr, port int) []string {
	return []string{"iperf3", "-s", "-1", "-B", addr.String(), "-p", strconv.Itoa(port)}
}

// Client returns the arguments of a test of TCP towards addr.
func Client(addr netip.Addr, port int, length time.Duration, streams int) []string {
	return []string{
		"iperf3", "-c", addr.String(), "-p", strconv.Itoa(port), "-t", strconv.Itoa(int(length.Seconds())),
		"-P", strconv.Itoa(streams), "--connect-timeout", "5000", "-J",
	}
}

// Result is what the receiving end counted.
type Result struct {
	BitsPerSecond float64
	Retransmits   int
}

// Error is what iperf3 reports instead of a result.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

// Parse reads the output of Client. With -J an error is in the document and the
// exit status is 0 (iperf 3.12), so that the status says nothing.
func Parse(out []byte) (Result, error) {
	var doc struct {
		Error string `json:"error"`
		End   struct {
			Sent struct {
				Retransmits int `json:"retransmits"`
			} `json:"sum_sent"`
			Received *struct {
				BitsPerSecond float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return Result{}, fmt.Errorf("not the JSON of iperf3: %w", err)
	}
	switch {
	case doc.Error != "":
		return Result{}, &Error{doc.Error}
	case doc.End.Received == nil:
		return Result{}, errors.New("the JSON of iperf3 has no end.sum_received")
	}
	return Result{BitsPerSecond: doc.End.Received.BitsPerSecond, Retransmits: doc.End.Sent.Retransmits}, nil
}
