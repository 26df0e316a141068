package provider

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// largestList is far above a list of all images that there are.
const largestList = 1 << 20

// approved reads the list of images that may be burned, as sha256sum writes it: a hash and a name a line.
func approved(name string) (list session.Approved, err error) {
	if name == "" {
		return list, nil
	}
	list = session.Approved{File: name, SHA256: map[string]bool{}}
	file, err := os.Open(attribute.ExpandHome(name))
	if err != nil {
		return list, err
	}
	defer file.Close() //nolint:errcheck // only read
	limited := &io.LimitedReader{R: file, N: largestList + 1}
	lines := bufio.NewScanner(limited)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(strings.TrimPrefix(lines.Text(), "\ufeff")) // what editors of Windows begin a file with
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if sum, wrong := hex.DecodeString(words[0]); wrong != nil || len(sum) != 32 {
			return list, fmt.Errorf("line %d does not begin with a SHA-256 of 64 hexadecimal digits", n)
		}
		list.SHA256[strings.ToLower(words[0])] = true
	}
	if limited.N <= 0 {
		err = fmt.Errorf("it has more than %d KiB", largestList>>10)
	}
	return list, errors.Join(lines.Err(), err)
}
