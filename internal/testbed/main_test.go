//go:build testbed && linux

package testbed

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	// A CLI configuration of the developer's must not reach the provider.
	_ = os.Unsetenv("TF_CLI_CONFIG_FILE")
	Main(m.Run)
}
