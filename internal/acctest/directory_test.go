package acctest

import (
	"fmt"
	"path"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// A directory in the place of a file of ours is somebody's work. It is neither removed nor
// written into: the apply says what is there, and goes on once it is away.
func TestDirectory_in_the_place_of_a_file(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	w := Start(t, Options{})
	ws := w.Workspace()
	cfg := w.CrossFlash(host)
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	for _, file := range []string{
		platform.ModulesLoadPath, smConf, "/etc/systemd/system/" + smUnit + ".d/terraform-infiniband.conf",
		fmt.Sprint(ws.Get(cfg[1].Address(), "staged_path")),
	} {
		w.Run(host, fmt.Sprintf("mv %s /root/kept && mkdir %s && touch %[2]s/somebodys", file, file))
		plan := mustPlan(t, ws, cfg)
		if len(plan.Actions()) == 0 {
			t.Errorf("%s: nothing is planned", file)
		}
		diags, err := ws.Apply(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if len(diags.Errors().Find("A directory is at this path", "move it away", file)) == 0 {
			t.Errorf("%s: the apply says\n%s", file, diags)
		}
		w.Run(host, "rm "+path.Join(file, "somebodys")+" && rmdir "+file)
		mustApply(t, ws, cfg)
		emptyPlan(t, ws, cfg)
	}
}
