package provider_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is a fenced block of a page.
type block struct {
	file string
	line int
	lang string
	text string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

var fence = regexp.MustCompile("^ *(?:```|~~~)(.*)$")

// blocksOf are the fenced blocks of a text.
func blocksOf(file, text string) (all []block) {
	var open *block
	for i, line := range strings.Split(text, "\n") {
		found := fence.FindStringSubmatch(line)
		switch {
		case found != nil && open == nil:
			open = &block{file: file, line: i + 1, lang: found[1]}
		case found != nil:
			all, open = append(all, *open), nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		all = append(all, *open) // never closed: whatever follows is judged, too
	}
	return all
}

// repository gives the texts of files below folders of the repository, by path.
func repository(t *testing.T, folders []string, wanted func(file string) bool) map[string]string {
	t.Helper()
	all, root := map[string]string{}, os.DirFS("../..")
	for _, folder := range folders {
		err := fs.WalkDir(root, folder, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !wanted(file) {
				return err
			}
			text, err := fs.ReadFile(root, file)
			all[file] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func isPage(file string) bool { return slices.Contains([]string{".md", ".tmpl"}, path.Ext(file)) }

// proof says what proves the lines of a block that is no HCL.
type proof struct {
	file, lines string // "*sh" are all of one kind
	by, holds   string // a file of the repository that runs the same, and how it says it
	why         string // why nothing runs it
}

// proofs has every line of a block that is no HCL, once for each page.
var proofs = []proof{
	{file: "README.md", lines: "make demo", by: ".ci/run", holds: "make --no-print-directory demo\n"},
	{file: "README.md", lines: "make test", by: ".ci/run", holds: "make --no-print-directory test\n"},
	{file: "README.md", lines: "make install", by: ".ci/run", holds: "make --no-print-directory install "},
	{file: "README.md", lines: `export PATH="$PWD/bin:$PATH"`, by: "GNUmakefile",
		holds: `export PATH="$(CURDIR)/bin:$$PATH"`},
	{file: ".github/CONTRIBUTING.md", lines: "make demo", by: ".ci/run", holds: "make --no-print-directory demo\n"},
	{file: ".github/CONTRIBUTING.md", lines: "make test", by: ".ci/run", holds: "make --no-print-directory test\n"},
	{file: ".github/CONTRIBUTING.md", lines: `make "$PWD/.tools/bin/goreleaser"
VERSION=0.1.0 .tools/bin/goreleaser release --snapshot --clean --skip=sign
cat bin/release/terraform-provider-infiniband_0.1.0_SHA256SUMS`, by: "internal/tools/release-check.sh",
		holds: `.tools/bin/goreleaser" release --snapshot --clean`},
	{file: ".github/CONTRIBUTING.md", lines: "lspci -nn -d 15b3:\nmstflint -v\nmstflint -d 0000:01:00.0 q full",
		why: "they ask a real card; the parsers are tested with what such cards have answered"},
	{file: ".github/SECURITY.md", lines: "gpg --verify terraform-provider-infiniband_0.1.0_SHA256SUMS.sig " +
		"terraform-provider-infiniband_0.1.0_SHA256SUMS", by: "internal/tools/release-check.sh",
		holds: `gpg --batch --verify "$dist/$sums.sig" "$dist/$sums"`},
	{file: ".github/SECURITY.md",
		lines: "sha256sum --ignore-missing --check terraform-provider-infiniband_0.1.0_SHA256SUMS",
		by:    "internal/tools/release-check.sh", holds: `sha256sum --check --quiet "$sums"`},
	{file: "templates/index.md.tmpl", lines: "*text", why: "a picture"},
	{file: "templates/resources.md.tmpl", lines: `ACTION=="add", SUBSYSTEM=="net", DRIVERS=="?*", ATTR{type}=="32", ` +
		`ATTR{address}=="?*e4:1d:2d:03:00:e4:4e:d1", NAME="ib_storage"`,
		why: "udev renames only what appears on a real bus; the form is that of rdma-core"},
	{file: "templates/guides/crossflash.md.tmpl", lines: "terraform init", by: "internal/demo/steps.go",
		holds: `"init", "-no-color"`},
	{file: "templates/guides/crossflash.md.tmpl", lines: "terraform plan", by: "internal/demo/steps.go",
		holds: `"plan", "-no-color"`},
	{file: "templates/guides/crossflash.md.tmpl", lines: "terraform apply", by: "internal/demo/steps.go",
		holds: `"apply", "-no-color", "-auto-approve"`},
	{file: "templates/guides/connect.md", lines: `terraform state list | grep '"node01"'
terraform state rm 'infiniband_card.lab["node01"]'`, why: "they are the engine's, on its own state"},
	{file: "templates/guides/drift.md.tmpl", lines: "*text", by: "internal/acctest/drift_test.go",
		holds: `"mtu = 1500 ->"`},
	{file: "templates/guides/review.md.tmpl", lines: "*sh", by: "internal/acctest/review_test.go",
		holds: `workflow(t, "review/review.yml")`},
	{file: "templates/guides/rollout.md.tmpl", lines: "*sh", by: "internal/acctest/rollout_test.go",
		holds: `[]string{"rollout", "-engine"`},
	{file: "templates/guides/firmware.md.tmpl", lines: "*sh", why: "they need a file that only its vendor may hand out"},
	{file: "templates/guides/adopt.md", lines: "*sh", by: "internal/acctest/adopt_test.go",
		holds: `os.ReadFile("../../templates/guides/adopt.md")`},
	{file: "templates/guides/connect.md", lines: "terraform-provider-infiniband check intel9 ops@192.0.2.10",
		by: "internal/command/check/check_test.go", holds: `os.ReadFile("../../../templates/guides/connect.md")`},
	{file: "templates/guides/connect.md", lines: "terraform-provider-infiniband check -host-key " +
		"intel9=SHA256:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB intel9",
		by: "internal/command/check/check_test.go", holds: `"-host-key", "stranger="+pin, "stranger"`},
	{file: "templates/guides/connect.md", lines: "ops ALL=(root) NOPASSWD: /bin/sh -s",
		by: "internal/host/sshhost/become.go", holds: "ALL=(root) NOPASSWD: /bin/sh -s"},
	{file: "templates/guides/fleet.md", lines: "make init\nmake -j4 plan\nmake -j4 apply\nmake audit\nmake -k -j4 night",
		by: "internal/acctest/fleet_test.go", holds: `mustMake(f.shards, "night")`},
	{file: "templates/guides/watch.md", lines: "terraform-provider-infiniband watch intel9 xeon2zfs",
		by: "internal/command/watch/guide_test.go", holds: `os.ReadFile("../../../templates/guides/watch.md")`},
	{file: "templates/guides/watch.md", lines: "tail -f firmware-backups/run.log",
		by: "internal/provider/runlog_test.go", holds: "filepath.Join(w.Backups, runlog.Name)"},
	{file: "templates/guides/watch.md", lines: "terraform-provider-infiniband history intel9 xeon2zfs",
		by: "internal/command/history/history_test.go", holds: "history(labs.Intel9, labs.Xeon2zfs)"},
	{file: "templates/guides/send.md", lines: "terraform-provider-infiniband record -o lab.tar.gz intel9 xeon2zfs",
		by: "internal/command/record/record_test.go", holds: `args = append(args, "-o", out)`},
	{file: "templates/guides/rehearse.md", lines: "terraform-provider-infiniband record -o lab.tar.gz intel9 xeon2zfs",
		by: "internal/labsim/cmd/infiniband-lab/main_test.go", holds: `record.Command("test").Run(`},
	{file: "templates/guides/rehearse.md", lines: "*sh", by: "internal/labsim/cmd/infiniband-lab/main_test.go",
		holds: `os.ReadFile("../../../../templates/guides/rehearse.md")`},
	{file: "templates/guides/firmware.md.tmpl", lines: "*json", by: "internal/provider/firmwarecatalog/catalog_test.go",
		holds: `os.ReadFile("../../../templates/guides/firmware.md.tmpl")`},
	{file: "templates/guides/send.md", lines: "*json", by: "internal/command/record/record_test.go",
		holds: `os.ReadFile("../../../templates/guides/send.md")`},
	{file: "templates/guides/report.md", lines: "*sh", by: "internal/command/report/guide_test.go",
		holds: `os.ReadFile("../../../templates/guides/report.md")`},
	{file: "templates/guides/watch.md", lines: "*text", by: "internal/hca/journal/step_test.go",
		holds: `os.ReadFile("../../../templates/guides/watch.md")`},
}

var comment = regexp.MustCompile(` +# .*`)

// Each block of each page is judged as HCL, or something else runs it. A page of docs/
// has blocks of its template and of examples only.
func TestBlocks_each_has_a_proof(t *testing.T) {
	hcl, seen, used := newHCLJudge(t), 0, map[int]bool{}
	known := map[string]bool{}
	examples := repository(t, []string{"examples"}, func(string) bool { return true })
	for _, text := range examples {
		known[strings.TrimSpace(text)] = true
	}
	pages := repository(t, []string{"README.md", ".github", "examples", "templates"}, isPage)
	for file, text := range pages {
		for _, b := range blocksOf(file, text) {
			seen++
			known[strings.TrimSpace(b.text)] = true
			if b.lang == "hcl" || b.lang == "terraform" {
				for _, problem := range hcl.problems(b, examples) {
					t.Errorf("%s: %s", b, problem)
				}
				continue
			}
			proveLines(t, b, used)
		}
	}
	for i, p := range proofs {
		if !used[i] {
			t.Errorf("%s has no %q any more: remove its proof", p.file, p.lines)
		}
		if text, err := os.ReadFile(filepath.Join("../..", p.by)); p.why == "" &&
			(err != nil || !strings.Contains(string(text), p.holds)) {
			t.Errorf("%q of %s is not run by %s: %v", p.lines, p.file, p.by, err)
		}
	}
	for file, text := range repository(t, []string{"docs"}, isPage) {
		for _, b := range blocksOf(file, text) {
			seen++
			signature := b.lang == "text" && strings.HasPrefix(file, "docs/functions/")
			if !signature && !known[strings.TrimSpace(b.text)] {
				t.Errorf("%s is in no template and no example:\n%s", b, b.text)
			}
		}
	}
	if seen < 100 {
		t.Errorf("found %d blocks", seen)
	}
}

// proveLines looks for the proof of each line of a block.
func proveLines(t *testing.T, b block, used map[int]bool) {
	t.Helper()
	for line := range strings.Lines(b.text) {
		held := false
		line = strings.TrimSpace(comment.ReplaceAllString(line, ""))
		for i, p := range proofs {
			if p.file == b.file && line != "" &&
				(p.lines == "*"+b.lang || slices.Contains(strings.Split(p.lines, "\n"), line)) {
				used[i], held = true, true
			}
		}
		if !held && line != "" {
			t.Errorf("%s: nothing runs %q: name what does in proofs, or why nothing can", b, line)
		}
	}
}

// Each file of the examples is applied, planned or read by a test.
func TestBlocks_each_example_has_a_test(t *testing.T) {
	tests := ""
	for _, file := range []string{"example_test.go", "labs_test.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests += string(text)
	}
	proved := map[string]string{ // by the form of their paths, what the sources of the tests say
		`^examples/resources/\w+/resource\w*\.tf$`:                   `"../../examples/resources/*/resource*.tf"`,
		`^examples/resources/\w+/import(-by-[a-z-]+\.tf|\.sh)$`:      "", // TestSurface_resources_are_imported_in_three_ways
		`^examples/data-sources/\w+/data-source\.tf$`:                `"../../examples/data-sources/*/data-source.tf"`,
		`^examples/list-resources/\w+/list-resource\.tfquery\.hcl$`:  "", // TestList_examples
		`^examples/actions/\w+/action\.tf$`:                          "", // TestAction_examples
		`^examples/functions/\w+/function\.tf$`:                      `"../../examples/functions/*/function.tf"`,
		`^examples/provider/provider\.tf$`:                           `"../../examples/provider/provider.tf"`,
		`^examples/lab-crossflash/[a-z]+\.tf$`:                       `acctest.Example(t, "crossflash")`,
		`^examples/lab-(gpu|oem|point-to-point|qlogic)/[a-z]+\.tf$`:  `acctest.Example(t, e.name)`,
		`^examples/modules/lab/[a-z]+\.tf$`:                          `acctest.Example(t, e.name)`, // all labs use it
		`^examples/lab-[a-z-]+/terraform\.tfvars\.example$`:          `acctest.Example(t, e.name)`,
		`^examples/(lab-[a-z-]+|modules/lab)/README\.md$`:            "", // TestBlocks_each_has_a_proof
		`^examples/lab-[a-z-]+/(\.gitignore|backend\.tf\.example)$`:  "", // what git and a backend of a user take
		`^examples/rollout/([a-z]+\.tf|terraform\.tfvars\.example)$`: "", // TestRollout_canary_and_waves
		`^examples/drift/drift\.yml$`:                                "", // TestDrift_workflow
		`^examples/fleet/`:                                           "", // TestFleet
		`^examples/review/review\.yml$`:                              "", // TestReview_workflow
		`^examples/lab-crossflash/simulated\.svg$`:                   "", // TestFabric_of_the_two_hosts
		`^examples/monitoring/`:                                      "", // TestMonitoring_asks_for_what_is_written
	}
	files := repository(t, []string{"examples"}, func(string) bool { return true })
	for file := range files {
		held := false
		for form, says := range proved {
			held = held || regexp.MustCompile(form).MatchString(file) && strings.Contains(tests, says)
		}
		name := strings.TrimPrefix(strings.Split(file, "/")[1], "lab-")
		if strings.HasPrefix(file, "examples/lab-") && name != "crossflash" {
			held = held && regexp.MustCompile(`name: +"`+name+`"`).MatchString(tests)
		}
		if !held {
			t.Errorf("no test applies or reads %s", file)
		}
	}
	judge := newHCLJudge(t)
	const filled = "examples/lab-crossflash/terraform.tfvars.example"
	for _, problem := range judge.problems(block{file: filled, text: files[filled]}, files) {
		t.Errorf("%s: %s", filled, problem)
	}
	if len(files) < 60 {
		t.Errorf("found %d files", len(files))
	}
}
