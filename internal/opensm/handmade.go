package opensm

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// handmade reads what an instance that somebody else set up was started with: the files
// that all instances of the host share. A unit that somebody has changed may name others.
func (o *Observation) handmade(s *inventory.Snapshot, port ib.GUID) {
	ports, err := opensm.ParseDefault(s.Files[opensm.DefaultPath].Content)
	if _, there := s.Files[opensm.DefaultPath]; there && err == nil && ports.All && !layoutOf(s).own {
		o.Enabled = s.StartsAtBoot(opensm.Service)
	}
	if !fact.Yes(o.Active) || changedUnit(s, port) || slices.ContainsFunc(opensm.SharedConf,
		func(path string) bool { return s.Denied[path] }) {
		return
	}
	own := layoutOf(s).files
	path, text := sharedConf(s)
	if path != "" {
		o.From = append(o.From, path)
	}
	c := opensm.ParseShared(text, own)
	o.Priority, o.Tuning = c.Priority, c.Tuning
	path, all := sharedPartitions(s, c)
	if path != "" {
		o.From = append(o.From, path)
	}
	o.Partitions = all
}

// changedUnit reports whether somebody has changed how an instance is started.
func changedUnit(s *inventory.Snapshot, port ib.GUID) bool {
	template := strings.TrimSuffix(opensm.TemplatePath, "@.service")
	for _, path := range s.FilesUnder("/etc/systemd/system/") {
		for _, unit := range []string{"@.service", strings.TrimPrefix(opensm.Unit(port), "opensm")} {
			if path == template+unit || strings.HasPrefix(path, template+unit+".d/") {
				return true
			}
		}
	}
	return false
}

// sharedPartitions are the file of partitions that an instance with such options reads, and
// its partitions; none if a resource cannot say all that the file does.
func sharedPartitions(s *inventory.Snapshot, c opensm.Conf) (path string, all []opensm.Partition) {
	path = cmp.Or(c.PartitionFile, layoutOf(s).files.Partitions)
	f, there := s.Files[path]
	if !there {
		return "", nil
	}
	if all, err := opensm.ParsePartitions(f.Content); err == nil && expressible(all) {
		return path, all
	}
	return path, nil
}

// expressible reports whether a resource can have these partitions.
func expressible(all []opensm.Partition) bool {
	names := map[string]bool{}
	for _, p := range all {
		isDefault := p.Name == opensm.DefaultPartition
		if names[p.Name] || p.Name == "" || strings.ContainsAny(p.Name, " \t\"'") || p.PKey == 0 ||
			isDefault != (p.PKey == opensm.DefaultPKey) || p.Special() || len(p.Members) == 0 {
			return false
		}
		names[p.Name] = true
		if slices.ContainsFunc(p.Members, func(m opensm.Member) bool { return m.Membership == opensm.Both }) {
			return false
		}
	}
	return !slices.ContainsFunc(Lint(all, nil, 0), func(f finding.Finding) bool { return f.Severity == finding.Refuse })
}

// uncarried are the settings of a shared opensm.conf that d does not have as well.
func uncarried(s *inventory.Snapshot, d Request, text string) []string {
	own := layoutOf(s).files
	c := opensm.ParseShared(text, own)
	same := d.conf()
	same.PartitionFile = ""
	if _, all := sharedPartitions(s, c); len(all) > 0 &&
		opensm.PartitionsText("", all) == opensm.PartitionsText("", d.Partitions) {
		same.PartitionFile = c.PartitionFile
	}
	return opensm.Uncarried(text, own, d.PortGUID, same)
}

// heldBy is about a subnet manager that is not an instance of its port's unit.
func heldBy(s *inventory.Snapshot, port ib.GUID, o Observation) finding.Finding {
	f := finding.OpensmPortHeld.Find("A subnet manager is bound to port %s of %s, and %s does not run.", port, s.Host,
		o.Unit)
	if layoutOf(s).own && fact.Yes(s.Runs(opensm.Service)) {
		f.Evidence += " " + opensm.Service + " runs. It starts one opensm without a unit for each port."
		f.WayOut = "Write into this resource what that one was given: on Fedora and RHEL GUIDS and PRIORITY of " +
			"/etc/sysconfig/opensm, and the settings of /etc/rdma/opensm.conf. Then run systemctl disable --now opensm on the " +
			"host, and apply at once. Until then traffic goes on, and ports that come up wait."
	}
	return f
}

// CheckImport says why the subnet manager of a port is not one that can be imported, if it
// has one.
func CheckImport(s *inventory.Snapshot, port ib.GUID) []finding.Finding {
	o := Observe(s, port)
	if o.Managed || o.Listed || !o.Stopped() || !fact.Yes(o.IsSM) {
		return nil
	}
	f := heldBy(s, port, o)
	f.Attribute, f.Summary = "", "Refusing to import a subnet manager that something else starts"
	return []finding.Finding{f}
}
