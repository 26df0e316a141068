package acctest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	commandline "github.com/ibfabric/terraform-provider-infiniband/internal/command"
	recorder "github.com/ibfabric/terraform-provider-infiniband/internal/command/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	labrecording "github.com/ibfabric/terraform-provider-infiniband/internal/labsim/recording"
	labtwin "github.com/ibfabric/terraform-provider-infiniband/internal/labsim/twin"
)

// Record has the command record all hosts of the lab, and returns the file. more are further flags.
func (w *Lab) Record(t testing.TB, more ...string) string {
	t.Helper()
	key, known := w.keys()
	var text strings.Builder
	for _, name := range w.Names() {
		h := w.Host(name)
		fmt.Fprintf(&text, "Host %s\n  HostName %s\n  Port %d\n  User %s\n", name, h["address"], h["port"], h["user"])
	}
	fmt.Fprintf(&text, "Host *\n  IdentityFile %s\n  IdentityAgent none\n  UserKnownHostsFile %s\n", key, known)
	dir := t.TempDir()
	config, file := filepath.Join(dir, "config"), filepath.Join(dir, "lab.tar.gz")
	if err := os.WriteFile(config, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	args := slices.Concat([]string{"-config-file", config, "-yes", "-o", file}, more, w.Names())
	std := commandline.Streams{In: strings.NewReader(""), Out: &out, Err: &out}
	if status := recorder.Command("test").Run(context.Background(), args, std); status != commandline.OK {
		t.Fatalf("record: status %d\n%s", status, &out)
	}
	return file
}

// StartTwin starts the twin of a recording in the simulated lab, with an operator beside it.
func StartTwin(t testing.TB, file string, oneSwitch bool, images ...[]byte) (*Lab, *labtwin.Twin) {
	t.Helper()
	return startTwin(t, file, oneSwitch, labsim.Options{}, images...)
}

func startTwin(t testing.TB, file string, oneSwitch bool, options labsim.Options, images ...[]byte,
) (*Lab, *labtwin.Twin) {
	t.Helper()
	rec, err := labrecording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	made, err := labtwin.Of(rec, images...)
	if err != nil {
		t.Fatal(err)
	}
	made.OneSwitch = oneSwitch
	o := Options{Hosts: made.Hosts, Simulated: true, Lab: options}
	o.Lab.Setup = append(o.Lab.Setup, made.SetUp)
	w := Start(t, o)
	if err = made.Finish(w.Lab); err != nil {
		t.Fatal(err)
	}
	return w, made
}

// Lines writes a value, one line for each part of it.
func Lines(at string, v any) string {
	var b strings.Builder
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(Lines(at+"."+key, v[key]))
		}
	case []any:
		for i, e := range v {
			b.WriteString(Lines(fmt.Sprintf("%s[%d]", at, i), e))
		}
	default:
		return fmt.Sprintf("%s = %v\n", at, v)
	}
	return b.String()
}

// Difference shows the lines that only one of two texts has.
func Difference(lab, twin string) string {
	var out strings.Builder
	for _, side := range []struct{ name, a, b string }{{"lab  ", lab, twin}, {"twin ", twin, lab}} {
		count := map[string]int{}
		for l := range strings.Lines(side.b) {
			count[l]++
		}
		for l := range strings.Lines(side.a) {
			if count[l]--; count[l] < 0 {
				out.WriteString(side.name + l)
			}
		}
	}
	return out.String()
}
