package knownhosts

import (
	"fmt"
	"os"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/memo"
)

// Lists keeps lists of known hosts that were read before: a thousand hosts would read
// one of a thousand lines each. The zero value is ready; a nil *Lists keeps nothing. It
// is safe for concurrent use.
type Lists struct{ read memo.Map[string, knownList] }

// get reads lists of known hosts, anew if a file has changed: accept-new adds to one.
func (l *Lists) get(files []string) (knownList, error) {
	read := func() (knownList, error) { return readKnownHosts(files) }
	if l == nil {
		return read()
	}
	var version strings.Builder
	for _, f := range files {
		// Size and time, not a hash: to hash a file is to read it, which is what is saved here.
		st, err := os.Stat(f)
		if err != nil {
			return read() // says what is wrong
		}
		fmt.Fprintf(&version, "%d %d\n", st.Size(), st.ModTime().UnixNano())
	}
	return l.read.Get(strings.Join(files, "\x00"), version.String(), read)
}
