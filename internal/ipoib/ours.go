package ipoib

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// placeOf gives the interface that this provider gives a path for: by its name alone, whatever
// the file says.
func placeOf(at string) (target, bool) {
	_, id, ok := strings.Cut(path.Base(at), "infiniband-")
	if !ok || len(id) < 16 {
		return target{}, false
	}
	guid, err := ib.ParseGUID("0x" + id[:16])
	if err != nil {
		return target{}, false
	}
	t := target{port: guid}
	if key, isKey := strings.CutPrefix(id[16:], "-"); isKey {
		n, _ := strconv.ParseUint(key[:min(4, len(key))], 16, 16)
		t.pkey = uint16(n)
	}
	return t, isOwnPath(t, at)
}

// isOwnPath reports whether a path is one of our files for an interface.
func isOwnPath(t target, at string) bool {
	return isHook(t, at) || slices.ContainsFunc(backends, func(b backend) bool {
		return slices.ContainsFunc(b.files(t, Config{}), func(f file) bool { return f.path == at })
	})
}

// isOwnFile reports whether a file is one that a resource of some port keeps right: it says
// that it is ours, and it is where we put one. A copy of it under another name says so too,
// and nothing of ours ever writes or removes it.
func isOwnFile(s *inventory.Snapshot, at string) bool {
	_, ok := placeOf(at)
	return ok && ownProfile(s.Files[at].Content)
}

// copied reports whether a file is a copy of one of ours under another name.
func copied(s *inventory.Snapshot, at string) bool {
	return ownProfile(s.Files[at].Content) && !isOwnFile(s, at)
}
