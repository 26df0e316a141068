package acctest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Example gives a folder with an example lab, whose variables have the values that its own file
// of them suggests. The module that it uses is in the folder, too.
func Example(t testing.TB, name string) string {
	t.Helper()
	examples, to := filepath.Join("..", "..", "examples"), t.TempDir()
	from, module := filepath.Join(examples, "lab-"+name), filepath.Join("modules", "lab")
	if _, err := os.Stat(from); err != nil {
		from = filepath.Join(examples, name)
	}
	err := errors.Join(os.CopyFS(to, os.DirFS(from)),
		os.CopyFS(filepath.Join(to, module), os.DirFS(filepath.Join(examples, module))),
		os.Rename(filepath.Join(to, "terraform.tfvars.example"), filepath.Join(to, "terraform.tfvars")))
	main := filepath.Join(to, "main.tf")
	text, bad := os.ReadFile(main)
	if err = errors.Join(err, bad); err == nil {
		err = os.WriteFile(main, []byte(strings.Replace(string(text), `"../modules`, `"`+to+`/modules`, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}
