//go:build linux

package fabric_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// The real tools reach a port of the fabric by libumad2sim, a library that takes the place
// of the kernel's umad files and speaks datagrams to ibsim over Unix sockets of abstract
// names (include/ibsim.h of ibsim 0.10). What stands here is that other end, with this
// fabric instead of ibsim's.

// Types of a control message, and its layout: magic, client, type and length, then data.
const (
	ctlConnect, ctlDisconnect            = 1, 2
	ctlVendor, ctlNodeInfo, ctlPortInfo  = 4, 7, 8
	ctlIsSM, ctlPKeys                    = 9, 10
	ctlHead, ctlSize                     = 16, 80
	requestHead, requestSize             = 32, 288
	requestDLID, requestSLID, requestDQP = 0, 4, 8
	requestSQP, requestLength            = 12, 24
	mostClients                          = 16
)

const (
	classDirected, classPerformance    = 0x81, 0x04
	methodGet, methodSet, methodRepres = 1, 2, 7
)

var (
	be      = binary.BigEndian
	le      = binary.LittleEndian
	serials atomic.Int64
)

// toolHost is a machine with one port, as far as management goes.
type toolHost struct {
	cache  string // where opensm keeps what it knows of ports; empty: a new directory for each
	t      *testing.T
	name   string // of the sockets
	world  *wire.World
	port   *fabric.HCAPort
	guid   uint64
	ctl    *net.UnixConn
	active []bool

	mu      sync.Mutex
	clients [mostClients]*toolClient
}

// toolClient is one running program.
type toolClient struct {
	conn *net.UnixConn
	to   *net.UnixAddr
	isSM bool
	asks map[uint64]bool // transactions that wait for an answer
}

func newToolHost(t *testing.T, w *wire.World, name string, guid uint64) *toolHost {
	t.Helper()
	h := &toolHost{t: t, name: fmt.Sprintf("reallab-%d-%d", os.Getpid(), serials.Add(1)), world: w, guid: guid}
	h.port = fabric.NewHCAPorts(w, 1, h)[0]
	w.Do(func() {
		h.port.Reset(fabric.Node{Description: name, GUID: guid, System: guid + 3, Ports: 1, Device: 0x1007}, guid+1)
		h.port.Enable(true)
	})
	h.ctl = h.listen(":ctl")
	go h.control()
	return h
}

