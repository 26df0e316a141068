package sshhost

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconn"
)

// openSFTP starts the host's SFTP server on a session of the connection.
func openSFTP(ctx context.Context, l *sshconn.Conn) (*sftp.Client, func(), error) {
	ch, err := l.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	go ssh.DiscardRequests(ch.Requests)
	// The library knows no context; its reads end with the channel.
	stop := context.AfterFunc(ctx, func() { _ = ch.Close() })
	ok, err := ch.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"}))
	if err == nil && !ok {
		err = errors.New("the host's SSH server offers no SFTP; add `Subsystem sftp internal-sftp` to its sshd_config")
	}
	var client *sftp.Client
	if err == nil {
		first := &firstBytes{Reader: ch}
		client, err = sftp.NewClientPipe(first, halfClose{ch})
		err = first.explain(err)
	}
	if err != nil {
		stop()
		ch.Shut()
		return nil, nil, err
	}
	return client, func() {
		stop()
		// Nothing of value is in flight; nobody need wait for the server's farewell.
		go func() { _ = client.Close(); ch.Shut() }()
	}, nil
}

// firstBytes remembers how an answer begins.
type firstBytes struct {
	io.Reader
	begin []byte
}

func (f *firstBytes) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	f.begin = append(f.begin, p[:min(n, noiseLimit-len(f.begin))]...)
	return n, err
}

// noiseLimit bounds what is shown of text in front of the protocol.
const noiseLimit = 200

// errNoise says that something else than SFTP answered. ssh calls it "Received
// message too long": the text is taken for a length.
var errNoise = errors.New("the login shell prints text before the file transfer begins")

// explain tells a login shell that prints from a broken server: a packet begins with
// its length, whose first byte is zero.
func (f *firstBytes) explain(err error) error {
	if err == nil || len(f.begin) == 0 || f.begin[0] == 0 {
		return err
	}
	return fmt.Errorf("%w: %q", errNoise, f.begin)
}

// halfClose ends the client's side of a channel and lets the answers come.
type halfClose struct{ *sshconn.Channel }

func (c halfClose) Close() error { return c.CloseWrite() }
