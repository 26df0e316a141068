package found

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Shared are the files that all instances of the host read that have none of their own.
type Shared struct {
	ConfPath string // opensm.conf; empty if it is not there
	Conf     tool.Shared
	// PartitionsPath is partitions.conf; empty if it is not there.
	PartitionsPath string
	Partitions     []opensm.Partition
	// StandardPath is where this build of opensm has its partitions by default.
	StandardPath   string
	StandardThere  bool
	StandardUnread bool
	StandardPlain  bool     // what it makes is what opensm makes without a file: one partition of all ports
	StandardError  error    // why opensm ignores the whole file
	Unread         []string // files of options that are there and could not be read
	Keys           []opensm.Key
	KeysOfAll      []FileKey // the keys of every file of options that some build of opensm reads
}

// FileKey is a secret of a fabric that a file may set.
type FileKey struct {
	Path string
	opensm.Key
}

// readShared reads opensm.conf and the partitions that it names. opensm takes a file that is not there for an
// empty one, and says nothing.
func readShared(s *inventory.Snapshot, places tool.Places) Shared {
	v := Shared{StandardPath: places.Partitions, StandardUnread: s.Denied[places.Partitions],
		Keys: keysOf(s, places.Conf)}
	conf, there := s.Files[places.Conf]
	if there {
		v.ConfPath = places.Conf
	}
	v.Conf = tool.ParseShared(conf.Content, places)
	// Which file an opensm that was built by hand reads is not known: keys count in each.
	for _, path := range tool.SharedConf {
		if s.Denied[path] {
			v.Unread = append(v.Unread, path)
		}
		for _, key := range tool.Keys(s.Files[path].Content) {
			v.KeysOfAll = append(v.KeysOfAll, FileKey{Path: path, Key: key})
		}
	}
	return v.readPartitions(s)
}

// readPartitions reads the file of partitions of an instance with these options.
func (v Shared) readPartitions(s *inventory.Snapshot) Shared {
	// partition_config_file may name any path. One outside of the directories of opensm is not collected, and so
	// is not known.
	standard, there := s.Files[v.StandardPath]
	all, err := tool.ParsePartitions(standard.Content)
	v.StandardThere, v.StandardPlain, v.StandardError = there, err == nil && isPlain(all), err
	if v.PartitionsPath = cmp.Or(v.Conf.PartitionFile, v.StandardPath); v.PartitionsPath != v.StandardPath {
		var f inventory.File
		f, there = s.Files[v.PartitionsPath]
		all, err = tool.ParsePartitions(f.Content)
	}
	if !there {
		v.PartitionsPath = ""
		return v
	}
	if err == nil && opensm.IsExpressible(all) {
		v.Partitions = all
	}
	return v
}

// isPlain reports whether partitions are the one of all ports, as in the file that the package of RHEL brings.
func isPlain(all []tool.Partition) bool {
	return !slices.ContainsFunc(all, func(p tool.Partition) bool {
		return p.PKey != tool.DefaultPKey || p.MTU != 0 && p.MTU != 2048 || p.Rate != 0 && p.Rate != 100
	}) &&
		slices.ContainsFunc(all, func(p tool.Partition) bool {
			return slices.Contains(p.Members, tool.Member{Port: "ALL", Membership: tool.Full})
		})
}

// isUnitChanged reports whether somebody has changed how an instance is started.
func isUnitChanged(s *inventory.Snapshot, port ib.GUID) bool {
	template := strings.TrimSuffix(tool.TemplatePath, "@.service")
	for _, path := range s.FilesUnder("/etc/systemd/system/") {
		for _, unit := range []string{"@.service", strings.TrimPrefix(tool.Unit(port), "opensm")} {
			if path == template+unit || strings.HasPrefix(path, template+unit+".d/") {
				return true
			}
		}
	}
	return false
}
