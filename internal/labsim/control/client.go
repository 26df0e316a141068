package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
)

// Client talks to a running lab.
type Client struct{ http *http.Client }

// Dial returns a client of the lab in a directory; the first call connects.
func Dial(dir string) *Client {
	file := filepath.Join(dir, SocketName)
	return &Client{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", file)
		},
	}}}
}

// Get reads one of status and evidence as JSON text.
func (c *Client) Get(ctx context.Context, what string) ([]byte, error) {
	return c.do(ctx, http.MethodGet, what, nil)
}

// Post sends a request to exec, fault, power, cable or slot and returns the JSON answer.
func (c *Client) Post(ctx context.Context, what string, q Request) ([]byte, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return c.do(ctx, http.MethodPost, what, bytes.NewReader(body))
}

// Exec runs a command as root on a host.
func (c *Client) Exec(ctx context.Context, host, command string) (Result, error) {
	var r Result
	answer, err := c.Post(ctx, "exec", Request{Host: host, Command: command})
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(answer, &r)
}

func (c *Client) do(ctx context.Context, method, what string, body io.Reader) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://lab/"+what, body)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("control: is the lab running? %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("control: %s", bytes.TrimSpace(answer))
	}
	return answer, nil
}
