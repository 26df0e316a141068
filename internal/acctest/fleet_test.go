package acctest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

var (
	fleetHosts    = flag.Int("fleet.hosts", 4, "hosts of the fleet")
	fleetShards   = flag.Int("fleet.shards", 2, "shards of the fleet")
	fleetPostgres = flag.String("fleet.postgres", "", "folder of the programs of PostgreSQL, which then has the states")
)

// hostsOnSwitch is how many hosts are on one fabric: the switch has 36 ports, and a card two.
const hostsOnSwitch = 18

// fleetLab is a fleet of several shards, each with a runner of its own as the matrix of a CI has them.
type fleetLab struct {
	*Lab
	t       *testing.T
	shards  []string
	states  string                    // folder of the states, without a database
	db      *postgres                 // or nil
	entries map[string]map[string]any // of the inventory
	shardOf map[string]string         // by host
	bought  []string                  // the first host of each shard: its card has Ethernet-only firmware
}

func startFleet(t *testing.T, n, shards int) *fleetLab {
	f := &fleetLab{t: t, states: t.TempDir(), entries: map[string]map[string]any{}, shardOf: map[string]string{}}
	hosts, fabrics := labs.Fleet(n), (n+hostsOnSwitch-1)/hostsOnSwitch
	unset := ^uint64(0)
	for i := range hosts {
		h := &hosts[i]
		// Fabrics cross the shards.
		fabric, shard := fmt.Sprintf("fabric%d", i%fabrics), fmt.Sprintf("rack%d", i*shards/n+1)
		if h.Switch = fabric; !slices.Contains(f.shards, shard) {
			f.shards, f.bought = append(f.shards, shard), append(f.bought, h.Name)
			h.Cards[0].Image, h.Cards[0].GUIDs = card.EN(), [4]uint64{unset, unset, unset, unset}
		}
		entry := map[string]any{"shard": shard, "pci_address": h.Cards[0].BDF, "fabric": fabric,
			"base_mac": labs.MAC(i), "ipoib": fmt.Sprintf("172.16.%d.%d/16", i/250, i%250+1)}
		switch {
		case i < fabrics:
			entry["subnet_manager"] = 14
		case i >= n-fabrics:
			entry["subnet_manager"] = 13
		}
		if entry["subnet_manager"] != nil {
			h.Packages = []string{"infiniband-diags"}
		}
		f.entries[h.Name], f.shardOf[h.Name] = entry, shard
	}
	f.Lab = Start(t, Options{Hosts: hosts})
	for name, entry := range f.entries {
		at := f.Servers[name].Addr
		entry["address"], entry["port"], entry["user"] = at.IP.String(), at.Port, f.User(name)
	}
	return f
}

// runner is a machine with the example, the inventory, and the engine.
type runner struct {
	*operator
	fleet *fleetLab
	cmd   *exec.Cmd
}

func (f *fleetLab) runner() *runner {
	f.t.Helper()
	o := newFolder(f.t, buildProvider(f.t))
	o.mirror()
	for _, part := range []string{"fleet", "modules"} {
		if err := os.CopyFS(filepath.Join(o.dir, part), os.DirFS(filepath.Join("..", "..", "examples", part))); err != nil {
			f.t.Fatal(err)
		}
	}
	r := &runner{operator: o, fleet: f}
	r.inventory(nil)
	if f.db == nil {
		versions := "fleet/shard/versions.tf"
		r.write(versions, strings.Replace(r.text(versions), `backend "pg"`, `backend "local"`, 1))
	}
	return r
}

// inventory writes the inventory with other values of some hosts.
func (r *runner) inventory(others map[string]map[string]any) {
	hosts := map[string]any{}
	for name, entry := range r.fleet.entries {
		all := maps.Clone(entry)
		maps.Copy(all, others[name])
		hosts[name] = all
	}
	text, err := json.Marshal(map[string]any{"hosts": hosts, "link_types": map[string]string{"1": "ib", "2": "ib"},
		"allow": map[string]any{"psid_change": Consent()},
		"image": map[string]any{"source": r.fleet.Image(ImageVPI), "sha256": r.fleet.Images[ImageVPI].SHA256}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.write("fleet/inventory.json", string(text))
}

// env is what the engine has in its environment.
func (r *runner) env() []string {
	key, known := r.fleet.keys()
	return append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(r.dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1",
		"TF_IN_AUTOMATION=1", "TF_VAR_backup_dir="+r.fleet.Backups, "TF_VAR_private_key_file="+key,
		fmt.Sprintf("TF_VAR_known_hosts_files=[%q]", known), "TF_VAR_reboot=true")
}

// make runs the Makefile of the example for some shards.
func (r *runner) make(shards []string, targets ...string) (said string, err error) {
	backend := "BACKEND=-backend-config='path=" + filepath.Join(r.fleet.states, "$1.tfstate") + "'"
	if r.fleet.db != nil {
		backend = "DATABASE=" + r.fleet.db.url("%")
	}
	args := slices.Concat([]string{"-k", "-j4", "ENGINE=" + r.engine, "SHARDS=" + strings.Join(shards, " "), backend},
		targets)
	cmd := exec.CommandContext(r.t.Context(), "make", args...)
	cmd.Dir = filepath.Join(r.dir, "fleet")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(r.env(), "TF_CLI_ARGS=-no-color", "MAKEFLAGS=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	if err = cmd.Start(); err == nil {
		r.cmd = cmd
		err = cmd.Wait()
		p := cmd.ProcessState // of make and all that it has waited for
		r.t.Logf("%v of %v: %.1f s, %.1f s of a processor; %d hosts in all", targets, shards, time.Since(began).Seconds(),
			(p.UserTime() + p.SystemTime()).Seconds(), len(r.fleet.entries))
	}
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(out.String())), " "), err
}

