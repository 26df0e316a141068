package report_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/report"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const (
	hostileSerial = `MT"><script>alert(1)</script>`
	hostileSystem = "Ubuntu </style></title><script>alert(2)</script>\x1b]0;pwned\x07 24.04"
	hostileSwitch = `"><img src=x onerror=alert(3)>`
	hostileServer = `node0</title></svg><script>alert(4)</script>`
	managementKey = "0x1d5ec2e7c0ffee00"
	sudoPassword  = "correct-horse-battery"
)

// troubled is a lab with one of each: a hostile host, an odd card, a slow cable with errors, a
// host without mstflint, and a host that is down, which is called "dead".
func troubled(t *testing.T) (w *acctest.Lab, hosts []string) {
	t.Helper()
	w = fleet(t, 4, func(i int, h *labs.Host) {
		switch i {
		case 1:
			h.Cards[0].SerialNumber = hostileSerial
		case 2:
			h.Cards[0].Image = card.OldVPI()
		}
	})
	w.Switches()[0].Desc = hostileSwitch
	address(w, "node000", "ibp1s0", netip.MustParsePrefix("172.16.0.20/24"))
	w.Put("node001", "/etc/os-release", "ID=ubuntu\nVERSION_ID=\"24.04\"\nPRETTY_NAME=\""+hostileSystem+"\"\n")
	w.Put("node001", "/etc/opensm/opensm.conf", "m_key "+managementKey+"\n")
	w.Put("node001", inventory.StateDir+"/changes", "begun\ttime=2026-01-02T03:04:05Z\tid=x\twhat=opensm\tobject=port "+
		hostileSwitch+"\tby=alice@desk\tfrom=none\tto=priority 14\t.\nended\tid=x\toutcome=verified\t.\n")
	w.Put("node001", inventory.StateDir+"/benchmarks", benchmarks)
	w.Put("node001", inventory.StopDir+"/20260102T030405Z-1", inventory.Stop{Host: "node002", PCI: "0000:01:00.0",
		At: "2026-01-02T03:04:05.000Z", Operator: "alice@desk", Root: "a", Why: "the flash does not verify"}.Text())
	w.Limit(labsim.CardEnd("node002", "0000:01:00.0", 1), labsim.QDR4X)
	w.Lab.Count(labsim.CardEnd("node002", "0000:01:00.0", 1), "SymbolErrorCounter", 99)
	w.Machine("node003").Uninstall("/usr/bin/mstflint")
	t.Setenv("INFINIBAND_SUDO_PASSWORD", sudoPassword)
	return w, append(w.Names(), "dead")
}

// backUp takes a backup of the card of a host.
func backUp(t *testing.T, w *acctest.Lab, host string) {
	t.Helper()
	ws := w.Workspace()
	plan, err := ws.Plan(context.Background(), acctest.Config{{Type: "infiniband_firmware_backup", Name: "it",
		Attrs: map[string]any{"card_id": host + "/0000:01:00.0"}}})
	if err != nil || plan.Diags.HasError() {
		t.Fatalf("%v\n%s", err, plan.Diags)
	}
	if diags, err := ws.Apply(context.Background(), plan); err != nil || diags.HasError() {
		t.Fatalf("%v\n%s", err, diags)
	}
}

// has holds that a table has a row with these values; a value may be a part of its cell.
func (d document) has(t *testing.T, id string, want map[string]string) {
	t.Helper()
	rows := d.rows(t, id)
	for _, row := range rows {
		fits := true
		for head, value := range want {
			fits = fits && strings.Contains(row[head], value)
		}
		if fits {
			return
		}
	}
	t.Errorf("table %s has no row with %v:\n%v", id, want, rows)
}

