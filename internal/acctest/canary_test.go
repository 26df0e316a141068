package acctest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// Cards are written one after the other over all hosts. After one that failed the
// others are not touched, and the next apply begins anew.
func TestCanary_no_card_after_one_that_failed(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	hosts := []string{labs.Intel9, labs.Xeon2zfs}
	var cfg Config
	for _, host := range hosts {
		cfg = append(cfg, w.cardOnly(host)[:3]...)
		w.Machine(host).Faults.Trap(" -allow_psid_change ", 0, labsim.ProgramFault{Exit: true, Status: 1})
	}
	ws := w.Workspace()
	diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
	if err != nil {
		t.Fatal(err)
	}
	if found := diags.Errors().Find("HO018"); len(found) != 1 {
		t.Fatalf("one of two cards should have been left alone; the apply says:\n%s", diags)
	}
	begun := 0
	for _, host := range hosts {
		if w.Count(host, "-allow_psid_change") > 0 {
			begun++
		}
	}
	if begun != 1 {
		t.Errorf("%d hosts began a burn, expected the first only", begun)
	}
	for _, host := range hosts {
		w.Machine(host).Faults.Clear()
	}
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
}

// Link types take their turn with the other writes of cards: after a card that
// failed, no other one is changed.
func TestCanary_link_types_take_their_turn(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	var cfg Config
	for _, host := range []string{labs.Intel9, labs.Xeon2zfs} {
		types := w.types(host, "eth", "eth")[0]
		types.Name = host
		cfg = append(cfg, types)
	}
	w.Machine(labs.Intel9).Faults.Trap("update-initramfs", 0, labsim.ProgramFault{Exit: true, Status: 1})
	ws := w.Workspace()
	diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
	if err != nil {
		t.Fatal(err)
	}
	if found := diags.Errors().Find("HO018", labs.Xeon2zfs); len(found) != 1 {
		t.Errorf("the second card should have been left alone; the apply says:\n%s", diags)
	}
	if got := w.Card(labs.Xeon2zfs).Ports[0].View().LinkType; got != "ib" {
		t.Errorf("port 1 of the second card is %q", got)
	}
}

// With cards_at_once the first card is written alone, to the end of the restart that it asks for; then as many hosts as the
// provider block says are burned or restarted at the same time. After a failure of the first nothing begins.
func TestCanary_several_at_a_time(t *testing.T) {
	t.Parallel()
	const hosts, most = 6, 3
	w := Start(t, Options{Hosts: outdated(hosts)})
	var cfg Config
	for i := range hosts {
		host := hostName(i)
		of := "infiniband_card." + host
		cfg = append(cfg,
			Resource{Type: "infiniband_card", Name: host, Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}},
			Resource{Type: "infiniband_firmware_image", Name: host,
				Attrs: map[string]any{"host": host, "source": w.Image(ImageVPI)}},
			Resource{Type: "infiniband_firmware", Name: host, Attrs: map[string]any{"card_id": To(of, "id"),
				"image_id": To("infiniband_firmware_image."+host, "id"), "activation": "reboot"}})
	}
	provider := w.Provider()
	o := newFolder(t, buildProvider(t))
	provider["cards_at_once"] = 0
	o.write("main.tf", Required+HCL(provider, cfg))
	if said := o.says(1, "plan"); !strings.Contains(said, "Attribute cards_at_once value must be between 1 and 64, got: 0") {
		t.Error(said)
	}
	provider["cards_at_once"] = most
	o.write("main.tf", Required+HCL(provider, cfg))
	for i := range hosts {
		w.Machine(hostName(i)).Faults.Set(labsim.FaultSpec{FlashVerifyFail: 40})
	}
	said := o.says(1, "apply", "-auto-approve")
	if refused := strings.Count(said, "Finding: HO018"); refused != hosts-1 {
		t.Fatalf("%d cards were refused, expected all but the first:\n%s", refused, said)
	}

	together := &gathering{w: w, most: most, in: map[string]bool{}, full: make(chan struct{})}
	for i := range hosts {
		host := hostName(i)
		w.Machine(host).Faults.Clear()
		w.Card(host).Flash.SetHook(func(card.Op) error { return together.write(host) })
	}
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
	if together.worst != "" || together.largest != most {
		t.Errorf("at most %d hosts were written at a time, expected %d. %s", together.largest, most, together.worst)
	}
}

// gathering counts the hosts whose flashes are written at the same time. After the first one each waits until so many are there.
type gathering struct {
	w    *Lab
	most int

	mu      sync.Mutex
	in      map[string]bool // flashes that were written to
	full    chan struct{}
	largest int
	worst   string
}

func (g *gathering) write(host string) error {
	if first := g.enter(host); first {
		return nil
	}
	select {
	case <-g.full:
		return nil
	case <-time.After(2 * time.Minute):
		return errors.New("the others are not written at the same time")
	}
}