// kill ends all that the runner runs, as a machine that fails does.
func (r *runner) kill() {
	if err := syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		r.t.Error(err)
	}
}

// rollout has the hosts of a shard changed one first, then the others.
func (r *runner) rollout(shard, canary string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), r.binary, "rollout", "-engine", r.engine, "-auto-approve", "-canary", canary,
		"-var", "shard="+shard)
	cmd.Dir = filepath.Join(r.dir, "fleet", "shard")
	cmd.Env = append(r.env(), "TF_DATA_DIR=../.shards/"+shard)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Errorf("the rollout of %s: %v\n%s", shard, err, out)
	}
}

func (r *runner) mustMake(shards []string, targets ...string) string {
	r.t.Helper()
	said, err := r.make(shards, targets...)
	if err != nil {
		_, errors, _ := strings.Cut(said, "Error: ") // after a plan of pages
		r.t.Fatalf("%v of %v: %v\n%s", targets, shards, err, errors)
	}
	return said
}

// saysAll expects words in what was said.
func saysAll(t *testing.T, said string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("%q is missing in\n%s", word, said)
		}
	}
}

// struckAt calls do once in the middle of the burn of a host's card.
func (f *fleetLab) struckAt(host string, do func()) {
	left := 154
	f.Card(host).Flash.SetHook(func(card.Op) error {
		if left--; left == 0 {
			do()
		}
		return nil
	})
}

// A fleet in shards, by the files of the example: all shards at once, one runner killed in a burn, a plan of a second
// operator, drift and a host that is down by night, and what only an audit of all shards can see.
func TestFleet(t *testing.T) {
	t.Parallel()
	f := startFleet(t, *fleetHosts, *fleetShards)
	if *fleetPostgres != "" {
		f.db = startPostgres(t, *fleetPostgres, f.shards)
	}
	runners := make([]*runner, len(f.shards))
	for i := range runners {
		runners[i] = f.runner()
	}
	f.side(func(i int, shard string) { runners[i].mustMake([]string{shard}, "init", "plan") })
	second := f.runner()
	second.mustMake(f.shards[:1], "init", "plan")

	// The first shard is killed in the middle of a burn, the others go on.
	f.struckAt(f.bought[0], runners[0].kill)
	if f.db != nil { // all lose their connections, and with them the locks
		f.struckAt(f.bought[len(f.bought)-1], f.db.restart)
	}
	f.side(func(i int, shard string) {
		switch said, err := runners[i].make([]string{shard}, "apply"); {
		case i == 0 && err == nil:
			t.Errorf("the killed runner ended well:\n%s", said)
		case i > 0 && err != nil && f.db == nil:
			t.Errorf("%s: %v\n%s", shard, err, said)
		}
	})
	for _, host := range f.bought {
		f.Card(host).Flash.SetHook(nil)
		f.up(host)
	}
	f.side(func(i int, shard string) { runners[i].mustMake([]string{shard}, "plan", "apply") })
	if said, err := second.make(f.shards[:1], "apply"); err == nil || !strings.Contains(said, "Saved plan is stale") {
		t.Errorf("the plan of the second operator was applied after that of the first: %v\n%s", err, said)
	}
	f.once()
	f.night(second)
	f.audit(second)
}

// side runs something for each shard at once.
func (f *fleetLab) side(do func(i int, shard string)) {
	var wg sync.WaitGroup
	for i, shard := range f.shards {
		wg.Go(func() { do(i, shard) })
	}
	wg.Wait()
}

// once holds that each card was burned as often as was due, and each host restarted once at most.
func (f *fleetLab) once() {
	f.t.Helper()
	for host := range f.entries {
		due := 0
		if slices.Contains(f.bought, host) {
			due = 1
		}
		if images, guids := f.Burns(host); images != due || guids != due || f.Boots(host) != 1+due {
			f.t.Errorf("%s: %d burns, %d changes of GUIDs, %d boots; expected %d, %[5]d and one boot more", host, images, guids,
				f.Boots(host), due)
		}
	}
}

