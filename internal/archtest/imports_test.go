// Package archtest holds the rules of the architecture as tests. It has no
// code of its own and nothing may import it.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ibfabric/terraform-provider-infiniband"

type goPackage struct {
	ImportPath   string
	Dir          string
	Name         string
	Doc          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

// local returns the path below internal/, or "" for the root package.
func local(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/internal/")
}

func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-tags=testbed", "-json"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list %v: %v\n%s", args, err, exit.Stderr)
		}
		t.Fatalf("go list %v: %v", args, err)
	}
	var pkgs []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// rule says what packages below a prefix may import: of this module the
// packages below the prefixes in own; of others, those in outside. The
// standard library is free but for what noStd names.
type rule struct {
	own     []string
	outside []string
	noStd   []string
}

const framework = "github.com/hashicorp/terraform-plugin-"

// rules holds one rule a line, in columns of no width, so that two changes meet only where
// they change one rule: the prefix, what stands in own, with + what stands in outside, and
// with - what stands in noStd. +framework is Terraform's.
var rules = readRules(`
fact: -context -os -os/exec -time
ib: -context -os -net/http -os/exec
inventory: fact ib memo -context -os -os/exec
fwimage: ib -context -os -os/exec
download: -os/exec
boards: ib -context -os -os/exec
explain: -context -os -os/exec
finding:
safety: boards fact finding ib inventory -context -os -os/exec
safety/clash: fact finding ib -context -os -os/exec
safety/hostcheck: fact finding ib inventory -context -os -os/exec
safety/bootrom: finding -context -os -os/exec
safety/release: -context -os -os/exec
safety/rollback: fact finding ib inventory -context -os -os/exec
safety/runbook: ib inventory -context -os -os/exec
shellcmd: +al.essio.dev/pkg/shellescape -context -os -os/exec
tool: fact ib inventory shellcmd tool +github.com/goccy/go-yaml +github.com/ulikunitz/xz -context -os -os/exec
atomicfile: -context -os/exec
poll: -os -os/exec
memo: -os -os/exec
host: shellcmd
host/sshhost: host shellcmd poll +golang.org/x/crypto +github.com/pkg/sftp -os/exec
host/sshhost/knownhosts: memo +golang.org/x/crypto -context -os/exec
host/sshhost/auth: host/sshhost/knownhosts memo +golang.org/x/crypto -os/exec
host/sshhost/sshconfig: host host/sshhost/auth host/sshhost/knownhosts memo +github.com/kevinburke/ssh_config
host/sshhost/sshconn: host host/sshhost/auth host/sshhost/knownhosts host/sshhost/sshconfig shellcmd poll +golang.org/x/ +github.com/cenkalti/backoff/v5
host/hostpool: host
changes: shellcmd host inventory -os/exec
hosts: fact ib inventory shellcmd host tool +golang.org/x/sync
platform: explain fact ib finding safety shellcmd host tool inventory hosts -os -os/exec
platform/reboot: explain shellcmd host tool hosts poll -os -os/exec
fabric: explain fact ib shellcmd host tool inventory
connectivity: host tool inventory hosts
rdma: fact ib shellcmd host tool inventory -os/exec
fabric/picture: fabric
hca/image: ib fwimage safety shellcmd host tool inventory hca/cards hca/journal
hca/journal: fact ib safety inventory -context -os -os/exec
hca/cards: explain changes fact finding ib safety shellcmd host hosts tool inventory platform hca/journal poll
hca/activation: safety finding shellcmd host tool inventory platform hca/cards hca/journal
hca/job: fact ib finding safety shellcmd host tool inventory hca/cards hca/journal -os -os/exec
hca/record: changes fact ib shellcmd host tool inventory hca/journal -os -os/exec
hca/backup: ib fwimage safety shellcmd host tool inventory hca/cards hca/image hca/journal -os/exec
hca/linktype: changes fact finding ib safety shellcmd tool inventory platform hca/cards hca/activation hca/job
hca/nvconfig: changes fact finding ib managed safety shellcmd tool inventory hca/cards hca/activation hca/job
hca: fact ib finding safety tool inventory hca
opensm: fact ib tool -context -os -os/exec
opensm/found: fact ib inventory platform tool opensm -context -os -os/exec
opensm/judge: fact ib finding managed platform tool opensm opensm/found -context -os -os/exec
opensm/change: changes fact ib finding managed safety shellcmd host tool hosts platform fabric poll opensm opensm/found opensm/judge -os -os/exec
ipoib: ib platform tool -context -os -os/exec
ipoib/found: fact ib inventory ipoib memo platform tool -context -os -os/exec
ipoib/judge: fact finding managed ib ipoib ipoib/found platform tool -context -os -os/exec
ipoib/change: changes explain fact finding managed ib ipoib ipoib/found ipoib/judge safety shellcmd host tool hosts platform poll
ipoib/ipoibtest: fact ib inventory
managed: changes finding host
nodenames: changes explain finding ib inventory managed platform hosts safety tool
sriov: changes finding ib inventory managed platform hosts safety shellcmd tool
port: changes fact ib managed finding safety shellcmd host tool inventory hosts platform poll
benchmark: changes finding shellcmd host tool inventory hosts platform connectivity fabric poll
provider: atomicfile explain download ib fwimage finding safety host inventory hosts platform hca opensm ipoib fabric connectivity rdma benchmark nodenames port sriov memo managed provider +framework
provider/adoption: finding ib inventory ipoib opensm platform port sriov provider/attribute provider/diagnostic provider/session +github.com/hashicorp/hcl/v2 +github.com/zclconf/go-cty +framework -os -os/exec
provider/firmwarecatalog: download ib provider/attribute provider/diagnostic provider/session +framework +github.com/goccy/go-yaml -os/exec
provider/diagnostic: explain host inventory platform finding safety +framework
provider/attribute: finding ib poll provider/diagnostic +framework
provider/planned: fact fwimage ib inventory safety provider/attribute provider/diagnostic +framework
provider/runlog: hca/journal provider/diagnostic +framework -os/exec
provider/managed: explain finding hosts inventory managed platform safety hca/cards provider/attribute provider/diagnostic provider/planned provider/session +framework -os -os/exec
provider/session: explain fact fwimage ib finding safety host inventory hosts platform hca fabric memo provider/attribute provider/diagnostic provider/planned provider/runlog +framework +golang.org/x/sync
command: -os/exec
command/check: finding ib safety inventory host hosts platform hca/cards provider/diagnostic command command/target -os -os/exec
command/explain: command finding -os -os/exec
command/history: hca/record provider/diagnostic command command/target -os -os/exec
command/record: fabric hca/backup hca/cards hca/record host hosts inventory platform provider/diagnostic recording shellcmd command command/target -os/exec
recording: -context -os -os/exec
recording/pseudonym: -context -os -os/exec
recording/secret: -context -os -os/exec
command/report: atomicfile benchmark boards changes fabric fact finding hca/backup hca/cards hca/record hosts ib inventory opensm/found platform provider/attribute provider/diagnostic command command/check command/target -os -os/exec
command/review: command finding provider/diagnostic -os/exec
command/rollout: command provider/diagnostic
command/watch: hca/cards hca/journal hca/record host poll provider/diagnostic command command/target +golang.org/x/term -os/exec
command/target: command host hosts shellcmd provider/diagnostic +golang.org/x/term -os/exec
command/adopt: boards explain command command/target host inventory provider/adoption provider/diagnostic +framework -os/exec
labsim: labsim +golang.org/x/crypto +github.com/pkg/sftp +mvdan.cc/sh/v3 +github.com/goccy/go-yaml +github.com/ulikunitz/xz
labsim/synth: ib -context -os -os/exec
labsim/card: labsim/synth ib
labsim/fusetree: +github.com/hanwen/go-fuse/v2 +golang.org/x/sys -os -os/exec
labsim/realflint: labsim +golang.org/x/sys
labsim/registers: labsim/card -context -os -os/exec
archtest/house:
bench: labsim provider +framework +golang.org/x/sync
realtool: -net
realtool/capture: tool -context -os/exec
ibsimtest: realtool
demo: labsim
tools/shipped: +github.com/goccy/go-yaml
testbed: labsim +golang.org/x/
testbed/cmd: testbed reallab/machine
reallab: labsim/card labsim/netstack labsim/registers reallab +golang.org/x/ +al.essio.dev/pkg/shellescape
reallab/wire: -os -os/exec -net
reallab/fabric: reallab/wire -os -os/exec -net
reallab/vfiouser: +golang.org/x/sys
reallab/pci: -os -os/exec -net
reallab/transport: reallab/fabric reallab/wire -os -os/exec -net
reallab/hcr: -os -os/exec -net
reallab/infinihost3: labsim/card labsim/registers reallab/fabric reallab/hcr reallab/pci reallab/transport reallab/vfiouser reallab/wire -os -os/exec
reallab/iba7322: labsim/card labsim/registers reallab/pci reallab/vfiouser reallab/wire -os -os/exec
reallab/connectx3: labsim/card labsim/registers reallab/fabric reallab/hcr reallab/pci reallab/transport reallab/vfiouser reallab/wire -os -os/exec
reallab/connectx4: labsim/card labsim/registers reallab/fabric reallab/pci reallab/transport reallab/vfiouser reallab/wire -os -os/exec
reallab/machine: labsim/netstack +golang.org/x/sys
reallab/cmd: labsim/card reallab
acctest: command labsim provider +framework +github.com/hashicorp/go-plugin +github.com/hashicorp/go-hclog
`)

