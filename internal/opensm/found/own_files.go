package found

import (
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// OwnFiles are the files at our paths: the drop-in of the instance, its options, its partitions.
type OwnFiles struct {
	ConfPath   string // our file of options, there or not
	Managed    bool   // our drop-in is there
	HasConf    bool   // so is our file of options
	LostDropIn bool   // our file of options is there, without our drop-in
	// Edited are the files of ours that hold something else than we write.
	Edited []string
	// Edits say what differs in them, and in our template unit.
	Edits []platform.Edit
	// Gone is a file of an instance of ours that is not there any more; empty if none is known to be gone.
	Gone string
	// Older says that the instance was started before one of its files was changed last; empty if that is
	// not known to be so.
	Older string
	// Unmanaged are files at our paths that this provider did not write.
	Unmanaged []string
	// Unread are files at our paths that are there and could not be read.
	Unread []string
	// BesideOurs is true if some instance of the host has a file of options of ours.
	BesideOurs bool
	// DropInIsDirectory is true if a directory is in the place of the drop-in.
	DropInIsDirectory bool
	// TemplateIsOurs is true if our template unit is there.
	TemplateIsOurs bool
	// Replaced are the lines of drop-ins behind ours that set another command.
	Replaced []Command
	// Keys are the fabric's secrets that this instance sets by its file of options.
	Keys []opensm.Key

	options Options // of our file of options
	ownConf bool
}

// Command is what a drop-in of somebody else has opensm started with.
type Command struct{ Path, Line string }

// Header is the first lines of each file of ours.
func Header() string { return platform.OwnedHeader("infiniband_opensm") }

// DropInText is our drop-in of the instance on a port, with keys of a fabric or without.
func DropInText(port ib.GUID, keys bool) string { return tool.DropIn(Header(), port, keys) }

// TemplateText is our template unit.
func TemplateText() string { return tool.Template(Header()) }

// pathsOf are the places of the drop-in, the options and the partitions.
func pathsOf(port ib.GUID) (dropIn, conf, partitions string) {
	return tool.DropInPath(port), tool.ConfPath(port), tool.PartitionsPath(port)
}

// readOwnFiles reads the three files of an instance. A file that is ours by its first line may have been edited: what
// it says counts, for opensm reads it as it is, and the difference to what we would write is kept besides.
func readOwnFiles(s *inventory.Snapshot, port ib.GUID, ownTemplate bool) OwnFiles {
	dropIn, conf, partitions := pathsOf(port)
	o := OwnFiles{ConfPath: conf, DropInIsDirectory: s.Directories[dropIn], options: Options{Priority: -1},
		Managed: platform.IsOurs(s.Files[dropIn].Content), ownConf: platform.IsOurs(s.Files[conf].Content),
		Keys: keysOf(s, conf), Replaced: replacedCommands(s, dropIn), BesideOurs: hasConfOfOurs(s),
		TemplateIsOurs: platform.IsOurs(s.Files[tool.TemplatePath].Content)}
	o.HasConf = o.Managed && o.ownConf
	for _, at := range []string{dropIn, conf, partitions} {
		if f, there := s.Files[at]; there && !platform.IsOurs(f.Content) {
			o.Unmanaged = append(o.Unmanaged, at)
		}
		if s.Denied[at] {
			o.Unread = append(o.Unread, at)
		}
	}
	c := tool.ParseConf(s.Files[conf].Content)
	// Of a file that does not parse nothing is known to be ours. opensm ignores the whole file then: every
	// port is a full member of one partition.
	all, err := tool.ParsePartitions(s.Files[partitions].Content)
	if err != nil {
		all = nil
	}
	o.Edits = readEdits(s, port, c, all, ownTemplate)
	if !o.Managed {
		return o
	}
	o.Gone = goneFile(s, o, c.PartitionFile)
	if s.Files[dropIn].Content != DropInText(port, c.Keys.Version > 0) {
		o.Edited = append(o.Edited, dropIn)
	}
	if !o.HasConf {
		return o
	}
	o.options = Options{Priority: c.Priority, Tuning: c.Tuning, FabricKeys: c.Keys}
	if c.PartitionFile != "" {
		o.options.Partitions = all
		if err != nil {
			o.options.PartitionError = err.Error()
		}
	}
	o.Edited = append(o.Edited, editedConf(s, port, c, all)...)
	return o
}

// editedConf are the files of options and partitions that hold something else than we would write of c.
func editedConf(s *inventory.Snapshot, port ib.GUID, c tool.Conf, all []opensm.Partition) []string {
	_, conf, partitions := pathsOf(port)
	var edited []string
	if c.Text(Header()) != s.Files[conf].Content || c.PartitionFile != "" && c.PartitionFile != partitions {
		edited = append(edited, conf)
	}
	if c.PartitionFile != "" && tool.PartitionsText(Header(), all) != s.Files[partitions].Content {
		edited = append(edited, partitions)
	}
	return edited
}

// readEdits are the files of a port's instance that are ours and hold something else than we
// would write of the same settings, without secrets.
func readEdits(s *inventory.Snapshot, port ib.GUID, c tool.Conf, all []opensm.Partition,
	ownTemplate bool) []platform.Edit {
	dropIn, conf, partitions := pathsOf(port)
	if c.PartitionFile != partitions {
		c.PartitionFile = ""
	}
	type file struct{ path, ours string }
	files := []file{{dropIn, DropInText(port, c.Keys.Version > 0)},
		// A file whose priority somebody took out lacks the line, and no value of it.
		{conf, strings.Replace(c.Text(Header()), "sm_priority -1", "sm_priority", 1)},
		{partitions, tool.PartitionsText(Header(), all)}}
	if ownTemplate {
		files = append(files, file{tool.TemplatePath, TemplateText()})
	}
	var edits []platform.Edit
	for _, f := range files {
		edits = append(edits, platform.EditsOf(f.path, s.Files[f.path].Content, f.ours)...)
	}
	for _, e := range edits {
		for _, lines := range [][]string{e.Added, e.Missing} {
			for k, line := range lines {
				lines[k] = tool.WithoutSecret(line)
			}
		}
	}
	return edits
}

// goneFile is a file of an instance of ours that is not there, and not for want of a right to read it.
func goneFile(s *inventory.Snapshot, o OwnFiles, partitions string) string {
	if s.Denied[o.ConfPath] || s.Denied[partitions] || s.Directories[o.ConfPath] || s.Directories[partitions] {
		return ""
	}
	if _, there := s.Files[o.ConfPath]; !there {
		return o.ConfPath
	}
	if _, there := s.Files[partitions]; partitions != "" && o.HasConf && !there {
		return partitions
	}
	return ""
}

// replacedCommands finds drop-ins behind ours that set another command. systemd sorts the
// drop-ins of an instance and of its template by file name (systemd.unit(5)).
func replacedCommands(s *inventory.Snapshot, own string) []Command {
	var all []Command
	for _, dir := range []string{path.Dir(own), "/etc/systemd/system/opensm@.service.d"} {
		for _, at := range s.FilesUnder(dir) {
			if path.Base(at) <= path.Base(own) {
				continue
			}
			for line := range strings.Lines(s.Files[at].Content) {
				if command, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="); ok && command != "" {
					all = append(all, Command{Path: at, Line: command})
				}
			}
		}
	}
	return all
}

