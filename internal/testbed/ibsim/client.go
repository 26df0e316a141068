//go:build testbed && linux

package ibsim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The protocol of ibsim's clients, as include/ibsim.h of ibsim has it: datagrams
// of fixed size on two sockets, one for control and one for packets. Numbers are
// in the machine's byte order but for what is copied from a datagram header.
const (
	ctlMagic   = 0xdeadbeef
	ctlData    = 64
	ctlSize    = 16 + ctlData
	packetSize = 32 + madSize
	madSize    = 256
)

// Control requests.
const (
	ctlError      = 0
	ctlConnect    = 1
	ctlDisconnect = 2
	ctlSetIsSM    = 9
	ctlGetPKeys   = 10
)

// undeliverable is the status of a packet that comes back to its sender.
const undeliverable = 110

// client is a node's adapter as ibsim sees it: everything that the node's
// programs send leaves through its first port.
type client struct {
	ctl     *net.UnixConn
	packets *net.UnixConn
	number  uint32

	ask  sync.Mutex // one question at a time
	send sync.Mutex
}

var clients atomic.Int64

// connect attaches to a node of a fabric.
func (f *Fabric) connect(node string) (*client, error) {
	number := int(clients.Add(1))
	c := &client{}
	var err error
	// ibsim says that it is ready before it listens.
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if c.ctl, err = dial(f.socketOf("ctl", number), f.socketOf("ctl", -1)); err == nil {
			break
		}
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(end) {
			return nil, err
		}
	}
	// ibsim connects its end to this name as soon as it accepts the client.
	local := &net.UnixAddr{Name: f.socketOf("in", number), Net: "unixgram"}
	reserved, err := net.ListenUnixgram("unixgram", local)
	if err != nil {
		return nil, errors.Join(err, c.ctl.Close())
	}
	info := make([]byte, ctlData)
	binary.NativeEndian.PutUint32(info, uint32(number))
	copy(info[12:43], node)
	answer, err := c.control(ctlConnect, info)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ibsim: attach to the node %s: %w", node, err), c.ctl.Close(), reserved.Close())
	}
	if got := strings.TrimRight(string(answer[12:44]), "\x00"); got != node {
		return nil, errors.Join(fmt.Errorf("ibsim: attached to %q instead of %q", got, node), c.ctl.Close(), reserved.Close())
	}
	c.number = binary.NativeEndian.Uint32(answer)
	c.packets = reserved
	_ = c.packets.SetReadBuffer(1 << 22)
	return c, nil
}

func dial(local, remote string) (*net.UnixConn, error) {
	return net.DialUnix("unixgram", &net.UnixAddr{Name: local, Net: "unixgram"},
		&net.UnixAddr{Name: remote, Net: "unixgram"})
}

// control asks ibsim and returns the data of its answer.
func (c *client) control(kind uint32, data []byte) ([]byte, error) {
	c.ask.Lock()
	defer c.ask.Unlock()
	m := make([]byte, ctlSize)
	for i, v := range []uint32{ctlMagic, c.number, kind, uint32(len(data))} {
		binary.NativeEndian.PutUint32(m[4*i:], v)
	}
	copy(m[16:], data)
	if err := c.ctl.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := c.ctl.Write(m); err != nil {
		return nil, err
	}
	if _, err := c.ctl.Read(m); err != nil {
		return nil, err
	}
	if binary.NativeEndian.Uint32(m[8:]) == ctlError {
		return nil, errors.New("ibsim refuses")
	}
	return m[16:], nil
}

// packet is a datagram on its way: LIDs and queue pairs as they stand in the
// header that a program gave, most significant byte first.
type packet struct {
	dlid, slid [2]byte
	dqp, sqp   [4]byte
	status     uint32
	mad        [madSize]byte
}

func (p *packet) encode() []byte {
	b := make([]byte, packetSize)
	copy(b[0:], p.dlid[:])
	copy(b[4:], p.slid[:])
	copy(b[8:], p.dqp[:])
	copy(b[12:], p.sqp[:])
	binary.BigEndian.PutUint64(b[24:], madSize)
	copy(b[32:], p.mad[:])
	return b
}

func decode(b []byte) *packet {
	p := &packet{dlid: [2]byte(b[0:]), slid: [2]byte(b[4:]), dqp: [4]byte(b[8:]), sqp: [4]byte(b[12:]),
		status: binary.BigEndian.Uint32(b[16:])}
	copy(p.mad[:], b[32:])
	return p
}

// put sends packets in order, with none of others between.
func (c *client) put(f *Fabric, list ...*packet) error {
	c.send.Lock()
	defer c.send.Unlock()
	to := &net.UnixAddr{Name: f.socketOf("out", int(c.number)), Net: "unixgram"}
	for _, p := range list {
		if _, err := c.packets.WriteToUnix(p.encode(), to); err != nil {
			return err
		}
	}
	return nil
}

// receive hands over every packet until the client is closed.
func (c *client) receive(take func(*packet)) {
	b := make([]byte, packetSize)
	for {
		n, err := c.packets.Read(b)
		if err != nil {
			return
		}
		if n == packetSize {
			take(decode(b))
		}
	}
}

func (c *client) close() {
	_, _ = c.control(ctlDisconnect, nil)
	_ = c.ctl.Close()
	_ = c.packets.Close()
}