// enter notes that a flash is written, and reports whether it is that of the first host.
func (g *gathering) enter(host string) (first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.in) == 0 || len(g.in) == 1 && g.in[host] {
		g.in[host] = true
		return true
	}
	if g.in[host] {
		return false
	}
	g.in[host] = true
	now, done := 0, 0
	for other := range g.in {
		if g.w.Machine(other).Boots() > 1 {
			done++
		} else {
			now++
		}
	}
	if g.largest = max(g.largest, now); done == 0 || now > g.most {
		g.worst = fmt.Sprintf("%s is written while %d others are, and %d have restarted", host, now-1, done)
	}
	if now == g.most {
		select {
		case <-g.full:
		default:
			close(g.full)
		}
	}
	return false
}

// The stop of HO018 holds across processes: a burn that failed is marked on the hosts of its configuration, and another
// configuration, which only observes them, burns nothing until the card is mended or the failure is allowed by name.
func TestCanary_holds_across_processes(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	one, two := labs.Intel9, labs.Xeon2zfs
	shard := func(own, other string) (*Workspace, Config) {
		ws, seen := w.Workspace(), w.Host(other)
		seen["mode"] = "observe"
		ws.Provider["hosts"] = map[string]any{own: w.Host(own), other: seen}
		return ws, w.cardOnly(own)[:3]
	}
	wsOne, cfgOne := shard(one, two)
	wsTwo, cfgTwo := shard(two, one)
	planned := cleanPlan(t, wsTwo, cfgTwo) // before the failure, as a pipeline plans all shards first

	w.Machine(one).Faults.Trap(" -allow_psid_change ", 0, labsim.ProgramFault{Exit: true, Status: 1})
	if diags, err := wsOne.Apply(t.Context(), cleanPlan(t, wsOne, cfgOne)); err != nil || !diags.HasError() {
		t.Fatalf("the first shard did not fail: %v\n%s", err, diags)
	}
	w.Machine(one).Faults.Clear()
	diags, err := wsTwo.Apply(t.Context(), planned)
	if err != nil {
		t.Fatal(err)
	}
	found := diags.Errors().Find("HO051", "Card "+one+"/"+w.PCI(one)+" failed at ", "after_failure")
	if len(found) != 1 || w.Count(two, "-allow_psid_change") != 0 {
		t.Fatalf("%d burns of the other shard; its apply says:\n%s", w.Count(two, "-allow_psid_change"), diags)
	}
	refused := mustPlan(t, wsTwo, cfgTwo).Diags.Errors()
	if len(refused.Find("HO051", one)) != 1 {
		t.Fatalf("the plan says:\n%s", refused)
	}
	_, job, _ := strings.Cut(refused[0].Detail, `after_failure = ["`)
	job, _, _ = strings.Cut(job, `"]`)
	allowed := cfgTwo.With(cfgTwo[2].Address(), Allow("after_failure", []any{job}))
	if diags := mustPlan(t, wsTwo, allowed).Diags; diags.HasError() {
		t.Errorf("with the consent:\n%s", diags)
	}

	mustApply(t, wsOne, cfgOne) // the card is mended by the same configuration, which is not stopped
	mustApply(t, wsTwo, cfgTwo)
	if begun := w.Count(two, "-allow_psid_change"); begun != 1 {
		t.Errorf("%d burns of the second shard", begun)
	}
}

// Two root modules may have the same hosts in the provider block. The mark counts for the one that has not failed, and
// for a copy of the other one elsewhere, which mends the card with -target.
func TestCanary_holds_where_hosts_are_shared(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	one, two := labs.Intel9, labs.Xeon2zfs
	built := buildProvider(t)
	of := func(hosts ...string) string {
		var cfg Config
		for _, host := range hosts {
			cfg = append(cfg, w.cardOnly(host)[:3]...)
		}
		return Required + HCL(w.Provider(), cfg)
	}
	first, second, elsewhere := newFolder(t, built), newFolder(t, built), newFolder(t, built)
	first.write("main.tf", of(one))
	second.write("main.tf", of(two))
	elsewhere.write("main.tf", of(one, two))
	w.Machine(one).Faults.Trap(" -allow_psid_change ", 0, labsim.ProgramFault{Exit: true, Status: 1})
	first.says(1, "apply", "-auto-approve")
	w.Machine(one).Faults.Clear()
	said := second.says(1, "apply", "-auto-approve")
	if !strings.Contains(said, "HO051") || !strings.Contains(said, filepath.Base(first.dir)) || w.Count(two, "-allow_psid_change") != 0 {
		t.Fatalf("%d burns of the other root module:\n%s", w.Count(two, "-allow_psid_change"), said)
	}
	first.write("main.tf", of(one, two))
	first.says(0, "plan") // how its card is mended

	if said = elsewhere.says(1, "plan"); strings.Count(said, "Finding: HO051") != 1 {
		t.Errorf("a copy in another directory:\n%s", said)
	}
	elsewhere.says(0, "apply", "-auto-approve", "-target="+w.cardOnly(one)[2].Address())
	second.says(0, "apply", "-auto-approve")
}