func readRules(text string) map[string]rule {
	out := map[string]rule{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		name, words, _ := strings.Cut(line, ":")
		var r rule
		for _, w := range strings.Fields(words) {
			switch w[0] {
			case '+':
				r.outside = append(r.outside, strings.Replace(w[1:], "framework", framework, 1))
			case '-':
				r.noStd = append(r.noStd, w[1:])
			default:
				r.own = append(r.own, w)
			}
		}
		out[name] = r
	}
	return out
}

// ruleFor finds the key of the longest matching prefix.
func ruleFor(pkg string) (key string, ok bool) {
	for p := pkg; p != ""; {
		if _, ok = rules[p]; ok {
			return p, true
		}
		i := strings.LastIndexByte(p, '/')
		if i < 0 {
			return "", false
		}
		p = p[:i]
	}
	return "", false
}

func below(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

// A package without a rule is in no layer, and a permission that nothing uses hides
// the day on which something does.
func TestImports_followTheLayers(t *testing.T) {
	imported := map[string][]string{}
	for _, p := range list(t, "./internal/...") {
		name := local(p.ImportPath)
		if len(p.GoFiles) == 0 {
			continue
		}
		key, ok := ruleFor(name)
		if !ok {
			t.Errorf("internal/%s has no rule", name)
			continue
		}
		for _, imp := range p.Imports {
			if why := rules[key].refuses(name, imp); why != "" {
				t.Errorf("internal/%s imports %s: %s", name, imp, why)
			}
			imported[key] = append(imported[key], imp)
		}
	}
	for key, r := range rules {
		for _, own := range r.own {
			if !slices.ContainsFunc(imported[key],
				func(imp string) bool { return strings.HasPrefix(imp, module) && below(local(imp), own) }) {
				t.Errorf("the rule of %s allows %s, which nothing of it imports", key, own)
			}
		}
		for _, outside := range r.outside {
			if !slices.ContainsFunc(imported[key], func(imp string) bool { return strings.HasPrefix(imp, outside) }) {
				t.Errorf("the rule of %s allows %s, which nothing of it imports", key, outside)
			}
		}
	}
}

const doesIO = "this package does no I/O"

func (r rule) refuses(name, imp string) string {
	switch {
	case strings.HasPrefix(imp, module):
		target := local(imp)
		// A package may use the parts below itself that its own rule covers.
		for _, own := range append(r.own, name) {
			if below(target, own) {
				return ""
			}
		}
		return "this layer may not know that package"
	case !strings.Contains(strings.SplitN(imp, "/", 2)[0], "."):
		for _, no := range r.noStd {
			if imp == no {
				return doesIO
			}
		}
		return ""
	default:
		for _, o := range r.outside {
			if strings.HasPrefix(imp, o) {
				return ""
			}
		}
		return "not a library of this layer"
	}
}

// What a package below the lab of real kernels may not know, it does not come to know by
// another. The model of a card brings what its own rule names. Packages that may not use
// sockets do no I/O at all, and so depend on nothing that does.
func TestImports_theRealLabHoldsItsRulesThroughout(t *testing.T) {
	pkgs := map[string]goPackage{}
	for _, p := range list(t, "./internal/...") {
		pkgs[p.ImportPath] = p
	}
	seen := 0
	for _, p := range pkgs {
		name := local(p.ImportPath)
		key, _ := ruleFor(name)
		if !strings.HasPrefix(key, "reallab/") || key == "reallab/cmd" {
			continue
		}
		r := rules[key].throughout()
		for _, dep := range p.Deps {
			d, ours := pkgs[dep]
			if !ours {
				continue
			}
			seen++
			for _, imp := range append(d.Imports, dep) {
				if why := r.refuses(name, imp); why != "" && (imp == dep || why == doesIO) {
					t.Errorf("internal/%s depends on internal/%s, which is or imports %s: %s", name, local(dep), imp, why)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("the packages of the lab depend on %d of ours", seen)
	}
}

// throughout is the rule for all that a package depends on.
func (r rule) throughout() rule {
	out := rule{own: slices.Clone(r.own)}
	if slices.Contains(r.noStd, "net") {
		out.noStd = r.noStd
	}
	for _, own := range r.own {
		if strings.HasPrefix(own, "labsim/") {
			out.own = append(out.own, rules[own].own...)
		}
	}
	return out
}

// Objects of the provider know neither commands, nor tools, nor the transport:
// they reach a host only through the operations. Only the provider package
// itself, which wires them, may name the transport.
func TestImports_objectsDoNotReachHosts(t *testing.T) {
	for _, p := range list(t, "./internal/provider/...") {
		if p.ImportPath == module+"/internal/provider" {
			continue
		}
		for _, imp := range p.Imports {
			for _, no := range []string{"shellcmd", "tool", "host/sshhost", "host/hostpool"} {
				if strings.HasPrefix(imp, module) && below(local(imp), no) {
					t.Errorf("%s imports %s", local(p.ImportPath), imp)
				}
			}
		}
	}
}

func TestImports_binaryLinksNoLabAndNoTests(t *testing.T) {
	pkgs := list(t, ".")
	if len(pkgs) != 1 || len(pkgs[0].Deps) < 50 {
		t.Fatalf("go list . gave %d packages; expected the provider with its dependencies", len(pkgs))
	}
	for _, p := range list(t, "./internal/...") {
		// hashicorp/go-plugin links the standard library's testing; we do not.
		if slices.Contains(pkgs[0].Deps, p.ImportPath) && slices.Contains(p.Imports, "testing") {
			t.Errorf("%s is in the shipped binary and imports testing", local(p.ImportPath))
		}
	}
	for _, dep := range pkgs[0].Deps {
		bad := strings.HasPrefix(dep, "mvdan.cc/sh")
		for _, no := range []string{"labsim", "testbed", "reallab", "acctest", "archtest", "demo", "bench",
			"provider/schemadump"} {
			bad = bad || (strings.HasPrefix(dep, module) && below(local(dep), no))
		}
		if bad {
			t.Errorf("the shipped binary links %s", dep)
		}
	}
}
