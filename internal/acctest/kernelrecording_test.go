package acctest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// recording is what a machine of one system has answered to the questions of one test.
type recording struct {
	test   string
	system labsim.OS // "" stands for every one
}

// The tests that record.
const (
	contractTest = "TestKernels_contract"
	managersTest = "TestKernels_managers"
)

// answered is what a machine has said.
type answered struct {
	question, output string
	status           int
}

// ask puts questions to a machine.
func ask(t *testing.T, w *Lab, host string, questions []string) (answers []answered) {
	t.Helper()
	for _, q := range questions {
		output, status := w.Try(host, kernelCommand(t, q))
		answers = append(answers, answered{q, output, status})
	}
	return answers
}

// comparison is the answers of a machine beside those of its twin.
type comparison struct {
	t        *testing.T
	twin     *Lab
	host     string
	recorded bool
	known    map[string]string // differences that were not met yet
	asked    map[string]int
	answers  int
	differ   int
}

// compareAnswers puts the questions of a whole recording to a simulated host.
func compareAnswers(t *testing.T, twin *Lab, host string, r recording, answers []answered, recorded bool) {
	t.Helper()
	c := newComparison(t, twin, host, r, recorded)
	c.compare(answers)
	c.end()
}

func newComparison(t *testing.T, twin *Lab, host string, r recording, recorded bool) *comparison {
	c := &comparison{t: t, twin: twin, host: host, recorded: recorded, known: map[string]string{}, asked: map[string]int{}}
	maps.Copy(c.known, knownDifferences[r])
	maps.Copy(c.known, knownDifferences[recording{r.test, ""}])
	return c
}

// compare puts the questions of some answers to the simulated host. A difference is an error
// unless it is known, and so is a known difference that is no more.
func (c *comparison) compare(answers []answered) {
	c.t.Helper()
	for _, a := range answers {
		c.answers++
		c.asked[a.question]++
		key := a.question
		if c.asked[key] > 1 {
			key = fmt.Sprintf("%s (%d)", key, c.asked[key])
		}
		simulated, status := c.twin.Try(c.host, "sh -c "+shellcmd.Quote(kernelCommand(c.t, a.question)))
		diff := gocmp.Diff(kernelNormal(a.question, a.output), kernelNormal(a.question, simulated))
		differs, reason := diff != "" || status != a.status, c.known[key]
		delete(c.known, key)
		if differs {
			c.differ++
		}
		switch {
		case differs && reason == "":
			c.t.Errorf("%s: %s: status %d, simulated %d; output (-real +simulated):\n%s", c.host, key, a.status, status, diff)
		case !differs && reason != "" && c.recorded:
			c.t.Errorf("%s: %s: no longer differs; take it out of knownDifferences (%s)", c.host, key, reason)
		}
	}
}

// end holds that all known differences were met.
func (c *comparison) end() {
	c.t.Helper()
	for key := range c.known {
		c.t.Errorf("%s is in knownDifferences and is not asked", key)
	}
	c.t.Logf("contract of %s: %d questions, %d differ", c.host, c.answers, c.differ)
}

var updateKernels = flag.Bool("kernels.update", false, "write what machines answer to testdata/kernels")

// file is where the answers are kept.
func (r recording) file() string {
	return filepath.Join("testdata", "kernels", r.test, string(r.system)+".txt")
}

func (r recording) write(t *testing.T, answers []answered) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# Answers of a machine with a stock kernel and an emulated ConnectX-3 Pro, written by\n"+
		"# %s -kernels.update; the same questions are put to a simulated host.\n", r.test)
	for _, a := range answers {
		fmt.Fprintf(&b, "$ %d %s\n", a.status, strconv.Quote(a.question))
		for line := range strings.SplitSeq(a.output, "\n") {
			fmt.Fprintf(&b, "|%s\n", line)
		}
	}
	if err := os.MkdirAll(filepath.Dir(r.file()), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.file(), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// read gives the answers, which must be those to the questions of today.
func (r recording) read(t *testing.T, questions []string) (all []answered) {
	t.Helper()
	data, err := os.ReadFile(r.file())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n"), "\n") {
		text, isOutput := strings.CutPrefix(line, "|")
		switch {
		case isOutput && len(all) > 0:
			all[len(all)-1].output += text + "\n"
		case strings.HasPrefix(line, "$ "):
			all = append(all, readQuestion(t, line[2:]))
		case !strings.HasPrefix(line, "#"):
			t.Fatalf("a line of no answer: %s", line)
		}
	}
	for i := range all {
		all[i].output = strings.TrimSuffix(all[i].output, "\n")
		if i < len(questions) && all[i].question != questions[i] {
			t.Fatalf("%s is old: question %d was %s, and is %s", r.file(), i+1, all[i].question, questions[i])
		}
	}
	if len(all) != len(questions) {
		t.Fatalf("%s is old: %d answers to %d questions", r.file(), len(all), len(questions))
	}
	return all
}

// readQuestion reads the line before an answer.
func readQuestion(t *testing.T, line string) (a answered) {
	t.Helper()
	number, quoted, _ := strings.Cut(line, " ")
	var err error
	if a.status, err = strconv.Atoi(number); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if a.question, err = strconv.Unquote(quoted); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return a
}