func TestReport_shows_all_that_was_read(t *testing.T) {
	w, hosts := troubled(t)
	backUp(t, w, "node000")
	r := run(t, w, hosts, "-backup-dir", w.Backups, "-connect-timeout", "5s")
	if r.status != command.Unreachable || !strings.HasPrefix(r.errs, "dead: connection: unable to connect") {
		t.Errorf("status %d: %s", r.status, r.errs)
	}
	d := parse(t, r.page)
	today := r.page[strings.Index(r.page, "As it was at ")+len("As it was at "):][:len("2026-01-02")]
	for _, row := range []struct {
		id   string
		want map[string]string
	}{
		{"unseen", map[string]string{"Host": "dead", "Why": "connection: unable to connect"}},
		{"hosts", map[string]string{"Host": "node000", "System": "Ubuntu 24.04.1 LTS", "Kernel": "6.8.0-49-generic",
			"mstflint": "4.26.0", "Outcome": "ready"}},
		{"hosts", map[string]string{"Host": "node003", "mstflint": "not installed", "Outcome": "1 thing is missing"}},
		{"cards", map[string]string{"Host": "node000", "Board": "MCX314A-BCCT", "Serial": "MT1234X00000", "In flash": "2.42.5000",
			"Running": "2.42.5000", "Node GUID": "0xe41d2d0300e44ed0", "MAC": "e4:1d:2d:e4:4e:d0", "Backup": today}},
		{"cards", map[string]string{"Host": "node001", "Serial": hostileSerial, "Backup": "none"}},
		{"ports", map[string]string{"Host": "node000", "Card": "0000:01:00.0 MCX314A-BCCT", "Port": "1", "Link layer": "InfiniBand", "State": "Active",
			"Width and speed": "4X FDR", "Port GUID": "0xe41d2d0300e44ed1", "Interface": "ibp1s0"}},
		{"ipoib", map[string]string{"Host": "node000", "Interface": "ibp1s0", "State": "up", "Addresses": "172.16.0.20/24"}},
		{"opensm", map[string]string{"Host": "node000", "Runs": "yes", "Role": "master"}},
		{"fabric1-sm", map[string]string{"Order": "1", "Node": "node000", "State": "master"}},
		{"fabric1-sm", map[string]string{"Order": "3", "Node": "node001", "State": "standby"}},
		{"fabric1-cables", map[string]string{"From": "node002 ibp1s0 port 1", "Width and speed": "4X QDR",
			"Why not more": "QDR instead of FDR", "Errors": "SymbolErrorCounter 99"}},
		{"fabric1-pkeys", map[string]string{"P_Key": "0xffff", "Full members": "8 ports"}},
		{"changes", map[string]string{"Time": "2026-01-02T03:04:05Z", "Host": "node001", "What": "opensm", "By": "alice@desk"}},
	} {
		d.has(t, row.id, row.want)
	}
	page := text(d.root)
	for _, want := range []string{"5 hosts", "1 host not seen", "1 fabric ", "1 thing missing",
		"FW051 mstflint is not installed on the host", "cannot configure it: apt install mstflint.", "A card differs from equal cards",
		"node002 0000:01:00.0: the firmware in flash is 2.36.5000. 2 of 3 with board MCX314A-BCCT have 2.42.5000.",
		"HO051 A burn of another card failed", "node001 Card node002/0000:01:00.0 failed at 2026-01-02T03:04:05.000Z",
		"A link is slower than it could be", "A port counts errors"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if !strings.Contains(r.page, `href="https://registry.terraform.io/providers/ibfabric/infiniband/latest/docs/guides/findings#fw051-`) {
		t.Error("no address of the section of FW051")
	}
	if !strings.Contains(r.metrics, `infiniband_findings{host="node001",severity="warning",step="jobs",code="HO051"} 1`) {
		t.Errorf("the metrics do not count HO051:\n%s", r.metrics)
	}
	for _, secret := range []string{managementKey, sudoPassword, "PRIVATE KEY"} {
		if strings.Contains(r.page+r.metrics+r.errs, secret) {
			t.Errorf("%s is shown", secret)
		}
	}
	checkHarmless(t, d)
	checkMetrics(t, r.metrics)
}

// warm is a report of cards whose driver shows temperatures, at a switch that tells its firmware.
func warm(t *testing.T) result {
	t.Helper()
	hosts := labs.GPU()[1:]
	for i := range hosts {
		hosts[i].Packages = append(hosts[i].Packages, "opensm", "infiniband-diags")
		hosts[i].Cards[0].Temperatures = []int{61, 44}
	}
	w := acctest.Start(t, acctest.Options{Hosts: hosts})
	w.Run(hosts[0].Name, "modprobe ib_umad; systemctl enable opensm; systemctl restart opensm")
	return run(t, w, w.Names())
}

func TestReport_shows_temperatures_and_switches(t *testing.T) {
	r := warm(t)
	d := parse(t, r.page)
	d.has(t, "cards", map[string]string{"Temperature": "Module0 44 °C, asic 61 °C"})
	d.has(t, "fabric1-switches", map[string]string{"Ports": "8", "Firmware": "7.4.0000", "PSID": "MT_9D90110009"})
	for _, want := range []string{`,sensor="asic"} 61`, `psid="MT_9D90110009",version="7.4.0000"} 1`} {
		if !strings.Contains(r.metrics, want+"\n") {
			t.Errorf("no %s in\n%s", want, r.metrics)
		}
	}
	checkMetrics(t, r.metrics)
}

// checkHarmless holds that a page with hostile names has no element, attribute or address of theirs.
func checkHarmless(t *testing.T, d document) {
	t.Helper()
	known := strings.Fields(`html head meta title style body header h1 h2 h3 p ul li b small label input output main section
		details summary span a div table thead tr th tbody td footer script svg rect text tspan path circle g`)
	count := map[string]int{}
	for _, n := range all(d.root, "") {
		if count[n.Data]++; !slices.Contains(known, n.Data) {
			t.Errorf("the page has an element %s", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || slices.Contains([]string{"src", "style", "srcdoc", "xlink:href"}, a.Key) {
				t.Errorf("%s has an attribute %s=%q", n.Data, a.Key, a.Val)
			}
			if a.Key == "href" && !strings.HasPrefix(a.Val, "https://registry.terraform.io/providers/ibfabric/") {
				t.Errorf("%s leads to %q", n.Data, a.Val)
			}
		}
	}
	if count["script"] != 1 || count["style"] != 1 {
		t.Fatalf("%d scripts and %d styles", count["script"], count["style"])
	}
	policy := ""
	for _, n := range all(d.root, "meta") {
		if is, _ := attribute(n, "http-equiv"); is == "Content-Security-Policy" {
			policy, _ = attribute(n, "content")
		}
	}
	for _, name := range []string{"script", "style"} {
		sum := sha256.Sum256([]byte(all(d.root, name)[0].FirstChild.Data))
		if want := name + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s: a browser would not take what the page is made of", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'; ") {
		t.Errorf("the policy is %q", policy)
	}
	if strings.ContainsAny(text(d.root), "\x1b\x07") {
		t.Error("a sequence for a terminal is on the page")
	}
	for _, name := range []string{hostileSerial, hostileSwitch, `</style></title><script>alert(2)</script>\x1b]0;pwned`} {
		if !strings.Contains(text(d.root), name) {
			t.Errorf("%q is not shown as it is", name)
		}
	}
}

// Each lab that can be started by name has a page, whatever its hosts and cards are.
func TestReport_of_each_lab(t *testing.T) {
	t.Parallel()
	for _, name := range labs.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := acctest.Start(t, acctest.Options{Hosts: labs.Named[name]()})
			r := run(t, w, w.Names())
			if r.status != command.OK || r.errs != "" {
				t.Errorf("status %d: %s", r.status, r.errs)
			}
			d := parse(t, r.page)
			for _, host := range w.Names() {
				d.has(t, "hosts", map[string]string{"Host": host})
				for _, c := range w.Machine(host).Cards() {
					d.has(t, "cards", map[string]string{"Host": host, "PCI": c.Config.BDF, "Serial": c.Config.SerialNumber})
				}
			}
			checkMetrics(t, r.metrics)
			// Their ports have links, and nobody has installed the programs that look at a fabric.
			unseen := 0
			for _, n := range issues(d) {
				if strings.Contains(text(n), "A fabric was not seen") {
					unseen++
					if strings.Count(text(n), "Its host cannot: it has no ibnetdiscover") != 1 {
						t.Errorf("not said once for all ports: %s", text(n))
					}
				}
			}
			if dark := name == "gpu" || name == "point-to-point"; dark != (unseen == 1) {
				t.Errorf("%d findings for a fabric that was not seen", unseen)
			}
		})
	}
}

