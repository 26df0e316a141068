package sshconfig

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/memo"
)

// Shared is what the hosts of one configuration read in common: the lists of known
// hosts, the private keys, the SSH client configuration. The zero value is ready; a
// nil *Shared shares nothing. It is safe for concurrent use.
type Shared struct {
	lists   knownhosts.Lists
	keys    auth.Keys
	configs memo.Map[string, *userConfig]
}

func (s *Shared) knownHosts() *knownhosts.Lists {
	if s == nil {
		return nil
	}
	return &s.lists
}

func (s *Shared) privateKeys() *auth.Keys {
	if s == nil {
		return nil
	}
	return &s.keys
}

// userConfig reads the SSH client configuration once.
// A thousand hosts would else start ssh, or read the files, a thousand times.
func (s *Shared) userConfig(path string) (*userConfig, error) {
	read := func() (*userConfig, error) { return loadUserConfig(path) }
	if s == nil {
		return read()
	}
	return s.configs.Get(path, "", read)
}
