package provider_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const picture = "infiniband_fabric_file.lab"

// written is a file of a lab that nobody asks.
type written struct {
	*testing.T
	ws *acctest.Workspace
	at string
}

func newWritten(t *testing.T) *written {
	t.Helper()
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	return &written{t, w.Workspace(), filepath.Join(t.TempDir(), "pictures", "fabric.svg")}
}

func (f *written) cfg(content string) acctest.Config {
	return acctest.Config{{Type: "infiniband_fabric_file", Name: "lab",
		Attrs: map[string]any{"file_path": f.at, "content": content}}}
}

// holds fails the test unless the file has a content; none means that there is none.
func (f *written) holds(content string) {
	f.Helper()
	got, err := os.ReadFile(f.at)
	if content == "" && os.IsNotExist(err) {
		return
	}
	if err != nil || string(got) != content {
		f.Errorf("the file holds %q (%v), want %q", got, err, content)
	}
}

// somebody writes the file by hand.
func (f *written) somebody(content string) {
	f.Helper()
	if err := os.MkdirAll(filepath.Dir(f.at), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(f.at, []byte(content), 0o600); err != nil {
		f.Fatal(err)
	}
}

// planned fails the test unless one action is planned.
func (f *written) checkPlan(cfg acctest.Config, want acctest.Action) {
	f.Helper()
	p := plan(f.T, f.ws, cfg)
	if got := p.Actions()[picture]; got != want || p.Diags.HasError() {
		f.Errorf("planned %q, want %q:\n%s", got, want, p.Diags)
	}
}

func TestFabricFile_is_written_when_it_changes(t *testing.T) {
	f := newWritten(t)
	apply(t, f.ws, f.cfg("one"))
	f.holds("one")
	before, err := os.Stat(f.at)
	if err != nil {
		t.Fatal(err)
	}
	// Another spelling of the path writes nothing.
	other := f.cfg("one")
	other[0].Attrs["file_path"] = filepath.Dir(f.at) + "/./fabric.svg"
	f.checkPlan(other, acctest.Update)
	apply(t, f.ws, other)
	checkUnchanged(t, f.ws, other)
	after, err := os.Stat(f.at)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced: %v", err)
	}
	f.checkPlan(f.cfg("two"), acctest.Update)
	apply(t, f.ws, f.cfg("two"))
	f.holds("two")
	if sum := f.ws.Get(picture, "sha256"); sum != "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3" {
		t.Errorf("SHA-256 %v", sum)
	}
	checkUnchanged(t, f.ws, f.cfg("two"))
	// Another place moves it.
	moved := f.cfg("two")
	moved[0].Attrs["file_path"] = f.at + ".new"
	f.checkPlan(moved, acctest.Update)
	apply(t, f.ws, moved)
	f.holds("")
	checkUnchanged(t, f.ws, moved)
	// A place with a file of somebody else is none.
	f.somebody("notes")
	says(t, plan(t, f.ws, f.cfg("two")).Diags.Errors(), "this resource has not written it", "terraform state rm ADDRESS, then "+
		"terraform import ADDRESS", f.at+".new stays, too")
	if err = os.Remove(f.at); err != nil {
		t.Fatal(err)
	}
	apply(t, f.ws, nil)
	left, err := os.ReadDir(filepath.Dir(f.at))
	if err != nil || len(left) > 0 {
		t.Errorf("destroy left %v: %v", left, err)
	}
}

// The picture of a fabric of which no host answers is null.
func TestFabricFile_without_content_stays(t *testing.T) {
	f := newWritten(t)
	none := f.cfg("")
	none[0].Attrs["content"] = nil
	says(t, plan(t, f.ws, none).Diags.Errors(), "Unable to write file "+f.at, "content is null", "when the hosts answer")
	apply(t, f.ws, f.cfg("one"))
	checkUnchanged(t, f.ws, none)
	moved := f.cfg("")
	moved[0].Attrs["content"], moved[0].Attrs["file_path"] = nil, f.at+".new"
	says(t, plan(t, f.ws, moved).Diags.Errors(), "content is null")
	f.holds("one")
}

func TestFabricFile_drift_is_seen_and_mended(t *testing.T) {
	f := newWritten(t)
	apply(t, f.ws, f.cfg("ours"))
	f.somebody("edited")
	f.checkPlan(f.cfg("ours"), acctest.Update)
	apply(t, f.ws, f.cfg("ours"))
	f.holds("ours")
	if err := os.Remove(f.at); err != nil {
		t.Fatal(err)
	}
	f.checkPlan(f.cfg("ours"), acctest.Create)
	apply(t, f.ws, f.cfg("ours"))
	f.holds("ours")
	checkUnchanged(t, f.ws, f.cfg("ours"))
}

