package auth

import "os"

// Variable is a variable of the environment that holds a secret for the hosts
// whose configuration has none.
type Variable string

// The variables, the same for the provider and for the commands of its binary.
const (
	EnvPassphrase   Variable = "INFINIBAND_SSH_PASSPHRASE" //nolint:gosec // a name, no secret
	EnvPassword     Variable = "INFINIBAND_SSH_PASSWORD"   //nolint:gosec // a name, no secret
	EnvSudoPassword Variable = "INFINIBAND_SUDO_PASSWORD"  //nolint:gosec // a name, no secret
)

// Value is what the environment has; empty if it has nothing.
func (v Variable) Value() string { return os.Getenv(string(v)) }
