package archtest

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// walks says how often one step of a walk may interpret what a host answered. A walk is a test of acctest
// with its steps as subtests; a function is named by its package and itself. The look at an object is made once
// for each answer of its host and each call of the engine; what is derived of it is in the look.
var walks = []struct {
	test, step, function string
	most                 int
}{
	// The look at an interface is kept beside the answer: one of the plan, and of the apply one before the change,
	// one when it has loaded modules, and one after it.
	{"TestWalk_IPoIB", "empty_plan", "ipoib/found.newLook", 1},
	{"TestWalk_IPoIB", "plan", "ipoib/found.newLook", 1},
	{"TestWalk_IPoIB", "plan_and_apply", "ipoib/found.newLook", 4},
	{"TestWalk_IPoIB", "plan_and_apply", "ipoib/found.newTarget", 4},
	{"TestWalk_IPoIB", "empty_plan", "ipoib/found.runningStacks", 1},
	{"TestWalk_IPoIB", "plan_and_apply", "ipoib/found.runningStacks", 4},
	// Of one answer: our file and the one of the host, and ours once more for what somebody has added to it.
	{"TestWalk_IPoIB", "empty_plan", "tool/netplan.Parse", 3},
	{"TestWalk_IPoIB", "plan", "tool/netplan.Parse", 3},
	{"TestWalk_IPoIB", "plan_and_apply", "tool/netplan.Parse", 12},
	{"TestWalk_SM", "empty_plan", "opensm/found.interpret", 1},
	{"TestWalk_SM", "plan", "opensm/found.interpret", 1},
	{"TestWalk_SM", "plan_and_apply", "opensm/found.interpret", 4},
	// Of one look: our file of options and the one of the host.
	{"TestWalk_SM", "empty_plan", "tool/opensm.ParseConf", 2},
	{"TestWalk_SM", "plan", "tool/opensm.ParseConf", 2},
	{"TestWalk_SM", "plan_and_apply", "tool/opensm.ParseConf", 8},
	{"TestWalk_SM", "plan_and_apply", "tool/opensm.ParsePartitions", 8},
	{"TestWalk_SM", "plan_and_apply", "tool/opensm.ParseDefault", 4},
	// Every place of link types: at the refresh and the plan; in an apply at the plan that the engine makes once
	// more, at its turn, where it is held to what the plan announced, at the verdict, at the write, and when they
	// are read back.
	{"TestWalk_LinkTypes", "empty_plan", "platform.inOrder", 2},
	{"TestWalk_LinkTypes", "plan", "platform.inOrder", 2},
	{"TestWalk_LinkTypes", "plan_and_apply", "platform.inOrder", 7},
	{"TestWalk_LinkTypes", "plan_and_apply", "hca/linktype.Read", 6},
	{"TestWalk_LinkTypes", "plan_and_apply", "tool/modprobe.ReadFile", 7},
	// The one card of the host, once for each time that the host is read; once more if its driver is late.
	{"TestWalk_firmware", "empty_plan", "hca/cards.interpret", 1},
	{"TestWalk_firmware", "plan", "hca/cards.interpret", 1},
	{"TestWalk_firmware", "plan_and_apply", "hca/cards.interpret", 12},
	{"TestWalk_firmware", "plan_and_apply", "hca/journal.JobsOf", 12},
	{"TestWalk_firmware", "plan_and_apply", "inventory.identify", 12},
}

// A snapshot is read once, and interpreted once for each object: not again by each function that wants to know
// something of it.
func TestWalks_interpretOnce(t *testing.T) {
	t.Parallel()
	packages := map[string]bool{}
	for _, w := range walks {
		name, _, _ := strings.Cut(filepath.Base(w.function), ".")
		packages[filepath.Join(filepath.Dir(w.function), name)] = true
	}
	var paths []string
	for p := range packages {
		paths = append(paths, module+"/internal/"+p)
	}
	binary := filepath.Join(t.TempDir(), "walks.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-covermode=atomic",
		"-coverpkg="+strings.Join(paths, ","), "-o", binary, "./internal/acctest")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	profiles := map[string][]byte{}
	countOf := func(test, step, function string) int {
		key := test + "/" + step
		if profiles[key] == nil {
			profiles[key] = profileOf(t, binary, test, step)
		}
		return callsOf(t, profiles[key], function)
	}
	for _, w := range walks {
		before := countOf(w.test, "none", w.function)
		got := countOf(w.test, w.step, w.function) - before
		if before == 0 {
			t.Errorf("%s never calls %s, so that nothing is counted", w.test, w.function)
		}
		if got > w.most {
			t.Errorf("%s/%s: %s is called %d times, at most %d are needed", w.test, w.step, w.function, got, w.most)
		}
		t.Logf("%s/%s: %s %d", w.test, w.step, w.function, got)
	}
}

// profileOf runs a walk up to one of its steps, or no more than what precedes its steps.
func profileOf(t *testing.T, binary, test, step string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "profile")
	cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^"+test+"$/^"+step+"$", "-test.coverprofile", file)
	cmd.Dir = "../acctest"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s/%s: %v\n%s", test, step, err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// callsOf is how often a function was entered: the count of the first block of its body.
func callsOf(t *testing.T, profile []byte, function string) int {
	t.Helper()
	base, name, _ := strings.Cut(filepath.Base(function), ".")
	dir := filepath.Join(filepath.Dir(function), base)
	file, first, last := bodyOf(t, filepath.Join("..", dir), name)
	prefix := module + "/internal/" + filepath.Join(dir, file) + ":"
	line, calls := last+1, -1
	for lines := bufio.NewScanner(strings.NewReader(string(profile))); lines.Scan(); {
		block, found := strings.CutPrefix(lines.Text(), prefix)
		var from, column, to, toColumn, statements, count int
		if _, err := fmt.Sscanf(block, "%d.%d,%d.%d %d %d", &from, &column, &to, &toColumn, &statements, &count); !found ||
			err != nil || from < first || from >= line || from > last {
			continue
		}
		line, calls = from, count
	}
	if calls < 0 {
		t.Fatalf("no count of %s in the profile", function)
	}
	return calls
}

// bodyOf finds the file and the lines of a function of a package.
func bodyOf(t *testing.T, dir, name string) (file string, first, last int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Recv == nil && f.Name.Name == name {
				return filepath.Base(path), fset.Position(f.Body.Pos()).Line, fset.Position(f.Body.End()).Line
			}
		}
	}
	t.Fatal(strconv.Quote(dir) + " has no function " + name)
	return "", 0, 0
}
