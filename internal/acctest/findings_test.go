package acctest

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/schemadump/symptom"
)

// findingCase is how one finding of the catalogue comes about in a plan.
type findingCase struct {
	code     string
	hosts    func() []labs.Host // default: the lab after the cross-flash
	prepare  func(*Lab)
	provider func(map[string]any) // changes the provider's configuration
	config   func(*Lab) Config
	at       string   // attribute path
	says     []string // parts of summary and detail
	phase    Phase    // default: plan
	moving   bool     // the host changes by itself meanwhile
	only     string   // what the case needs that real hosts do not have
	tolerate bool     // the case asks the lab for what it does not simulate
}

// notInAPlan are the findings of the catalogue that a plan of this lab cannot
// show, with the reason.
var notInAPlan = map[string]string{
	"FW060": "what the card has is read with the backup, at apply",
	"LT011": "both platforms of this release have a way to keep link types",
	"IP002": "the type of the attribute adds the bit 0x8000, and refuses keys without a partition",
	"SM005": "it needs an instance that this provider has started: see TestTwoManagers_equalPriority",
	"SM034": "it needs an instance that this provider has started: see TestSM_runs_with_something_else",
	"SM041": "it needs a host with keys: see TestSM_keys",
	"SM039": "only the plan of a destroy shows it: see TestSM_last_of_a_fabric",
	"SM036": "it needs an instance that this provider has started: see TestSM_create_starts_no_others",
	"IP050": "it needs an interface that this provider has made: see TestIPoIB_files_that_somebody_has_changed",
	"IP056": "it needs a bond that this provider has made: see TestBond",
	"IP046": "only the plan of a destroy shows it: see TestIPoIB_copies_of_our_files",
	"HO005": "the plan shows it as the warning on the job, with all that is known of it: see TestInterrupted_provider_killed",
	"HO019": "what has changed since the plan shows at apply: see TestSteady_GUIDs",
	"HO018": "only an apply shows it: see TestCanary_no_card_after_one_that_failed",
	"HO051": "it needs a burn that failed: see TestCanary_holds_across_processes",
	"SM026": "the port shows it when its master runs: see TestSM_subnet_prefix",
	"NV004": "the tool says it when a setting is stored: see TestNVConfig_powerCycle",
	"BM004": "measured at apply: see TestBenchmark_life",
	"BK001": "the backup is made at apply: see TestTrouble_named_at_its_phase",
	"BK003": "only the plan of a destroy shows it: see TestRestore_refusesWithoutAGoodBackup of the provider",
	"BK004": "only the plan of a destroy shows it: see TestRestore_refusesWithoutAGoodBackup of the provider",
	"BK005": "only the plan of a destroy shows it: see TestRestore_refusesWithoutAGoodBackup of the provider",
	"BK007": "only the plan of a destroy shows it: see TestByproducts_a_rename_is_refused_without_moved",
	"BK006": "only the plan of a destroy shows it: see TestRestore_ofACardThatSomebodyChanged of the provider",
}

// findings are the cases of all parts of the catalogue.
func findings() []findingCase {
	return slices.Concat(identityFindings(), imageFindings(), matchFindings(), cardFindings(), boardFindings(),
		hostFindings(), aroundFindings(), guidFindings(), linkFindings(), settingFindings(), networkFindings(),
		smFindings(), partitionFindings(), fabricFindings(), platformFindings(), portFindings(), sriovFindings(), benchmarkFindings())
}

func TestFindings_each_appears_in_a_plan(t *testing.T) {
	t.Parallel()
	cases := findings()
	covered := map[string]bool{}
	rules := map[string]*finding.Rule{}
	for _, c := range cases {
		covered[c.code] = true
	}
	for _, rule := range finding.All() {
		reason, excused := notInAPlan[rule.Code]
		switch {
		case !covered[rule.Code] && !excused:
			t.Errorf("no case makes %s (%s) appear", rule.Code, rule.Title)
		case covered[rule.Code] && excused:
			t.Errorf("%s appears after all; it is excused because %s", rule.Code, reason)
		}
		delete(covered, rule.Code)
		rules[rule.Code] = rule
	}
	if len(covered) > 0 {
		t.Fatalf("cases without a rule: %v", covered)
	}
	for _, c := range cases {
		name := c.code
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t, rules[c.code])
		})
	}
}

func (c findingCase) run(t *testing.T, rule *finding.Rule) {
	if c.hosts == nil {
		c.hosts = func() []labs.Host { return vpi() }
	}
	w := Start(t, Options{Hosts: c.hosts(), Tolerate: c.tolerate})
	if c.only != "" {
		w.needSimulated("needs " + c.only)
	}
	if c.prepare != nil {
		c.prepare(w)
	}
	ws := w.Workspace()
	if c.provider != nil {
		c.provider(ws.Provider)
	}
	before := w.prints()
	plan, err := ws.Plan(t.Context(), c.config(w))
	if err != nil {
		t.Fatal(err)
	}
	if after := w.prints(); after != before && !c.moving {
		t.Error("the plan changed a host")
	}
	found := plan.Diags.Find("Finding: " + c.code)
	if len(found) == 0 {
		t.Fatalf("not in the plan, which says:\n%s", plan.Diags)
	}
	for _, d := range found {
		if kind, _, _ := strings.Cut(d.Address, "."); !symptom.Shows(kind, c.code) {
			t.Errorf("%s shows it, and the index of the findings does not lead from there", kind)
		}
	}
	d := found[max(0, slices.IndexFunc(found, func(d Diag) bool { return d.Path == c.at }))]
	if c.phase == "" {
		c.phase = PhasePlan
	}
	if d.Phase != c.phase || d.Path != c.at || d.Error != rule.Severity.Blocks() {
		t.Errorf("in phase %s at %q as error %t; expected %s, %q, %t", d.Phase, d.Path, d.Error, c.phase, c.at,
			rule.Severity.Blocks())
	}
	for _, s := range c.says {
		if !strings.Contains(d.Text(), s) {
			t.Errorf("does not say %q:\n%s", s, d)
		}
	}
	consent := rule.Consent[strings.LastIndex(rule.Consent, ".")+1:]
	if consent != "" && !strings.Contains(d.Text(), consent+" = ") {
		t.Errorf("does not show the line to add:\n%s", d)
	}
}

// prints is the fingerprint of all hosts.
func (w *Lab) prints() string {
	var b strings.Builder
	for _, name := range w.Names() {
		b.WriteString(w.Print(name))
	}
	return b.String()
}
