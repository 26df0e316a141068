package report_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/report"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// The commands of the guide, as they stand there, write the files that they name; and the guide
// names each metric.
func TestReport_as_the_guide_shows_it(t *testing.T) {
	guide, err := os.ReadFile("../../../templates/guides/report.md")
	if err != nil {
		t.Fatal(err)
	}
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()})
	t.Chdir(t.TempDir())
	err = errors.Join(os.WriteFile("config", []byte(w.SSHConfig(nil)), 0o600), os.Mkdir("firmware-backups", 0o700))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("(?m)^terraform-provider-infiniband report (.*)$").FindAllStringSubmatch(string(guide), -1)
	if len(commands) != 2 {
		t.Fatalf("the guide has %d commands", len(commands))
	}
	for _, c := range commands {
		var out, errs strings.Builder
		args := append([]string{"-config-file", "config"}, strings.Fields(c[1])...)
		status := report.Command.Run(t.Context(), args, command.Streams{Out: &out, Err: &errs})
		if status != command.OK || out.String()+errs.String() != "" {
			t.Errorf("%s: status %d, %s%s", c[1], status, &out, &errs)
		}
	}
	if page := read(t, "lab.html"); !strings.Contains(page, "MT1234X00001") {
		t.Errorf("the page is %.80s", page)
	}
	checkMetrics(t, read(t, "infiniband.prom"))
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(everyMetric(t), -1) {
		if !strings.Contains(string(guide), "`"+m[1]+"`") {
			t.Errorf("the guide does not say what %s is", m[1])
		}
	}
}
