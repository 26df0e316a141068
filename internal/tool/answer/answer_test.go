package answer

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const whole = "@begin 1\n@fact with words\n=/p\tone line\n!/denied\n@run 3\tname of it\n|a\n||b\n@.\n@file /f\n|x\n@.+\n@end\n"

func read(output string) (items []Item, err error) {
	err = Read(output, func(i Item) error {
		items = append(items, i)
		return nil
	})
	return items, err
}

func TestRead(t *testing.T) {
	t.Parallel()
	items, err := read(whole)
	if err != nil {
		t.Fatal(err)
	}
	want := []Item{{Word: "fact", Name: "with words", Line: 2}, {Word: Value, Name: "/p", Text: "one line", Line: 3},
		{Word: Denied, Name: "/denied", Line: 4}, {Word: Run, Name: "name of it", Text: "a\n|b\n", Status: 3, Line: 5},
		{Word: File, Name: "/f", Text: "x", Line: 9}}
	if diff := cmp.Diff(want, items, cmpopts.IgnoreUnexported(Item{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range len(whole) - 1 {
		if _, err := read(whole[:i]); err == nil {
			t.Errorf("the answer was read although it was cut behind %d bytes", i)
		}
	}
	for name, bad := range map[string]string{
		"behind the end": whole + "@fact\n", "a status that is none": strings.Replace(whole, "@run 3", "@run x", 1),
		"a stray line": strings.Replace(whole, "@fact", "fact", 1), "in a section": strings.Replace(whole, "|a", "a", 1),
	} {
		if _, err := read(bad); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// TestFunctions_in_every_shell holds that text of any kind and size gets through, with
// the status of its command.
func TestFunctions_in_every_shell(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("@end |= \\ $x `id`\n", 2000)
	for _, shell := range [][]string{{"/bin/sh"}, {"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		for _, text := range []string{"", "one\n", "  a\n\n@end\n", long} {
			file := filepath.Join(t.TempDir(), "file")
			args := append(slices.Clone(shell[1:]), "-c", Functions+`echo '@begin 1'
printf '%s' "$1" >"$2"
fails() { printf '%s' "$1"; return 7; }
answer of fails "$1"
printf '@status %s\n' "$STATUS"
contents "$2" "$2.none"
echo '@end'`, "sh", text, file)
			out, err := exec.CommandContext(t.Context(), shell[0], args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %v\n%.300s", shell, err, out)
			}
			items, err := read(string(out))
			if err != nil || len(items) != 3 {
				t.Fatalf("%v: %v\n%.300s", shell, err, out)
			}
			if run, status, got := items[0], items[1], items[2]; run.Status != 7 || run.Text != text || status.Name != "7" ||
				got.Text != text || got.Name != file {
				t.Errorf("%v: %.300v", shell, items)
			}
		}
	}
}