// listen opens a socket. Names end with a zero byte, as those of the library do.
func (h *toolHost) listen(suffix string) *net.UnixConn {
	h.t.Helper()
	c, err := net.ListenUnixgram("unixgram", h.address(suffix))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (h *toolHost) address(suffix string) *net.UnixAddr {
	return &net.UnixAddr{Name: "@" + h.name + suffix + "\x00", Net: "unixgram"}
}

func (h *toolHost) control() {
	b := make([]byte, ctlSize)
	for {
		n, from, err := h.ctl.ReadFromUnix(b)
		if err != nil {
			return
		}
		if n != ctlSize {
			continue
		}
		if !h.serve(le.Uint32(b[4:]), le.Uint32(b[8:]), b[ctlHead:]) {
			le.PutUint32(b[8:], 0)
		}
		from.Name += "\x00" // which the net package takes off
		_, _ = h.ctl.WriteToUnix(b, from)
	}
}

// serve answers a control message in place.
func (h *toolHost) serve(client, kind uint32, d []byte) bool {
	switch kind {
	case ctlConnect:
		return h.connect(d)
	case ctlDisconnect:
		h.mu.Lock()
		defer h.mu.Unlock()
		if client < mostClients && h.clients[client] != nil {
			_ = h.clients[client].conn.Close()
			h.clients[client] = nil
		}
	case ctlVendor:
		le.PutUint32(d, 0x2c9)
		le.PutUint32(d[4:], 0x1007)
	case ctlNodeInfo:
		copy(d, h.ask(0x11, 0))
	case ctlPortInfo:
		copy(d, h.ask(0x15, 0))
	case ctlPKeys:
		copy(d, h.ask(0x16, 0))
	case ctlIsSM:
		const isSM = 1 << 1
		on := le.Uint32(d) != 0
		h.mu.Lock()
		if client < mostClients && h.clients[client] != nil {
			h.clients[client].isSM = on
		}
		h.mu.Unlock()
		mask := be.Uint32(h.ask(0x15, 0)[20:]) &^ isSM
		if on {
			mask |= isSM
		}
		h.world.Do(func() { h.port.SetCapabilities(mask) })
	default:
		return false
	}
	return true
}

// connect takes a program; its process number names its socket.
func (h *toolHost) connect(d []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.clients {
		if h.clients[i] != nil {
			continue
		}
		c := &toolClient{to: h.address(fmt.Sprintf(":in%d", le.Uint32(d))), isSM: le.Uint32(d[8:]) != 0, asks: map[uint64]bool{}}
		c.conn = h.listen(fmt.Sprintf(":out%d", i))
		h.clients[i] = c
		le.PutUint32(d, uint32(i))
		go h.pump(c)
		return true
	}
	return false
}

// ask gets an attribute of the port itself.
func (h *toolHost) ask(attribute uint16, modifier uint32) []byte {
	m := newMAD(1, methodGet, attribute, modifier)
	var out []byte
	h.world.Do(func() { out, _ = h.port.MAD(m, 0, true) })
	return out[64:128]
}

func newMAD(class, method byte, attribute uint16, modifier uint32) []byte {
	m := make([]byte, fabric.MADSize)
	m[0], m[1], m[2], m[3] = 1, class, 1, method
	be.PutUint16(m[16:], attribute)
	be.PutUint32(m[20:], modifier)
	return m
}

// pump sends what a program sends.
func (h *toolHost) pump(c *toolClient) {
	b := make([]byte, requestSize)
	for {
		n, err := c.conn.Read(b)
		if err != nil {
			return
		}
		if n == requestSize {
			h.send(c, append([]byte(nil), b...))
		}
	}
}

// send does what the kernel does with a datagram of a program: the first hop of a directed
// route is its own, and one of no hops is for the port itself.
func (h *toolHost) send(c *toolClient, b []byte) {
	m := b[requestHead:]
	if m[3]&0x80 == 0 {
		h.mu.Lock()
		c.asks[be.Uint64(m[8:])] = true
		h.mu.Unlock()
	}
	k := &wire.Packet{DLID: be.Uint16(b[requestDLID:]), DestQP: be.Uint32(b[requestDQP:]), SrcQP: be.Uint32(b[requestSQP:]),
		PKey: h.port.PKey(0), QKey: 0x80010000, Opcode: wire.UDSend, Payload: m}
	h.world.Do(func() {
		switch {
		case m[1] == classDirected && be.Uint16(m[32:]) == wire.Permissive && m[7] == 0:
			k.SLID, k.SrcQP = wire.Permissive, 0
			h.incoming(k)
		case m[1] == classDirected && be.Uint16(m[32:]) == wire.Permissive:
			m[6] = 1
			k.SLID, k.DLID = wire.Permissive, wire.Permissive
			h.port.Send(k)
		default:
			k.SLID = h.port.LID()
			h.port.Send(k)
		}
	})
}

// StateChanged implements fabric.Events.
func (h *toolHost) StateChanged(_ int, active bool) { h.active = append(h.active, active) }

// Deliver implements fabric.Events.
func (h *toolHost) Deliver(_ int, k *wire.Packet) {
	if len(k.Payload) == fabric.MADSize && k.DestQP <= 1 {
		h.incoming(k)
	}
}

// incoming gives answers to who asked, requests of agents to the port, and what is for a
// subnet manager to it.
func (h *toolHost) incoming(k *wire.Packet) {
	m := k.Payload
	const smInfo = 0x20
	agent := m[3] <= methodSet && m[1] != 0x03 && be.Uint16(m[16:]) != smInfo || m[3] == methodRepres
	switch {
	case m[3]&0x80 != 0:
		h.toProgram(k, func(c *toolClient) bool { return c.asks[be.Uint64(m[8:])] })
	case !agent:
		h.toProgram(k, func(c *toolClient) bool { return c.isSM })
	default:
		h.answer(k)
	}
}

// answer has the port's agent answer.
func (h *toolHost) answer(k *wire.Packet) {
	back := h.port.Answer(k)
	switch {
	case back == nil:
	case k.Payload[1] == classDirected && k.Payload[7] == 0:
		h.incoming(back)
	default:
		h.port.Send(back)
	}
}

// toProgram gives a datagram to the program that wants it.
func (h *toolHost) toProgram(k *wire.Packet, wants func(*toolClient) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.clients {
		if c == nil || !wants(c) {
			continue
		}
		b := make([]byte, requestSize)
		be.PutUint16(b[requestDLID:], k.DLID)
		be.PutUint16(b[requestSLID:], k.SLID)
		be.PutUint32(b[requestDQP:], k.DestQP)
		be.PutUint32(b[requestSQP:], k.SrcQP)
		be.PutUint64(b[requestLength:], fabric.MADSize)
		copy(b[requestHead:], k.Payload)
		delete(c.asks, be.Uint64(k.Payload[8:]))
		_, _ = c.conn.WriteToUnix(b, c.to)
		return
	}
}

// command is a program on the host.
func (h *toolHost) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	h.t.Helper()
	dir := h.t.TempDir()
	cmd := exec.CommandContext(ctx, realtool.Path(h.t, "ibsim-run"), append([]string{realtool.Path(h.t, program)}, args...)...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+h.name, "LC_ALL=C", "OSM_TMP_DIR="+dir, "OSM_CACHE_DIR="+dir)
	return cmd
}

