package sshhost

import "os"

// Variable is a variable of the environment that holds a secret for the hosts
// whose configuration has none.
type Variable string

// The variables, the same for the provider and for the commands of its binary.
const ( //nolint:gosec // names of variables, no secrets
	EnvPassphrase   Variable = "INFINIBAND_SSH_PASSPHRASE"
	EnvPassword     Variable = "INFINIBAND_SSH_PASSWORD"
	EnvSudoPassword Variable = "INFINIBAND_SUDO_PASSWORD"
)

// Value is what the environment has; empty if it has nothing.
func (v Variable) Value() string { return os.Getenv(string(v)) }