// A page of many hosts is folded, its picture has every host, and it grows with what is wrong and not with hosts.
func TestReport_fleet(t *testing.T) {
	t.Parallel()
	w := fleet(t, *size, func(int, *labs.Host) {})
	w.Limit(labsim.CardEnd("node007", "0000:01:00.0", 2), labsim.QDR4X)
	r := run(t, w, w.Names())
	if r.status != command.OK || r.errs != "" {
		t.Fatalf("status %d: %s", r.status, r.errs)
	}
	d := parse(t, r.page)
	if n := len(d.rows(t, "ports")); n != 2**size {
		t.Errorf("%d ports", n)
	}
	leaves := (*size + hostsOfLeaf - 1) / hostsOfLeaf
	cables := d.rows(t, "fabric1-cables")
	if len(cables) != 2**size+2*leaves || !strings.HasPrefix(cables[0]["From"], "node007 ibp1s0 port 2") {
		t.Errorf("%d cables, the first is %v", len(cables), cables[0])
	}
	names := map[string]bool{}
	for _, g := range all(all(d.root, "svg")[0], "title") {
		host, _, _ := strings.Cut(text(g), " ")
		names[host] = true
	}
	for _, host := range w.Names() {
		if !names[host] {
			t.Errorf("the picture has no %s", host)
		}
	}
	for _, n := range all(d.root, "details") {
		_, open := attribute(n, "open")
		if rows := len(all(n, "tr")) - 1; open && rows > 40 {
			t.Errorf("a table of %d rows is open", rows)
		}
	}
	if n := len(issues(d)); n > 2 {
		t.Errorf("%d findings for a slow cable", n)
	}
}