// night plans all shards side by side, as a timer does.
func (f *fleetLab) night(r *runner) {
	t := f.t
	t.Helper()
	r.mustMake(f.shards, "init")
	said := r.mustMake(f.shards, "night")
	for _, shard := range f.shards {
		saysAll(t, said, shard+": as the repository says")
	}
	drifted, dead := f.bought[0], f.bought[1]
	for _, d := range f.Machine(drifted).Netdevs() {
		if len(d.Addrs) > 0 && d.Type == labsim.TypeInfiniBand {
			f.Run(drifted, "ip link set dev "+d.Name+" mtu 1500")
		}
	}
	f.Machine(dead).Faults.Set(labsim.FaultSpec{Refuse: true})
	said, err := r.make(f.shards, "night")
	if err == nil {
		t.Error("a night with drift ends well")
	}
	saysAll(t, said, f.shards[0]+": drift", f.shards[1]+": Not seen: host "+dead, f.shards[1]+": as the repository says")
	f.Machine(dead).Faults.Clear()
	r.rollout(f.shards[0], drifted)
	saysAll(t, r.mustMake(f.shards, "night"), f.shards[0]+": as the repository says")
}

// audit sees what no shard does.
func (f *fleetLab) audit(r *runner) {
	t := f.t
	t.Helper()
	saysAll(t, r.mustMake(nil, "audit"), fmt.Sprintf("+ cards = %d", len(f.entries)),
		fmt.Sprintf("+ fabric0 = %q", f.bought[0]))
	first, last := f.bought[0], f.bought[len(f.bought)-1]
	entry := f.entries[first]
	r.inventory(map[string]map[string]any{last: {"ipoib": entry["ipoib"], "subnet_manager": 14, "fabric": "fabric0"}})
	said, err := r.make(nil, "audit")
	if err == nil {
		t.Error("an audit of a wrong inventory ends well")
	}
	address, _, _ := strings.Cut(fmt.Sprint(entry["ipoib"]), "/")
	saysAll(t, said, "These must be unique, and are there twice:", address+": "+first+", "+last,
		"fabric0, priority 14: "+first+", "+last)
	r.inventory(map[string]map[string]any{first: {"subnet_manager": 1}})
	if said, err = r.make(nil, "audit"); err == nil {
		t.Error("an audit of another master ends well")
	}
	saysAll(t, said, "fabric0: "+first+", and not host")
	r.inventory(nil)
	guid := f.Card(first).Running().GUIDs[0]
	f.Run(last, fmt.Sprintf("mstflint -y -d %s -guid 0x%016x sg", f.PCI(last), guid))
	if said, err = r.make(nil, "audit"); err == nil {
		t.Error("an audit of two cards with one GUID ends well")
	}
	saysAll(t, said, fmt.Sprintf("0x%016x: %s/%s, %s/%s", guid, first, f.PCI(first), last, f.PCI(last)))
}

// postgres is a server of the test's own, without a network.
type postgres struct {
	t    *testing.T
	bin  string
	dir  string
	user *syscall.Credential // it refuses to run as root
}

func startPostgres(t *testing.T, bin string, databases []string) *postgres {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg") // a path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	p := &postgres{t: t, bin: bin, dir: dir}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Getuid() == 0 {
		const nobody = 65534
		p.user = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	p.run("initdb", "-D", "data", "-U", "fleet", "-A", "trust", "--no-sync")
	p.control("start")
	t.Cleanup(func() { p.control("stop") })
	for _, name := range databases {
		p.run("createdb", "-h", dir, "-U", "fleet", name)
	}
	return p
}

func (p *postgres) control(action string) {
	p.t.Helper()
	p.run("pg_ctl", "-D", "data", "-w", "-m", "fast", "-l", "log", "-o", "-k "+p.dir+" -c listen_addresses=", action)
}

// restart ends all connections, and with them the locks of all states.
func (p *postgres) restart() { p.control("restart") }

func (p *postgres) run(program string, args ...string) {
	p.t.Helper()
	cmd := exec.Command(filepath.Join(p.bin, program), args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user}
	// The server keeps these open: a pipe would never end.
	out, err := os.Create(filepath.Join(p.dir, "said"))
	if err == nil {
		cmd.Stdout, cmd.Stderr = out, out
		err = errors.Join(cmd.Run(), out.Close())
	}
	if err != nil {
		said, _ := os.ReadFile(filepath.Join(p.dir, "said"))
		p.t.Fatalf("%s: %v\n%s", program, err, said)
	}
}

func (p *postgres) url(database string) string {
	return "postgres:///" + database + "?host=" + p.dir + "&user=fleet&sslmode=disable"
}
