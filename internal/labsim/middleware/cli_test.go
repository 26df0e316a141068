package middleware

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

var admin = Caller{FullAdmin: true}

func midclt(s *Server, who Caller, argv ...string) (rc int, stdout, stderr string) {
	var out, errw bytes.Buffer
	c := &CLI{Server: s, Caller: who, Stdout: &out, Stderr: &errw}
	rc = c.Run(argv)
	return rc, out.String(), errw.String()
}

func load(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func TestPrintingAndArguments(t *testing.T) {
	var sheet struct {
		Printing []struct {
			Returned json.RawMessage
			Stdout   string
		}
		Args []struct {
			Argv  string
			Param json.RawMessage
		} `json:"argument_parsing"`
		Usage []struct {
			Argv   []string
			RC     int
			Stderr string
		} `json:"usage_errors"`
	}
	load(t, "midclt.json", &sheet)
	for _, p := range sheet.Printing {
		if got := pythonPrint(decodeArg(string(p.Returned))) + "\n"; got != p.Stdout {
			t.Errorf("%s printed as %q, want %q", p.Returned, got, p.Stdout)
		}
	}
	for _, a := range sheet.Args {
		if got := encode(decodeArg(a.Argv)); got != string(a.Param) {
			t.Errorf("argument %s became %s, want %s", a.Argv, got, a.Param)
		}
	}
	s, _ := managedServer(t, eno1())
	for _, u := range sheet.Usage {
		rc, _, stderr := midclt(s, admin, u.Argv[1:]...)
		if rc != u.RC || stderr != u.Stderr {
			t.Errorf("%q: status %d, stderr %q; want %d, %q", u.Argv, rc, stderr, u.RC, u.Stderr)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	var cases []struct {
		Case, Stdout, Stderr string
		Argv                 []string
		RC                   int
	}
	load(t, "errors.json", &cases)
	line := regexp.MustCompile(`line \d+`)
	for _, c := range cases {
		t.Run(c.Case, func(t *testing.T) {
			s, _ := managedServer(t, eno1(), ibs4d1(false))
			who := admin
			want := c.Stderr
			switch c.Case {
			case "second DHCP interface":
				s.db.net.row("eno1").dhcp = true
			case "account without any privilege group":
				who = Caller{}
			case "account whose roles lack the method":
				who = Caller{Roles: []string{"NETWORK_INTERFACE_READ"}}
			case "call timeout (default 60 s)":
				s.opts.Latency = map[string]time.Duration{"interface.commit": 30 * time.Second}
			case "middlewared down":
				s.SetDown(true)
			case "tunable already exists":
				s.db.tunables = []*Object{Obj("id", 3, "type", "UDEV", "var", "80-terraform-ipoib")}
			case "bad kernel option characters":
				want, _, _ = strings.Cut(want, "(a second")
			}
			rc, stdout, stderr := midclt(s, who, c.Argv[1:]...)
			if rc != c.RC || stdout != c.Stdout {
				t.Errorf("status %d stdout %q, want %d %q", rc, stdout, c.RC, c.Stdout)
			}
			if got := line.ReplaceAllString(stderr, "line N"); got != want {
				t.Errorf("stderr %q\nwant   %q", got, want)
			}
		})
	}
}

func TestTranscript(t *testing.T) {
	var steps []struct {
		Step, Stdout string
		Argv         []string
		RC           int
	}
	load(t, "transcript.json", &steps)
	s, f := managedServer(t, eno1(), ibs4d1(false))
	f.gateway, s.db.net.gateway = "192.0.2.1", "192.0.2.1"
	s.db.nextScript, s.db.nextTunable = 7, 3
	for _, st := range steps {
		switch {
		case st.Argv[0] != "midclt":
			continue
		case st.Step == "5 timer runs":
			f.advance(1500 * time.Millisecond)
		case strings.HasPrefix(st.Step, "reboot (no -j"):
			s.SetNextJob(1234)
		case strings.HasSuffix(st.Step, "boot id differs"):
			f.advance(5 * time.Second)
			if len(f.rebooted) != 1 {
				t.Fatal("the delayed reboot did not happen")
			}
			f.bootID = "5d0f2f2e-90a5-4f6e-8f0c-0b1e3a4c7d22"
			s.Boot()
		}
		rc, stdout, stderr := midclt(s, admin, st.Argv[1:]...)
		if rc != st.RC || stdout != st.Stdout {
			t.Errorf("%s: status %d, stdout\n%s%s\nwant %d\n%s", st.Step, rc, stdout, stderr, st.RC, st.Stdout)
		}
	}
	if len(f.foreign) > 0 {
		t.Errorf("unsimulated: %v", f.foreign)
	}
	if f.args != "mlx4_core.port_type_array=1,1" {
		t.Errorf("boot arguments %q", f.args)
	}
}

func TestUnknownMethodsAreRecorded(t *testing.T) {
	s, f := managedServer(t, eno1())
	if rc, _, stderr := midclt(s, admin, "call", "pool.query"); rc != 1 || stderr != "Method does not exist\n" {
		t.Errorf("status %d, stderr %q", rc, stderr)
	}
	if rc, _, _ := midclt(s, admin, "call", "-j", "interface.query"); rc == 0 {
		t.Error("-j on a plain method must not succeed")
	}
	if len(f.foreign) != 2 {
		t.Errorf("recorded %q, want two entries", f.foreign)
	}
}

func TestJobWithoutWaitingHidesItsFailure(t *testing.T) {
	s, _ := managedServer(t, eno1())
	rc, stdout, _ := midclt(s, admin, "call", "tunable.delete", "9")
	if rc != 0 || stdout != "86\n" {
		t.Errorf("status %d, stdout %q: a job prints its id and exits 0", rc, stdout)
	}
	if rc, _, stderr := midclt(s, admin, "call", "-j", "tunable.delete", "9"); rc != 1 ||
		stderr != "[ENOENT] ALL: Tunable 9 does not exist\n" {
		t.Errorf("status %d, stderr %q", rc, stderr)
	}
}