func issues(d document) (all []*html.Node) {
	for n := range d.root.Descendants() {
		if is, _ := attribute(n, "class"); n.Data == "details" && is == "issue" {
			all = append(all, n)
		}
	}
	return all
}

// A host that was not read is named with the reason, on standard error, on the page and in the
// metrics, and the others are shown.
func TestReport_hosts_that_cannot_be_read(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()})
	w.Machine(labs.Xeon2zfs).Faults.Update(func(f *labsim.FaultSpec) { f.SudoRefused = true })
	const refused = "root: user truenas_admin cannot become root: not in sudoers"
	r := run(t, w, w.Names())
	if r.status != command.Failed || r.errs != labs.Xeon2zfs+": "+refused+"\n" {
		t.Errorf("status %d: %s", r.status, r.errs)
	}
	d := parse(t, r.page)
	d.has(t, "unseen", map[string]string{"Host": labs.Xeon2zfs, "Why": refused + " more Sudoers does not let truenas_admin run"})
	d.has(t, "hosts", map[string]string{"Host": labs.Intel9})
	if strings.Contains(text(d.root), "Nothing is missing or stands out") {
		t.Error("the page says that all is well")
	}
	for _, want := range []string{`{host="intel9"} 1`, `{host="xeon2zfs"} 0`} {
		if !strings.Contains(r.metrics, "infiniband_host_seen"+want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(r.metrics, `infiniband_findings{host="xeon2zfs"`) {
		t.Error("findings of a host that was not read are counted")
	}
	r = run(t, w, []string{"misconfigured"})
	if r.status != command.Unreachable || !strings.HasPrefix(r.errs, "misconfigured: config: ") ||
		!strings.Contains(r.errs, "BindInterface") {
		t.Errorf("status %d: %s", r.status, r.errs)
	}
	if !strings.Contains(text(parse(t, r.page).root), "Of what was read, nothing is missing or stands out.") {
		t.Error("a page without a host that was read says that all is well")
	}
	if r = run(t, w, append(w.Names(), "dead")); r.status != command.Unreachable || !strings.Contains(r.page, "3 attempts") {
		t.Errorf("status %d: %s", r.status, r.errs)
	}
}

// A file is replaced whole or left alone.
func TestReport_files(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()})
	dir := t.TempDir()
	config, page := filepath.Join(dir, "config"), filepath.Join(dir, "lab.html")
	for path, text := range map[string]string{config: w.SSHConfig(nil), page: "old"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	say := func(ctx context.Context, args ...string) (int, string, string) {
		var out, errs strings.Builder
		status := report.Command.Run(ctx, append([]string{"-config-file", config}, args...),
			command.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		return status, out.String(), errs.String()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if status, _, errs := say(ended, "-o", page, labs.Intel9); status != command.Failed || read(t, page) != "old" ||
		errs != "report: interrupted before all was read; nothing was written\n" {
		t.Errorf("interrupted: status %d, %s, %q", status, errs, read(t, page))
	}
	for _, path := range []string{dir, os.DevNull} {
		if status, _, errs := say(t.Context(), "-o", path, labs.Intel9); status != command.Failed ||
			errs != "report: the page was not written: "+path+" is there and is no file\n" {
			t.Errorf("%s: status %d, %s", path, status, errs)
		}
	}
	if status, out, errs := say(t.Context(), labs.Intel9); status != command.OK || !strings.HasPrefix(out, "<!DOCTYPE html>") {
		t.Errorf("printed: status %d, %s, %.80s", status, errs, out)
	}
	metrics := filepath.Join(dir, "lab.prom")
	if status, out, errs := say(t.Context(), "-metrics", metrics, labs.Intel9); status != command.OK || out != "" ||
		!strings.HasPrefix(read(t, metrics), "# HELP infiniband_") {
		t.Errorf("metrics alone: status %d, %s, %.80s", status, errs, out)
	}
	if status, _, errs := say(t.Context(), "-metrics", page, labs.Intel9); status != command.Usage ||
		!strings.Contains(errs, "report: -metrics "+page+": node_exporter reads only files that end in .prom") {
		t.Errorf("metrics in another file: status %d, %s", status, errs)
	}
	for _, wrong := range [][]string{{"-o", metrics, "-metrics", metrics, "-o and -metrics name one file, " + metrics},
		{"-backup-dir", filepath.Join(dir, "none"), "-backup-dir: stat "}, {"-backup-dir", page, page + " is no directory"}} {
		args, says := slices.Concat(wrong[:len(wrong)-1], []string{labs.Intel9}), wrong[len(wrong)-1]
		if status, _, errs := say(t.Context(), args...); status != command.Usage || !strings.Contains(errs, says) {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
	if status, _, errs := say(t.Context(), "-json", labs.Intel9); status != command.Usage ||
		!strings.Contains(errs, "flag provided but not defined: -json") {
		t.Errorf("JSON: status %d, %s", status, errs)
	}
	files, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(files) > 0 {
		t.Errorf("%v, left behind: %v", err, files)
	}
	info, err := os.Stat(metrics)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v: node_exporter has to read it: %v", err, fmt.Sprint(info.Mode()))
	}
}
