package hca

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// A new copy of a card's firmware takes the place of old ones on the host. The first one stays.
func TestBackup_removes_old_copies(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	o, c := b.ops("alice"), b.card(ctx)
	if _, err := o.ApplyFirmware(ctx, crossFlash(c, b.image(card.VPI()))); err != nil {
		t.Fatal(explain(err))
	}
	first := strings.TrimSpace(b.run("ls " + inventory.StateDir + "/backups"))
	job := strings.TrimSpace(b.run("ls " + inventory.StateDir + "/jobs"))
	for n := range 8 {
		b.run(fmt.Sprintf(`cd %s && mkdir jobs/%s%d && for f in request states exit settled; do
  [ ! -e jobs/%[2]s/$f ] || sed 's/^backup_sha256=.*/backup_sha256=%064[4]x/' jobs/%[2]s/$f >jobs/%[2]s%[3]d/$f
done; echo x >backups/%064[4]x.bin`, inventory.StateDir, job, n, n))
	}
	b.fresh()
	if _, err := o.Backups.Take(ctx, c); err != nil {
		t.Fatal(explain(err))
	}
	left := b.run("ls " + inventory.StateDir + "/backups")
	if !strings.Contains(left, first) || strings.Count(left, ".bin") != 7 || strings.Contains(left, fmt.Sprintf("%064x", 2)) ||
		!strings.Contains(left, fmt.Sprintf("%064x", 3)) {
		t.Errorf("the first is %s; left:\n%s", first, left)
	}
}
