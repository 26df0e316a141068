// Package control lets another process look at a running lab and disturb it: a
// small JSON interface over a unix socket in the lab's directory.
//
// It must not offer anything that a test cannot do in process.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// SocketName is the socket in the lab's directory.
const SocketName = "control.sock"

// Server answers requests about one lab.
type Server struct {
	lab  *labs.Lab
	http *http.Server
	file string
	done chan struct{}

	mu  sync.Mutex
	out map[labsim.End]labsim.End // cables that were pulled out, by the end at a card
	// twins is how many cards were bought since; each has a number of its own.
	twins int
}

// Serve starts answering on DIR/control.sock, until Close.
func Serve(ctx context.Context, lab *labs.Lab) (*Server, error) {
	file := filepath.Join(lab.Dir, SocketName)
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("control: %w", err)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", file)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	s := &Server{lab: lab, file: file, done: make(chan struct{}), out: map[labsim.End]labsim.End{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", s.reply(s.status))
	mux.HandleFunc("GET /evidence", s.reply(s.evidence))
	mux.HandleFunc("POST /exec", s.reply(s.exec))
	mux.HandleFunc("POST /fault", s.reply(s.fault))
	mux.HandleFunc("POST /power", s.reply(s.power))
	mux.HandleFunc("POST /cable", s.reply(s.cable))
	mux.HandleFunc("POST /slot", s.reply(s.slot))
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // ends when Close ends it
	}()
	return s, nil
}

// Close stops answering.
func (s *Server) Close() {
	_ = s.http.Close()
	<-s.done
	_ = os.Remove(s.file)
}

func (s *Server) reply(handle func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := handle(r)
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			v = map[string]string{"error": err.Error()}
		}
		_ = json.NewEncoder(w).Encode(v)
	}
}

// Request is the body of every POST.
type Request struct {
	Host    string `json:"host"`
	User    string `json:"user,omitempty"`    // exec, default root
	Command string `json:"command,omitempty"` // exec: for the user's shell
	Stdin   string `json:"stdin,omitempty"`   // exec
	// power: cut, reboot, halt, start; cable: out, in; slot: exchange, renumber, move
	Action string `json:"action,omitempty"`
	// cable, slot: address of the card; empty for the only one of its host
	PCI   string            `json:"pci,omitempty"`
	To    string            `json:"to,omitempty"`    // slot move: the new address
	Port  int               `json:"port,omitempty"`  // cable
	Fault *labsim.FaultSpec `json:"fault,omitempty"` // fault: replaces what is set
}

// Result is what a command printed.
type Result struct {
	Exit   int    `json:"exit"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

func (s *Server) request(r *http.Request) (Request, *labsim.Machine, error) {
	var q Request
	dec := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return q, nil, fmt.Errorf("request: %w", err)
	}
	m := s.lab.Machine(q.Host)
	if m == nil {
		return q, nil, fmt.Errorf("no host %q in this lab", q.Host)
	}
	return q, m, nil
}

func (s *Server) exec(r *http.Request) (any, error) {
	q, m, err := s.request(r)
	if err != nil {
		return nil, err
	}
	if q.User == "" {
		q.User = "root"
	}
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Minute)
	defer cancel()
	var out, errOut bytes.Buffer
	status := s.lab.Servers[m.Name].Run(ctx, q.User, q.Command, strings.NewReader(q.Stdin), &out, &errOut)
	return Result{Exit: status, Stdout: out.String(), Stderr: errOut.String()}, nil
}

func (s *Server) fault(r *http.Request) (any, error) {
	q, m, err := s.request(r)
	if err != nil {
		return nil, err
	}
	if q.Fault == nil {
		return nil, errors.New("no fault given; {} makes the host healthy")
	}
	m.Faults.Set(*q.Fault)
	return m.Faults.Get(), nil
}

func (s *Server) power(r *http.Request) (any, error) {
	q, m, err := s.request(r)
	if err != nil {
		return nil, err
	}
	switch q.Action {
	case "cut":
		m.PowerCut()
	case "reboot":
		m.Reboot()
	case "halt":
		m.Halt()
	case "start":
		m.Start()
	default:
		return nil, fmt.Errorf("no power action %q: cut, reboot, halt or start", q.Action)
	}
	return map[string]any{"host": m.Name, "boots": m.Boots()}, nil
}

// theCard is the card that a request means.
func theCard(m *labsim.Machine, q *Request) (*labsim.Card, error) {
	all := m.Cards()
	if q.PCI == "" && len(all) == 1 {
		q.PCI = all[0].Config.BDF
	}
	var addresses []string
	for _, c := range all {
		if c.Config.BDF == q.PCI {
			return c, nil
		}
		addresses = append(addresses, c.Config.BDF)
	}
	if q.PCI == "" {
		return nil, fmt.Errorf("say which card of %s; there are %s", m.Name, strings.Join(addresses, ", "))
	}
	return nil, fmt.Errorf("%s has no card at %q; there are %s", m.Name, q.PCI, strings.Join(addresses, ", "))
}

// cable pulls the cable of a card's port out, or puts it back where it was.
func (s *Server) cable(r *http.Request) (any, error) {
	q, m, err := s.request(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err = theCard(m, &q); err != nil {
		return nil, err
	}
	at := labsim.CardEnd(m.Name, q.PCI, q.Port)
	there, connected := s.lab.Peer(at)
	before, pulled := s.out[at]
	switch {
	case q.Action == "out" && connected:
		s.lab.Disconnect(at)
		s.out[at] = there
	case q.Action == "in" && pulled:
		if err = s.lab.Connect(at, before); err != nil {
			return nil, err
		}
		delete(s.out, at)
	case q.Action != "out" && q.Action != "in":
		return nil, fmt.Errorf("no cable action %q: out or in", q.Action)
	default:
		return nil, fmt.Errorf("port %d of card %s in %s has no cable to pull %s", q.Port, q.PCI, m.Name, q.Action)
	}
	return map[string]any{"host": m.Name, "port": q.Port, "cable": q.Action}, nil
}

// firstTwin is beyond the numbers of the cards that labs begin with.
const firstTwin = 900

// slot switches a host off, changes what is in its slots, and switches it on.
func (s *Server) slot(r *http.Request) (any, error) {
	q, m, err := s.request(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := theCard(m, &q)
	if err != nil {
		return nil, err
	}
	switch q.Action {
	case "exchange":
		var twin *labsim.Spare
		if twin, err = labsim.NewSpare(labs.Twin(c.Config, firstTwin+s.twins)); err == nil {
			s.twins++
			_, err = m.Exchange(q.PCI, twin)
		}
	case "renumber":
		err = m.Rebuild(func() error { return m.Renumber(1) })
	case "move":
		err = s.lab.MoveCard(m, q.PCI, m, q.To)
	default:
		err = fmt.Errorf("no slot action %q: exchange, renumber or move", q.Action)
	}
	if err != nil {
		return nil, err
	}
	cards := map[string]string{}
	for _, now := range m.Cards() {
		cards[now.Config.BDF] = now.Config.SerialNumber
	}
	return map[string]any{"host": m.Name, "cards": cards}, nil
}
