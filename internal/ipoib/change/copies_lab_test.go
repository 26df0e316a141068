package change_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
)

// copyNames are names that somebody may give a copy of our file in each network stack.
var copyNames = map[ipoib.Stack]string{
	ipoib.StackNetplan: "70-copy.yaml", ipoib.StackNetplanNM: "70-copy.yaml", ipoib.StackNetworkd: "50-mine.network",
	ipoib.StackNM: "copy.nmconnection", ipoib.StackIfupdown: "infiniband-e41d2d0300e44e01.bak",
}

// copyOf puts a copy of a file under another name, with another address.
func copyOf(l *testLab, file, name string) string {
	text := strings.ReplaceAll(l.file("intel9", file), ".20/24", ".77/24")
	if head, uuid, ok := strings.Cut(text, "uuid="); ok {
		text = head + "uuid=00000000" + uuid[8:]
	}
	at := path.Dir(file) + "/" + name
	l.Machine("intel9").FS.Put(at, text, 0o600)
	return at
}

// checked are the findings of a plan, by their codes.
func checked(t *testing.T, l *testLab, d ipoib.Request) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range judge.Check(found.At(l.snapshot(t, "intel9"), d.Ref()), d, judge.PlanFacts{Held: true}) {
		all[f.Rule.Code] += f.Detail()
	}
	return all
}

// A copy of a file of ours under another name is a definition of somebody else, though it says
// that this provider wrote it: nothing of ours ever writes or removes it. It is refused as any
// other, taken over with the same consents, and a removal names it.
func TestLab_Stacks_copyOfOurFile(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l, d := stackLab(t, c), ubuntuDesired()
		apply(t, l, d)
		if shows := checked(t, l, d); shows["IP011"]+shows["IP042"] != "" {
			t.Fatalf("without a copy: %v", shows)
		}
		at := copyOf(l, c.file, copyNames[c.stack])
		shows := checked(t, l, d)
		mustContain(t, shows["IP042"], at, "172.16.0.77/24", "it is a copy", `adopt_files = ["`+at+`"]`)
		mustContain(t, shows["IP043"], `adopt_without = ["172.16.0.77/24"]`)
		if shows["IP037"] != "" {
			t.Errorf("IP037: %s", shows["IP037"])
		}
		d.Consent.AdoptFiles, d.Consent.AdoptWithout = []string{at}, []string{"172.16.0.77/24"}
		apply(t, l, d)
		powerCycle(t, l)
		if o := observe(t, l, d); len(o.Unmanaged) > 0 || !slices.Equal(o.Live.Addresses, d.Config.Addresses) ||
			len(o.Differences(d.Config)) > 0 {
			t.Errorf("after a restart: %v, %v, %v", o.Live.Addresses, o.Unmanaged, o.Differences(d.Config))
		}
		// What the takeover left is no definition, neither of this interface nor of another one.
		if shows := checked(t, l, d); shows["IP011"]+shows["IP042"] != "" {
			t.Errorf("after the takeover: %v", shows)
		}
		at = copyOf(l, c.file, copyNames[c.stack])
		var removal []string
		for _, f := range judge.CheckRemove(found.At(l.snapshot(t, "intel9"), d.Ref()), d) {
			removal = append(removal, f.Rule.Code+" "+f.Evidence)
		}
		mustContain(t, strings.Join(removal, "\n"), finding.DefinitionStays.Code, at)
		r, err := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{})
		if err != nil {
			t.Fatal(err)
		}
		mustContain(t, strings.Join(r.Left, " "), at+" stays", "at the next start")
		if l.file("intel9", at) == "" {
			t.Error("the removal took the copy along")
		}
	})
}

// The same for the files of a P_Key interface.
func TestLab_Stacks_copyOfOurFile_pkey(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l, d := stackLab(t, c), pkeyDesired()
		apply(t, l, ubuntuDesired())
		apply(t, l, d)
		file := observe(t, l, d).Persisted.Sources[0]
		at := copyOf(l, file, "50-mine"+path.Ext(file))
		shows := checked(t, l, d)
		mustContain(t, shows["IP011"]+shows["IP042"], at, "172.17.0.77/24", "it is a copy")
		if shows := checked(t, l, ubuntuDesired()); shows["IP011"]+shows["IP042"] != "" {
			t.Errorf("it is said of the interface of the port: %v", shows)
		}
	})
}

// Files of ours at their own paths never count as those of somebody else: those that the host
// had for another network stack, and those for an interface that has another name by now.
func TestLab_Stacks_ownFilesOfFormerStacks(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l, d := stackLab(t, c), ubuntuDesired()
		apply(t, l, d)
		apply(t, l, pkeyDesired())
		for _, other := range stackCases {
			if l.file("intel9", other.file) == "" {
				former := stackLab(t, other)
				apply(t, former, d)
				l.Machine("intel9").FS.Put(other.file, former.file("intel9", other.file), 0o600)
			}
		}
		for _, d := range []ipoib.Request{d, pkeyDesired()} {
			if shows := checked(t, l, d); shows["IP011"]+shows["IP042"] != "" {
				t.Errorf("%#x: %v", d.PKey, shows)
			}
		}
	})
}

// A file of ours whose first line is gone, and that nobody can take over, is said to be ours. Once
// it is moved away, the next apply writes it anew.
func TestLab_Stacks_ownFileIsBroken(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		if c.stack == ipoib.StackIfupdown {
			t.Skip("ifup stops at such a file: IP025 names the line")
		}
		if c.stack == ipoib.StackNM {
			t.Skip("a keyfile that is of no InfiniBand interface is not read: it may hold secrets")
		}
		l, d := stackLab(t, c), ubuntuDesired()
		apply(t, l, d)
		for name, spoil := range map[string]string{
			"nonsense": "echo 'nonsense: [' >" + c.file, "link": "ln -sf /dev/null " + c.file,
		} {
			runText(t, l, spoil)
			shows := checked(t, l, d)
			mustContain(t, fmt.Sprint(shows["HO035"], "; ", shows), c.file, "move "+c.file+" away. Then plan again")
			if shows["IP011"]+shows["IP042"] != "" {
				t.Errorf("%s: somebody else's: %v", name, shows)
			}
			runText(t, l, "rm "+c.file)
			l.snapshot(t, "intel9") // nobody of here has changed the host
			apply(t, l, d)
			if shows := checked(t, l, d); shows["HO035"] != "" || len(observe(t, l, d).Differences(d.Config)) > 0 {
				t.Errorf("%s: afterwards %v", name, shows)
			}
		}
	})
}
