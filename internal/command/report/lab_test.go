package report_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/report"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

var (
	size = flag.Int("report.hosts", 30, "hosts of the large lab")
	keep = flag.String("report.keep", "", "keep the pages of the tests in this `directory`")
)

// result is what a run of the command has printed and written.
type result struct {
	status        int
	page, metrics string
	errs          string
}

// run runs the command on hosts of a lab; more are further flags.
func run(t *testing.T, w *acctest.Lab, hosts []string, more ...string) result {
	t.Helper()
	dir := t.TempDir()
	config, metrics := filepath.Join(dir, "ssh_config"), filepath.Join(dir, "lab.prom")
	page := filepath.Join(dir, "lab.html")
	ssh := w.SSHConfig(nil) + "Host dead\n  HostName 127.0.0.1\n  Port 1\n" +
		"Host misconfigured\n  BindInterface lo\n"
	if err := os.WriteFile(config, []byte(ssh), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args := append([]string{"-config-file", config, "-o", page, "-metrics", metrics}, append(more, hosts...)...)
	r := result{status: report.Command.Run(t.Context(), args, command.Streams{In: strings.NewReader(""), Out: &out,
		Err: &errs})}
	r.page, r.metrics, r.errs = read(t, page), read(t, metrics), errs.String()
	if out.Len() > 0 {
		t.Errorf("a page that goes to a file is printed: %s", &out)
	}
	if *keep != "" {
		name := filepath.Join(*keep, strings.ReplaceAll(t.Name(), "/", "_"))
		for end, text := range map[string]string{".html": r.page, ".prom": r.metrics} {
			if err := os.WriteFile(name+end, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// byHand makes the ports of a host InfiniBand, as a person does.
func byHand(w *acctest.Lab, host string) {
	w.Run(host, `for p in 1 2; do echo ib >/sys/bus/pci/devices/0000:01:00.0/mlx4_port$p; done
		modprobe mlx4_ib; modprobe ib_umad; modprobe ib_ipoib`)
}

// hostsOfLeaf is how many hosts with two ports each fit on a switch of 36 ports beside its uplinks.
const hostsOfLeaf = 17

// fleet is n hosts on one fabric of two levels; the first two have a subnet manager.
func fleet(t *testing.T, n int, change func(i int, h *labs.Host)) *acctest.Lab {
	t.Helper()
	var hosts []labs.Host
	for i := range n {
		h := labs.Server(fmt.Sprintf("node%03d", i), labsim.Ubuntu, fmt.Sprintf("198.18.%d.%d", i/250, i%250+2), i)
		h.Switch, h.Packages = fmt.Sprintf("leaf%02d", i/hostsOfLeaf), []string{"rdma-core", "opensm", "infiniband-diags"}
		change(i, &h)
		hosts = append(hosts, h)
	}
	w := acctest.Start(t, acctest.Options{Hosts: hosts})
	for i := range 2 {
		w.AddSwitch(fmt.Sprintf("spine%d", i), 0x0002c902004a0000+uint64(i), 36)
	}
	for i := range (n + hostsOfLeaf - 1) / hostsOfLeaf {
		for up := range 2 {
			if err := w.Connect(labsim.SwitchEnd(fmt.Sprintf("leaf%02d", i), 35+up),
				labsim.SwitchEnd(fmt.Sprintf("spine%d", up), i+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, h := range hosts {
		byHand(w, h.Name)
		w.Run(h.Name, "ip link set dev ibp1s0 up")
	}
	for i := range 2 {
		w.Run(hosts[i].Name, "systemctl enable opensm; systemctl restart opensm")
	}
	return w
}

// address gives an interface of a host an address.
func address(w *acctest.Lab, host, dev string, a netip.Prefix) {
	w.Run(host, fmt.Sprintf("ip link set dev %s up; ip addr add %s dev %s", dev, a, dev))
}

// document is a page that was parsed as a browser does.
type document struct{ root *html.Node }

func parse(t *testing.T, page string) document {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return document{root}
}

// all are the elements with a name below a node; an empty name stands for every one.
func all(n *html.Node, name string) (found []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && (name == "" || d.Data == name) {
			found = append(found, d)
		}
	}
	return found
}

// text is what a person reads of a node, with single blanks.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func attribute(n *html.Node, name string) (value string, ok bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// rows are those of a table, each by its headings.
func (d document) rows(t *testing.T, id string) (rows []map[string]string) {
	t.Helper()
	for _, n := range all(d.root, "details") {
		if is, _ := attribute(n, "id"); is != id {
			continue
		}
		head := all(n, "th")
		for _, tr := range all(n, "tr")[1:] {
			row := map[string]string{}
			for i, td := range all(tr, "td") {
				row[text(head[i])] = text(td)
			}
			rows = append(rows, row)
		}
		return rows
	}
	t.Fatalf("the page has no table %s", id)
	return nil
}
