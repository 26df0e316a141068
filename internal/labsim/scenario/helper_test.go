package scenario

import "os"

func readFile(name string) ([]byte, error) { return os.ReadFile(name) } //nolint:gosec // a test's own file
