// Package scenario puts simulated labs together: machines with all their
// programs, cards with real flash contents, switch and cables, SSH servers, keys and
// firmware images on disk. Tests, demos and the labsim program start from here.
//
// It must not know the provider: what it hands out are addresses, keys and files.
package scenario

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/cardprog"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/coreutil"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/osprog"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/shell"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/simssh"
)

// Names in the lab of the main scenario.
const (
	Intel9   = "intel9"
	Xeon2ZFS = "xeon2zfs"
	Switch   = "sw1"
)

// Options configure a lab.
type Options struct {
	// Dir gets keys, known_hosts and images. Required.
	Dir string
	// Speed is simulated seconds per real second, default 20.
	Speed float64
	// FlashDelay is the real time per 4 KiB sector of a burn, default 200 µs.
	FlashDelay time.Duration
	// Change may alter a machine's description before it is made.
	Change func(*labsim.Config)
	// NoImages leaves the image files out, for labs that only need hosts.
	NoImages bool
}

// Running is a lab that serves.
type Running struct {
	Lab     *labsim.Lab
	Servers map[string]*simssh.Server
	Images  map[string]card.File // by file name
	Dir     string
	// KeyFile and KnownHosts are paths for the client.
	KeyFile    string
	KnownHosts string

	clientKey ssh.Signer
}

// Crossflash starts the lab of the main scenario: two hosts with a ConnectX-3 Pro
// locked to Ethernet by its firmware, both ports of both cards on one unmanaged
// switch.
func Crossflash(o Options) (*Running, error) {
	r, err := open(o)
	if err != nil {
		return nil, err
	}
	r.Lab.AddSwitch(Switch, 0x0002c902004a1b00, 8)
	for i, c := range []labsim.Config{ubuntu(Intel9, 20, 0xe41d2de44ed0), trueNAS(Xeon2ZFS, 10, 0xe41d2d1f28c0)} {
		if err := r.add(o, c); err != nil {
			r.Close()
			return nil, err
		}
		if err := r.cable(c, Switch, 2*i); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, r.writeFiles()
}

// Many starts n Ubuntu hosts named h000, h001 … with one card each, eighteen hosts to
// a switch.
func Many(n int, o Options) (*Running, error) {
	r, err := open(o)
	if err != nil {
		return nil, err
	}
	for i := range n {
		c := ubuntu(fmt.Sprintf("h%03d", i), 0, 0xe41d2d000000+uint64(i)*0x10) //nolint:gosec // not negative
		c.Netdevs[0].Addrs = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, byte(2 + i/250), byte(1 + i%250)}), 16)}
		name := fmt.Sprintf("sw%02d", i/18)
		if i%18 == 0 {
			r.Lab.AddSwitch(name, 0x0002c902004a0000+uint64(i), 36) //nolint:gosec // not negative
		}
		err := r.add(o, c)
		if err == nil {
			err = r.cable(c, name, 2*(i%18))
		}
		if err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, r.writeFiles()
}

var wirePackages sync.Once

// Install puts every simulated program on a machine.
func Install(m *labsim.Machine) {
	// apt installs mstflint, whose programs are in cardprog.
	wirePackages.Do(func() { osprog.OnPackage["mstflint"] = cardprog.InstallMstflint })
	shell.Install(m)
	coreutil.Install(m)
	cardprog.Install(m)
	osprog.Install(m)
}

