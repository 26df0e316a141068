package archtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// form is an issue form as GitHub reads it. A key that it does not know makes
// GitHub leave the whole form out, without a word.
type form struct {
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Labels      []string `yaml:"labels"`
	Body        []struct {
		Type       string `yaml:"type"`
		ID         string `yaml:"id"`
		Attributes struct {
			Label       string `yaml:"label"`
			Description string `yaml:"description"`
			Render      string `yaml:"render"`
			Value       string `yaml:"value"`
		} `yaml:"attributes"`
		Validations struct {
			Required bool `yaml:"required"`
		} `yaml:"validations"`
	} `yaml:"body"`
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(into); err != nil {
		t.Errorf("%s: %v", path, err)
	}
}

func TestGithub_everyFormIsWholeAndAsksForCheck(t *testing.T) {
	paths, err := filepath.Glob("../../.github/ISSUE_TEMPLATE/[0-9]*.yml")
	if err != nil || len(paths) < 3 {
		t.Fatalf("forms: %v, %v", paths, err)
	}
	for _, path := range paths {
		var f form
		readYAML(t, path, &f)
		if f.Name == "" || f.Description == "" {
			t.Errorf("%s: a form without name or description is not shown", path)
		}
		var ids []string
		asks, records := false, false
		for _, part := range f.Body {
			switch part.Type {
			case "markdown":
				if part.Attributes.Value == "" {
					t.Errorf("%s: a text without words", path)
				}
				continue
			case "input", "textarea":
			default:
				t.Errorf("%s: a part of type %q", path, part.Type)
			}
			if part.ID == "" || part.Attributes.Label == "" || slices.Contains(ids, part.ID) {
				t.Errorf("%s: part %q, %q has no id and label of its own", path, part.ID, part.Attributes.Label)
			}
			ids = append(ids, part.ID)
			asks = asks || (part.Validations.Required && strings.Contains(part.Attributes.Description, ") check HOST…"))
			records = records || strings.Contains(part.Attributes.Description, ") record -o lab.tar.gz HOST…")
		}
		if !asks {
			t.Errorf("%s does not ask for the output of check", path)
		}
		if !records {
			t.Errorf("%s does not ask for a recording", path)
		}
	}
}

// A module that dependabot does not look at grows old in silence.
func TestGithub_dependenciesOfEveryModuleAreUpdated(t *testing.T) {
	var config struct {
		Version int `yaml:"version"`
		Updates []struct {
			Ecosystem   string         `yaml:"package-ecosystem"`
			Directory   string         `yaml:"directory"`
			Directories []string       `yaml:"directories"`
			Schedule    map[string]any `yaml:"schedule"`
			Limit       int            `yaml:"open-pull-requests-limit"`
			Groups      map[string]any `yaml:"groups"`
		} `yaml:"updates"`
	}
	readYAML(t, "../../.github/dependabot.yml", &config)
	var looked []string
	for _, u := range config.Updates {
		if u.Ecosystem == "gomod" {
			looked = append(looked, u.Directories...)
		}
	}
	for _, pattern := range []string{"../../go.mod", "../../internal/*/go.mod", "../../internal/*/*/go.mod"} {
		mods, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, mod := range mods {
			dir := "/" + strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(mod)), "../.."), "/")
			if !slices.ContainsFunc(looked, func(d string) bool { ok, _ := filepath.Match(d, dir); return ok }) {
				t.Errorf("dependabot does not look at %s", dir)
			}
		}
	}
}

// What a workflow runs is what a developer runs: targets of make and .ci/run.
func TestGithub_workflowsRunWhatExists(t *testing.T) {
	makefile, err := os.ReadFile("../../GNUmakefile")
	if err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	minor := regexp.MustCompile(`(?m)^go (1\.\d+)`).FindSubmatch(gomod)[1]
	paths, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("workflows: %v, %v", paths, err)
	}
	runs := 0
	for _, path := range paths {
		text, readErr := os.ReadFile(path)
		if readErr != nil {
			t.Fatal(readErr)
		}
		for _, m := range regexp.MustCompile(`run: make ([a-z-]+)`).FindAllSubmatch(text, -1) {
			runs++
			if !regexp.MustCompile(`(?m)^` + string(m[1]) + `:`).Match(makefile) {
				t.Errorf("%s runs make %s, which is no target", path, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`go-version: "(.*)"`).FindAllSubmatch(text, -1) {
			if !bytes.Equal(m[1], minor) {
				t.Errorf("%s builds with Go %s, go.mod says %s", path, m[1], minor)
			}
		}
	}
	if runs == 0 {
		t.Error("no workflow runs a target of make")
	}
	actions, err := filepath.Glob("../../.github/actions/*/action.yml")
	pinned := regexp.MustCompile(`^(\./.*|[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$`)
	for _, path := range append(actions, paths...) {
		text, readErr := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)uses: (.*)$`).FindAllSubmatch(text, -1) {
			if !pinned.Match(m[1]) {
				t.Errorf("%s uses %s, which is not named by its commit", path, m[1])
			}
		}
		if err = errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
	}
}

// What signs a release is named by its commit, and no action sees the key: a tag can be moved.
func TestGithub_aReleaseRunsWhatIsPinned(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]any
				Env  map[string]string
			}
		}
	}
	text, err := os.ReadFile("../../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err = yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	commit, actions := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`), 0
	for name, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if step.Uses == "" {
				continue
			}
			actions++
			if !commit.MatchString(step.Uses) {
				t.Errorf("%s: %s is not named by a commit", name, step.Uses)
			}
			for _, given := range []any{step.With, step.Env} {
				if strings.Contains(fmt.Sprint(given), "secrets.") {
					t.Errorf("%s: %s is given a secret", name, step.Uses)
				}
			}
		}
	}
	if actions < 3 {
		t.Errorf("%d actions", actions)
	}
}
