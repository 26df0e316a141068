package provider_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every action has an example, which is held to its schema.
func TestAction_examples(t *testing.T) {
	judge := newHCLJudge(t)
	if len(judge.schemas.ActionSchemas) == 0 {
		t.Error("there are no actions")
	}
	for kind := range judge.schemas.ActionSchemas {
		file := filepath.Join("../../examples/actions", kind, "action.tf")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, problem := range judge.problems(block{file: file, text: string(text)}, nil) {
			t.Errorf("%s: %s", file, problem)
		}
		if !strings.Contains(string(text), `action "`+kind+`" "`) {
			t.Errorf("%s has no %s", file, kind)
		}
	}
}