func open(o Options) (*Running, error) {
	if o.Dir == "" {
		return nil, errors.New("scenario: no directory given")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	if o.Speed == 0 {
		o.Speed = 20
	}
	if o.FlashDelay == 0 {
		o.FlashDelay = 200 * time.Microsecond
	}
	r := &Running{Dir: dir, Servers: map[string]*simssh.Server{}, KeyFile: filepath.Join(dir, "id_ed25519"), KnownHosts: filepath.Join(dir, "known_hosts")}
	r.Lab = labsim.New(labsim.Options{Dir: dir, Speed: o.Speed, FlashDelay: o.FlashDelay, Setup: []func(*labsim.Machine){Install}})
	signer, private, err := simssh.NewKey()
	if err != nil {
		return nil, fmt.Errorf("scenario: client key: %w", err)
	}
	r.clientKey = signer
	block, err := ssh.MarshalPrivateKey(private, "labsim client")
	if err != nil {
		return nil, fmt.Errorf("scenario: client key: %w", err)
	}
	if err := os.WriteFile(r.KeyFile, pem.EncodeToMemory(block), 0o600); err != nil {
		return nil, fmt.Errorf("scenario: client key: %w", err)
	}
	if o.NoImages {
		return r, nil
	}
	if r.Images, err = card.WriteImages(filepath.Join(dir, "images")); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Running) add(o Options, c labsim.Config) error {
	if o.Change != nil {
		o.Change(&c)
	}
	m, err := r.Lab.AddMachine(c)
	if err != nil {
		return err
	}
	s, err := simssh.Serve(m, r.clientKey.PublicKey())
	if err != nil {
		return err
	}
	r.Servers[c.Name] = s
	return nil
}

// cable plugs both ports of a machine's first card into a switch.
func (r *Running) cable(c labsim.Config, name string, after int) error {
	for port := 1; port <= 2; port++ {
		if err := r.Lab.Connect(labsim.CardEnd(c.Name, c.Cards[0].BDF, port), labsim.SwitchEnd(name, after+port)); err != nil {
			return err
		}
	}
	return nil
}

func mac(v uint64) []byte {
	return []byte{byte(v >> 40), byte(v >> 32), byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
}

var enImage = card.EN()

// proEN is a ConnectX-3 Pro as bought: Ethernet-only firmware, GUIDs all ones,
// real MACs.
func proEN(bdf, slot, serial string, base uint64) labsim.CardConfig {
	return labsim.CardConfig{
		BDF: bdf, Slot: slot, Product: "CX314A - ConnectX-3 Pro QSFP", PartNumber: "MCX314A-BCCT", SerialNumber: serial, SubsystemID: 0x0055,
		Config: card.Config{Chip: card.ConnectX3Pro, Image: enImage, GUIDs: card.BlankGUIDs, MACs: [2]uint64{base, base + 1}},
	}
}

func ubuntu(name string, last byte, base uint64) labsim.Config {
	return labsim.Config{
		Name: name, OS: labsim.Ubuntu,
		Users: []labsim.User{{Name: "ops", UID: 1000, GID: 1000, Home: "/home/ops", Shell: "/bin/bash", Sudo: labsim.SudoNoPasswd}},
		Cards: []labsim.CardConfig{proEN("0000:01:00.0", "", "MT1650X0"+fmt.Sprintf("%04X", base&0xffff), base)},
		Netdevs: []labsim.Netdev{{
			Name: "eno1", Type: labsim.TypeEthernet, Address: mac(0x02005e000000 | base&0xffffff), MTU: 1500, Up: true, SSH: true, Driver: "e1000e",
			Addrs: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, last}), 24)}, Gateway: netip.MustParseAddr("192.0.2.1"),
		}},
		Gateway: netip.MustParseAddr("192.0.2.1"),
	}
}

func trueNAS(name string, last byte, base uint64) labsim.Config {
	c := ubuntu(name, last, base)
	c.OS = labsim.TrueNAS
	c.Users = []labsim.User{{Name: "truenas_admin", UID: 950, GID: 950, Home: "/home/truenas_admin", Shell: "/usr/bin/bash", Sudo: labsim.SudoNoPasswd}}
	c.Cards = []labsim.CardConfig{proEN("0000:04:00.0", "4", "MT1650X0"+fmt.Sprintf("%04X", base&0xffff), base)}
	return c
}

// User is the account that logs in to a machine.
func (r *Running) User(machine string) string {
	for _, u := range r.Lab.Machine(machine).Users() {
		if u.UID != 0 {
			return u.Name
		}
	}
	return "root"
}

// Addr is host:port of a machine's SSH server.
func (r *Running) Addr(machine string) string { return r.Servers[machine].Addr.String() }

// ClientConfig logs in to a machine with the lab's key and checks its host key.
func (r *Running) ClientConfig(machine string) *ssh.ClientConfig {
	return &ssh.ClientConfig{
		User: r.User(machine), Auth: []ssh.AuthMethod{ssh.PublicKeys(r.clientKey)}, Timeout: 10 * time.Second,
		HostKeyCallback: ssh.FixedHostKey(r.Servers[machine].HostKey()),
	}
}

// Violations returns what the machines recorded, each with its name.
func (r *Running) Violations() []string {
	var list []string
	for _, m := range r.Lab.Machines() {
		for _, v := range m.Violations() {
			list = append(list, m.Name+": "+v)
		}
	}
	return list
}

// Close stops every machine and server.
func (r *Running) Close() {
	for _, name := range r.names() {
		r.Servers[name].Close()
	}
	for _, m := range r.Lab.Machines() {
		m.Destroy()
	}
}

func (r *Running) names() []string {
	names := make([]string, 0, len(r.Servers))
	for n := range r.Servers {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// knownHosts lists the host keys the way ssh keeps them.
func (r *Running) knownHosts() string {
	var b strings.Builder
	for _, name := range r.names() {
		s := r.Servers[name]
		fmt.Fprintf(&b, "[127.0.0.1]:%d %s", s.Addr.Port, ssh.MarshalAuthorizedKey(s.HostKey()))
	}
	return b.String()
}
