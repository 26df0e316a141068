package hosts

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

// readOS reads os-release(5). A host without that file has an empty ID, which
// no platform matches.
func readOS(s *inventory.Snapshot, a *collect.Answer) error {
	s.OS.Kernel = a.Values["/proc/sys/kernel/osrelease"].Text
	if s.OS.Kernel == "" {
		return in("kernel", errors.New("no kernel release: /proc is not mounted"))
	}
	for n, line := range tool.Lines(a.Files["/etc/os-release"]) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		value, err := unquote(value)
		if err != nil {
			return in("/etc/os-release", tool.Errorf(n, line, "%v", err))
		}
		switch key {
		case "ID":
			s.OS.ID = value
		case "VERSION_ID":
			s.OS.VersionID = value
		case "PRETTY_NAME":
			s.OS.PrettyName = value
		}
	}
	return nil
}

var escaped = regexp.MustCompile(`\\(.)`)

// unquote undoes the shell quoting that os-release allows.
func unquote(s string) (string, error) {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return s, nil
	}
	if len(s) < 2 || s[len(s)-1] != s[0] {
		return "", errors.New("a quotation mark is not closed")
	}
	inner := s[1 : len(s)-1]
	if s[0] == '"' {
		inner = escaped.ReplaceAllString(inner, "$1")
	}
	return inner, nil
}

// imageName is how a staged image is called: by its SHA-256.
var imageName = regexp.MustCompile(`^` + regexp.QuoteMeta(inventory.StateDir) + `/images/([0-9a-f]{64})\.bin$`)

// readFiles joins the content of files with their modes, and finds the staged
// images, of which only the hash is read.
func readFiles(s *inventory.Snapshot, a *collect.Answer) error {
	s.Files, s.Denied, s.Directories, s.Staged = map[string]inventory.File{}, a.Denied, a.Directories, map[string]bool{}
	for path, content := range a.Files {
		s.Files[path] = inventory.File{Content: content}
	}
	run, ok := a.Runs["stat"]
	if !ok {
		return nil
	}
	changed := changedImages(a)
	for _, line := range tool.Lines(run.Output) {
		fields := strings.SplitN(line, " ", 4)
		if len(fields) != 4 || !statForm.MatchString(line) {
			// A file that vanished between listing and stat, or a remark of a library. A file without
			// a line has no mode that is known.
			continue
		}
		if m := imageName.FindStringSubmatch(fields[3]); m != nil {
			s.Staged[m[1]] = !changed[m[1]]
			continue
		}
		if f, read := s.Files[fields[3]]; read {
			f.Mode = fields[0]
			s.Files[fields[3]] = f
		}
	}
	return nil
}

// statForm is "644 root:root 120 /etc/a".
var statForm = regexp.MustCompile(`^[0-7]{1,4} \S+:\S+ \S+ /`)

// changedImages are the staged images, by the hash of their name, that have another content
// now. One that sha256sum could not read is not among them: whoever writes an image to a card
// hashes it again.
func changedImages(a *collect.Answer) map[string]bool {
	changed := map[string]bool{}
	for _, line := range tool.Lines(a.Runs["sha256sum"].Output) {
		sum, path, _ := strings.Cut(line, "  ")
		if m := imageName.FindStringSubmatch(path); m != nil && contentHash.MatchString(sum) && sum != m[1] {
			changed[m[1]] = true
		}
	}
	return changed
}

var contentHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// readSpace reads "df -Pk": a heading and one line, whose fourth field are the
// available blocks of 1024 bytes.
func readSpace(s *inventory.Snapshot, a *collect.Answer) error {
	run, ok := a.Runs["df"]
	if !ok || run.Status != 0 {
		s.StateFree = fact.Unknown[int64](fmt.Sprintf("df gave no answer for %s: %q", inventory.StateDir,
			strings.TrimSpace(run.Output)))
		return nil
	}
	// From behind: what libraries complain of comes first.
	for _, line := range slices.Backward(strings.Split(strings.TrimSpace(run.Output), "\n")) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasPrefix(fields[5], "/") {
			continue // a remark of a library, or the heading
		}
		blocks, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil {
			return in("df", tool.Errorf(0, line, "invalid number of available blocks"))
		}
		s.StateFree = fact.Known(blocks * 1024)
		return nil
	}
	return in("df", tool.Errorf(0, "", "want the line of one file system"))
}

const machineIDPath = "/etc/machine-id"

var machineIDForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// machineID reads /etc/machine-id. A system that has not finished its first boot
// has an empty file, or one that says "uninitialized".
func machineID(a *collect.Answer) fact.Of[string] {
	v, ok := a.Values[machineIDPath]
	switch {
	case a.Denied[machineIDPath]:
		return fact.Unknown[string](machineIDPath + " cannot be read")
	case !ok:
		return fact.Unknown[string]("there is no " + machineIDPath)
	case !machineIDForm.MatchString(v.Text):
		return fact.Unknown[string](machineIDPath + " holds no id")
	}
	return fact.Known(v.Text)
}