// hasConfOfOurs reports whether an instance of ours is on the host, for whatever port.
func hasConfOfOurs(s *inventory.Snapshot) bool {
	return slices.ContainsFunc(s.FilesUnder(tool.ConfDir), func(path string) bool {
		return strings.HasPrefix(path, tool.ConfDir+"terraform-") && platform.IsOurs(s.Files[path].Content)
	})
}

// keysOf are the secrets that a file of options sets.
func keysOf(s *inventory.Snapshot, path string) []opensm.Key {
	keys := tool.Keys(s.Files[path].Content)
	if s.Denied[path] {
		for i := range keys {
			keys[i].Set = fact.Unknown[bool](path + " could not be read")
		}
	}
	return keys
}

// SetsKeys reports whether somebody may have added keys of a fabric to our file.
func (o OwnFiles) SetsKeys() bool {
	return o.options.FabricKeys.Version == 0 && o.HasKeys()
}

// HasKeys reports whether the instance may have keys of a fabric.
func (o OwnFiles) HasKeys() bool {
	return slices.ContainsFunc(o.Keys, func(k opensm.Key) bool { return !fact.No(k.Set) })
}

// Options are what an instance was started with: what our files say, or those of others that it was started
// with.
type Options struct {
	Priority   int // -1 if it is not known
	Tuning     opensm.Tuning
	Partitions []opensm.Partition
	FabricKeys opensm.FabricKeys // that our file sets
	// PartitionError says why our partition file is not in force.
	PartitionError string
	From           []string // files of others that the instance was started with
}