// What somebody has changed between plan and apply is not in the plan.
func TestFabricFile_changed_after_the_plan_is_left_alone(t *testing.T) {
	f := newWritten(t)
	apply(t, f.ws, f.cfg("ours"))
	p := plan(t, f.ws, f.cfg("new"))
	f.somebody("edited")
	said, err := f.ws.Apply(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	says(t, said.Errors(), "Unable to write file "+f.at, "The file was changed after the plan. It was left as it is.",
		"Plan again")
	f.holds("edited")
	apply(t, f.ws, f.cfg("new"))
	f.holds("new")
}

func TestFabricFile_of_somebody_else_is_refused(t *testing.T) {
	f := newWritten(t)
	f.somebody("notes")
	refused := func(said acctest.Diags) {
		t.Helper()
		says(t, said.Errors(), "Unable to write file "+f.at, "this resource has not written it. It was left as it is.",
			"terraform import ADDRESS", f.at)
		f.holds("notes")
	}
	refused(plan(t, f.ws, f.cfg("ours")).Diags)
	// The same file that appears only after the plan is refused by the apply.
	if err := os.Remove(f.at); err != nil {
		t.Fatal(err)
	}
	p := plan(t, f.ws, f.cfg("ours"))
	f.somebody("notes")
	said, err := f.ws.Apply(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	refused(said)
	// One that holds what is to be written is taken as it is, and stays when the resource goes.
	apply(t, f.ws, f.cfg("notes"))
	checkUnchanged(t, f.ws, f.cfg("notes"))
	p = plan(t, f.ws, nil)
	says(t, p.Diags.Warnings(), "Left as it is: file "+f.at, "It was there before this resource, which has not written it.")
	if said, err = f.ws.Apply(context.Background(), p); err != nil || said.HasError() {
		t.Fatalf("%v\n%s", err, said)
	}
	f.holds("notes")
	// What the resource has written since then is its own.
	apply(t, f.ws, f.cfg("notes"))
	apply(t, f.ws, f.cfg("ours"))
	apply(t, f.ws, nil)
	f.holds("")
}

// A picture has dozens of lines. A plan shows that it changes, and the state does not keep it.
func TestFabricFile_content_is_in_no_plan(t *testing.T) {
	f := newWritten(t)
	apply(t, f.ws, f.cfg("one"))
	if has := f.ws.Get(picture, "content"); has != nil {
		t.Errorf("the state has the content: %v", has)
	}
	before, p := f.ws.Get(picture, "sha256"), plan(t, f.ws, f.cfg("two"))
	if was, is := p.Get(picture, "content"), p.Get(picture, "sha256"); was != nil || is == before || is == nil {
		t.Errorf("planned content %v, sha256 %v", was, is)
	}
}

// A path that ends with a slash is written nowhere.
func TestFabricFile_path_of_a_directory_is_refused(t *testing.T) {
	f := newWritten(t)
	f.somebody("notes")
	cfg := f.cfg("one")
	cfg[0].Attrs["file_path"] = f.at + "/"
	says(t, plan(t, f.ws, cfg).Diags.Errors(), "Unable to write file "+f.at+"/",
		"A path that ends with / names a directory. Write the path of the file.")
	said, err := f.ws.Import(context.Background(), cfg[0], f.at+"/")
	if err != nil {
		t.Fatal(err)
	}
	says(t, said.Errors(), "names a directory")
	f.holds("notes")
}

// Two resources for one file would overwrite each other, however they spell its path.
func TestFabricFile_of_two_resources_is_refused(t *testing.T) {
	f := newWritten(t)
	dir := filepath.Dir(f.at)
	link := filepath.Join(filepath.Dir(dir), "link")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{f.at, dir + "/./fabric.svg", link + "/fabric.svg"} {
		cfg := append(f.cfg("one"), f.cfg(strings.Repeat("two", 100))...)
		cfg[1].Name, cfg[1].Attrs["file_path"] = "other", other
		found := plan(t, f.ws, cfg).Diags.Errors()
		says(t, found, "Refusing to write file "+f.at+": HO030", "Two infiniband_fabric_file resources are for "+f.at,
			`content: a text of 300 bytes here, "one" in the other one`)
		if text := found.String(); strings.Contains(text, "one machine") {
			t.Error(text)
		}
	}
	cfg := append(f.cfg("one"), f.cfg("one")...)
	cfg[1].Name, cfg[1].Attrs["file_path"] = "other", f.at+".other"
	apply(t, f.ws, cfg)
	checkUnchanged(t, f.ws, cfg)
}

func TestFabricFile_is_imported(t *testing.T) {
	f := newWritten(t)
	f.somebody("notes")
	said, err := f.ws.Import(context.Background(), f.cfg("")[0], f.at)
	if err != nil || said.HasError() {
		t.Fatalf("%v\n%s", err, said)
	}
	checkUnchanged(t, f.ws, f.cfg("notes"))
	apply(t, f.ws, f.cfg("ours"))
	f.holds("ours")
	apply(t, f.ws, nil)
	f.holds("")
}

func TestFabricFile_destroy_keeps_what_somebody_changed(t *testing.T) {
	f := newWritten(t)
	apply(t, f.ws, f.cfg("ours"))
	f.somebody("edited")
	p := plan(t, f.ws, nil)
	says(t, p.Diags.Warnings(), "Left as it is: file "+f.at, "somebody has changed it")
	said, err := f.ws.Apply(context.Background(), p)
	if err != nil || said.HasError() {
		t.Fatalf("%v\n%s", err, said)
	}
	says(t, said.Warnings(), "Left as it is: file "+f.at)
	f.holds("edited")
	// Changed only after the plan, it is kept, too.
	f.somebody("ours")
	apply(t, f.ws, f.cfg("ours"))
	p = plan(t, f.ws, nil)
	f.somebody("edited")
	if said, err = f.ws.Apply(context.Background(), p); err != nil || said.HasError() {
		t.Fatalf("%v\n%s", err, said)
	}
	says(t, said.Warnings(), "Left as it is: file "+f.at)
	f.holds("edited")
}
