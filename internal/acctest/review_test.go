package acctest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

var updateReviews = flag.Bool("review.update", false, "write the reviews to testdata/review")

// The workflow of the guide: what a reviewer reads of a plan is what the apply then does. The
// three plans are the first of the main example, one after drift and a new MTU, and one of
// nothing.
func TestReview_workflow(t *testing.T) {
	t.Parallel()
	jobs := workflow(t, "review/review.yml")
	w := Start(t, Options{})
	o := newFolder(t, buildProvider(t))
	o.mirror()
	o.example("crossflash", w)
	o.says(0, "init")
	keyFile, _ := w.keys()
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	runs := func(job, id string, status int, words ...string) {
		t.Helper()
		nightly{o, "gh() { cp \"$5\" review.md; }\n" + jobs[job], string(key), []string{"HOME=" + home, "GITHUB_RUN_ID=" + id, "NUMBER=7",
			"GITHUB_OUTPUT=" + filepath.Join(home, "output"), "PATH=" + filepath.Dir(o.binary) + ":" + os.Getenv("PATH")}}.
			ends(status, words...)
	}
	shows := func(name string) {
		t.Helper()
		golden := filepath.Join("testdata", "review", name+".md")
		got := strings.NewReplacer(filepath.Dir(w.Image(ImageVPI)), "IMAGES").Replace(o.text("review.md"))
		if *updateReviews {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (go test -run TestReview_workflow -review.update writes it):\n%s", name, diff)
		}
	}
	runs("plan", "1", 0)
	shows("crossflash")
	runs("apply", "1", 0, "Apply complete!")
	if _, err := os.Stat(filepath.Join(home, "lab-plans", "1")); err == nil {
		t.Error("the plan stays after its apply")
	}
	runs("plan", "2", 0)
	shows("nothing")
	if output, err := os.ReadFile(filepath.Join(home, "output")); err != nil || string(output) != "changes=true\n" {
		t.Errorf("the first plan alone has changes: %q, %v", output, err)
	}
	w.Run(labs.Intel9, "systemctl stop opensm@0xe41d2d0300e44ed1.service")
	o.write("mtu.auto.tfvars", "ipoib_mtu = 4092\n")
	runs("plan", "3", 0)
	shows("mtu")
	runs("apply", "3", 0, "Apply complete!")
}