// run gives what a program prints.
func (h *toolHost) run(program string, args ...string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 30*time.Second)
	defer cancel()
	out, err := h.command(ctx, program, args...).CombinedOutput()
	_, answer, _ := strings.Cut(string(out), "attached as client") // and a line of the library
	_, answer, _ = strings.Cut(answer, "\n")
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		h.t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return answer
}

// opensm runs a subnet manager until the test ends; its log grows. It sweeps only when it
// is told that something has changed. options are lines of its configuration.
func (h *toolHost) opensm(options string, args ...string) *subnetManager {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "opensm.conf")
	if err := os.WriteFile(file, []byte("sweep_interval 0\n"+options), 0o600); err != nil {
		h.t.Fatal(err)
	}
	cmd := h.command(context.WithoutCancel(h.t.Context()), "opensm", append([]string{"-F", file, "-f", "osm.log", "-d", "2", "-g",
		fmt.Sprintf("%#x", h.guid+1)}, args...)...)
	out := &realtool.Transcript{}
	cmd.Stdout, cmd.Stderr = out, out
	if h.cache != "" {
		cmd.Env = append(cmd.Env, "OSM_CACHE_DIR="+h.cache)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	s := &subnetManager{t: h.t, log: filepath.Join(cmd.Dir, "osm.log")}
	s.kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	h.t.Cleanup(func() {
		s.kill()
		if h.t.Failed() {
			h.t.Logf("opensm's log:\n%s", s.text())
		}
	})
	return s
}

type subnetManager struct {
	t    *testing.T
	log  string
	seen int // bytes of the log before the last change
	kill func()
}

func (s *subnetManager) text() string {
	b, _ := os.ReadFile(s.log)
	return string(b)
}

// await waits for a new line with a text.
func (s *subnetManager) await(text string) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		all := s.text()
		if at := strings.Index(all[min(s.seen, len(all)):], text); at >= 0 {
			s.seen += at + len(text)
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("opensm does not say %q", text)
		}
	}
}
