package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/schemadump/symptom"
)

// source is a file below internal/.
func source(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What a table says of a proof is in a test. One of real programs is among those that
// make testbed or make reallab-scenarios runs.
func TestSupport_proofs_are_tests(t *testing.T) {
	makefile := source(t, "../GNUmakefile")
	var onTestbed []string
	for _, m := range regexp.MustCompile(`(?m)(?:-run '\^\(|KERNELS:-\^\(|^SCENARIOS := )([\w|$]+)`).FindAllStringSubmatch(makefile, -1) {
		onTestbed = append(onTestbed, strings.Split(strings.ReplaceAll(m[1], "$", ""), "|")...)
	}
	if len(onTestbed) < 8 {
		t.Fatalf("make testbed runs %q", onTestbed)
	}
	for _, o := range objects {
		onHosts := strings.FieldsFunc(o.realTest, func(r rune) bool { return r == ';' })
		for _, proof := range append(onHosts, o.labTest) {
			file, name, _ := strings.Cut(proof, " ")
			if !strings.Contains(source(t, file), "func "+name+"(t *testing.T)") {
				t.Errorf("%s: no %s", o.name, proof)
			}
		}
		for _, proof := range onHosts {
			_, name, _ := strings.Cut(proof, " ")
			if !slices.ContainsFunc(onTestbed, func(of string) bool { return strings.HasPrefix(name, of) }) {
				t.Errorf("%s: neither testbed nor reallab-scenarios of make runs %s", o.name, name)
			}
		}
	}
	kinds := source(t, "acctest/generated_test.go")
	if !strings.Contains(kinds, "everySystem = []labsim.OS{labsim.Ubuntu, labsim.Debian12, labsim.RHEL9, labsim.TrueNAS}") {
		t.Error("everySystem of acctest is another one")
	}
	for _, o := range objects {
		if o.labTest == everyKind && !strings.Contains(kinds, `"`+o.name+`"`) {
			t.Errorf("everyKind of acctest has no %s", o.name)
		}
	}
}

// Each resource of a host has its line.
func TestSupport_has_each_resource(t *testing.T) {
	seen := 0
	for _, newOne := range provider.New("test")().Resources(t.Context()) {
		var named resource.MetadataResponse
		newOne().Metadata(context.Background(), resource.MetadataRequest{ProviderTypeName: "infiniband"}, &named)
		if named.TypeName == "infiniband_fabric_file" || named.TypeName == "infiniband_fabric_baseline" {
			continue // the first asks no host, the second changes none
		}
		seen++
		if !symptom.Shows(named.TypeName, finding.HostObserved.Code) {
			t.Errorf("the index of the findings has no %s", named.TypeName)
		}
		if !slices.ContainsFunc(objects, func(o object) bool { return o.name == named.TypeName }) {
			t.Errorf("%s is in no table", named.TypeName)
		}
	}
	if seen != len(objects) {
		t.Errorf("%d resources, %d lines", seen, len(objects))
	}
}

func TestSupport_tables(t *testing.T) {
	for _, want := range []string{
		"| `infiniband_…` | Ubuntu | Debian | RHEL | Fedora | Arch | TrueNAS |\n",
		"| `opensm` | lab | programs | lab | parts | parts¹ | – |\n",
		"| `guids` | lab | programs | lab | parts | parts¹ | lab |\n",
		"¹ The package of the tool has to be installed by hand.",
		"* `infiniband_card`, `infiniband_port`, `infiniband_opensm`, `infiniband_node_names`, `infiniband_ipoib_interface`, " +
			"`infiniband_benchmark`: each with a driver\n",
		"* `infiniband_guids`: ConnectX-3, ConnectX-3 Pro; where their firmware takes them (fw_ctrl): ConnectX-4, ConnectX-4 " +
			"Lx, ConnectX-5, ConnectX-6, ConnectX-6 Dx, ConnectX-6 Lx\n",
		"`infiniband_firmware_image`, `infiniband_firmware`: ConnectX-3, ConnectX-3 Pro; with secure firmware without a copy " +
			"(FW039): ConnectX-4, ConnectX-4 Lx, ConnectX-5, ConnectX-6, ConnectX-6 Dx, ConnectX-6 Lx, ConnectX-7\n",
		"`infiniband_firmware_backup`: ConnectX-3, ConnectX-3 Pro; unless their firmware is secure: ConnectX-4, " +
			"ConnectX-4 Lx, ConnectX-5, ConnectX-6, ConnectX-6 Dx, ConnectX-6 Lx\n",
		"**Nothing was ever tried with a real card.**",
	} {
		if text := supportSection(); !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	text := cardsSection()
	for _, want := range []string{
		"| ConnectX-3, ConnectX-3 Pro | burned | set |", "| ConnectX-4, ConnectX-5 | burned; secure ",
		"| ConnectX-4 Lx | burned; secure firmware without a copy (FW039) | set where ",
		"| Connect-IB | read, not burned (FW061) | not set (GU014) |",
		"| ConnectX-6 | burned by its own firmware (fw_ctrl); secure firmware without a copy (FW039) | set where ",
		"| ConnectX-7 | burned if its firmware is secure, without a copy (FW039); else read (FW061) | not set (GU014) |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for _, c := range ib.Chips() {
		if !regexp.MustCompile(regexp.QuoteMeta(c.Name) + `[,|\s]`).MatchString(text) {
			t.Errorf("%s is not in the table", c.Name)
		}
	}
}
