// Package knownhosts judges the key that a host shows: by the lists of known hosts
// as OpenSSH reads them, with their authorities, marks and hashed names, by the
// revoked keys of the SSH client configuration, and by the keys that a host is
// pinned to. With the policy accept-new it records the first key of a new host.
//
// It must not dial, send anything to a host, or read where the lists are configured.
package knownhosts
