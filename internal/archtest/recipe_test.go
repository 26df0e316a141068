package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const repository = "../.."

// recipe gives the paths that a recipe of the map names, from the root of the repository.
func recipe(t *testing.T, title string) []string {
	t.Helper()
	text, err := os.ReadFile(repository + "/internal/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(string(text), "\n**"+title+".** ")
	body, _, ends := strings.Cut(body, "\n**")
	if !found || !ends {
		t.Fatalf("the map has no recipe %q", title)
	}
	var paths []string
	for _, m := range regexp.MustCompile("`([a-z_<>/-]+/[a-z_.-]+\\.[a-z]+)`").FindAllStringSubmatch(body, -1) {
		at := m[1]
		if !strings.HasPrefix(at, "templates/") && !strings.HasPrefix(at, "examples/") {
			at = "internal/" + at
		}
		paths = append(paths, at)
	}
	return paths
}

// kindOfObject is a resource whose plot is provider/managed.
type kindOfObject struct{ pkg, name string }

// kindsOfObjects finds them by their heads, which name the function that makes a resource of a kind.
func kindsOfObjects(t *testing.T, made string) (all []kindOfObject) {
	t.Helper()
	heads, err := filepath.Glob(repository + "/internal/provider/*/resource.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\bName: +"(infiniband_\w+)"`)
	for _, head := range heads {
		text := read(t, head)
		m := named.FindStringSubmatch(text)
		if !strings.Contains(text, made) || m == nil {
			continue
		}
		all = append(all, kindOfObject{filepath.Base(filepath.Dir(head)), m[1]})
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// optional are the places of the recipe that only some kinds of objects need.
var optional = []string{"internal/platform/interrupted.go", "internal/provider/adoption/object.go",
	"internal/provider/linktype/plan.go", "internal/command/check/facts.go"}

// A resource is named at the places of its recipe, and nothing else of the product lists resources.
func TestRecipe_aResource(t *testing.T) {
	paths := recipe(t, "A resource")
	kinds, everywhere := kindsOfObjects(t, "managed.New("), productAndPages(t)
	if len(paths) < 12 || !slices.Contains(kinds, kindOfObject{"port", "infiniband_port"}) {
		t.Fatalf("read %v from the recipe, and found %v", paths, kinds)
	}
	for _, kind := range kinds {
		short := strings.TrimPrefix(kind.name, "infiniband_")
		own := strings.NewReplacer("<package>", kind.pkg, "<name>", kind.name)
		for _, path := range paths {
			at := own.Replace(path)
			text, err := os.ReadFile(filepath.Join(repository, at))
			if err != nil {
				t.Errorf("%s: the recipe names %s: %v", kind.name, at, err)
			}
			names := regexp.MustCompile(kind.name + `\b|"` + short + `"|\b` + kind.pkg + `\.New\b|(?m)^(hca/)?` + kind.pkg + `:`)
			if at == path && !names.Match(text) && !slices.Contains(optional, at) {
				t.Errorf("%s is not named in %s", kind.name, at)
			}
		}
		literal := `"` + kind.name + `"`
		for _, at := range everywhere {
			listed := slices.ContainsFunc(paths, func(path string) bool { return own.Replace(path) == at })
			ours := strings.Contains(filepath.Dir(at)+"/", "/"+kind.pkg+"/")
			if !listed && !ours && strings.Contains(withoutComments(read(t, filepath.Join(repository, at))), literal) {
				t.Errorf("%s names %s, and the recipe does not say so", at, kind.name)
			}
		}
	}
}

// The plot is written once: what has it from provider/managed does not write a part of it again.
func TestRecipe_aResource_hasItsPlotFromManaged(t *testing.T) {
	plot := regexp.MustCompile(`(?m)^func \([^)]*\) (Create|Read|Update|Delete|ModifyPlan|ImportState|Metadata)\(`)
	for _, kind := range slices.Concat(kindsOfObjects(t, "managed.New("), kindsOfObjects(t, "managed.NewOnCard(")) {
		files, err := filepath.Glob(repository + "/internal/provider/" + kind.pkg + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(err, files)
		}
		for _, file := range files {
			if m := plot.FindStringSubmatch(read(t, file)); m != nil {
				t.Errorf("%s has %s of its own", file, m[1])
			}
		}
	}
}

// productAndPages are the Go files of the product and the templates of its pages.
func productAndPages(t *testing.T) (files []string) {
	t.Helper()
	for _, p := range list(t, "./internal/...") {
		for _, name := range p.GoFiles {
			if at := "internal/" + local(p.ImportPath) + "/" + name; product(at) {
				files = append(files, at)
			}
		}
	}
	templates, err := filepath.Glob(repository + "/templates/*.tmpl")
	if err != nil || len(templates) == 0 {
		t.Fatal(err, templates)
	}
	for _, at := range templates {
		files = append(files, "templates/"+filepath.Base(at))
	}
	return files
}

func withoutComments(text string) string {
	return regexp.MustCompile(`(?m)//.*$`).ReplaceAllString(text, "")
}

// A package manager is named at the places of its recipe. Nothing else of the product imports its
// package, and nothing else has its program as a word.
func TestRecipe_aPackageManager(t *testing.T) {
	paths, everywhere := recipe(t, "A package manager"), productAndPages(t)
	installs := regexp.MustCompile(`\binstall: (\w+)\.Install\b`)
	managers := installs.FindAllStringSubmatch(read(t, repository+"/internal/platform/packages.go"), -1)
	if len(paths) < 7 || len(managers) < 3 {
		t.Fatalf("read %v from the recipe, and found %v", paths, managers)
	}
	for _, m := range managers {
		name := m[1]
		named := regexp.MustCompile(`(?i)\b(packages)?` + name + `\b`)
		for _, at := range paths {
			at = strings.ReplaceAll(at, "pacman", name)
			if text := read(t, filepath.Join(repository, at)); !named.MatchString(text) && !slices.Contains(optional, at) {
				t.Errorf("%s is not named in %s", name, at)
			}
		}
		imported := regexp.MustCompile(`"[\w./-]+/internal/tool/` + name + `"|"` + name + `"`)
		for _, at := range everywhere {
			listed := slices.Contains(paths, at) || at == "internal/tool/"+name+"/"+name+".go"
			if !listed && imported.MatchString(withoutComments(read(t, filepath.Join(repository, at)))) {
				t.Errorf("%s names %s, and the recipe does not say so", at, name)
			}
		}
	}
}

// The stack that the recipe says to copy is named at the places of its recipe, and nowhere else.
func TestRecipe_aNetworkStack(t *testing.T) {
	paths := recipe(t, "A network stack")
	if len(paths) < 12 {
		t.Fatalf("read %v from the recipe", paths)
	}
	for _, at := range paths {
		if text := read(t, filepath.Join(repository, at)); !regexp.MustCompile(`(?i)networkd`).MatchString(text) {
			t.Errorf("the recipe sends to %s, which does not name systemd-networkd", at)
		}
	}
	named := regexp.MustCompile(`\bStackNetworkd\b|\bnetundo\.Networkd\b|"[\w./-]+/internal/tool/networkd"`)
	for _, at := range productAndPages(t) {
		if named.MatchString(withoutComments(read(t, filepath.Join(repository, at)))) && !slices.Contains(paths, at) {
			t.Errorf("%s names systemd-networkd, and the recipe does not say so", at)
		}
	}
}

// A reader who searches for a name of the map finds it.
func TestMap_names_what_the_code_has(t *testing.T) {
	names := regexp.MustCompile("`([a-z]+)\\.([A-Z]\\w+)`").FindAllStringSubmatch(read(t, repository+"/internal/README.md"), -1)
	if len(names) < 10 {
		t.Fatalf("the map has %d names", len(names))
	}
	packages := list(t, "./internal/...")
	for _, m := range names {
		declared := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |var |const |\t)` + m[2] + `\b`)
		if !slices.ContainsFunc(packages, func(p goPackage) bool {
			dir := local(p.ImportPath)
			return filepath.Base(dir) == m[1] && slices.ContainsFunc(p.GoFiles, func(name string) bool {
				return declared.MatchString(read(t, repository+"/internal/"+dir+"/"+name))
			})
		}) {
			t.Errorf("no package %s has %s", m[1], m[2])
		}
	}
}
