package check

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
)

// slow is the time after which a sudo is taken to wait for a server that does not
// answer.
const slow = 5 * time.Second

func (r *Report) root(how string, sudo time.Duration) {
	r.ok("root", cmp.Or(how, "as configured"), "")
	if sudo > slow {
		r.add(Step{Step: "root", Status: Warning, Text: fmt.Sprintf("sudo took %s", sudo.Round(time.Second)),
			Detail: "Every command waits as long. Usual causes: /etc/hosts on the host does not name the host itself; a DNS " +
				"or LDAP server does not answer."})
	}
}

// facts says what was found on a host, and what is missing there.
func (r *Report) facts(s *inventory.Snapshot) {
	p, err := platform.Of(s)
	if err != nil {
		r.add(Step{Step: "system", Status: Missing, Text: cmp.Or(s.OS.PrettyName, s.OS.ID, "unknown") + " is not supported",
			Detail: diagnostic.Sentence(err.Error())})
	} else {
		r.ok("system", fmt.Sprintf("%s, kernel %s", p.Name(), s.OS.Kernel), "")
		r.software(s, p)
	}
	if s.MSTFlint.Present {
		r.ok("tools", "mstflint "+cmp.Or(s.MSTFlint.Version, "of an unknown version"), "")
	}
	for _, f := range append(hostcheck.Owed(s), hostcheck.Stopped(s.Stops, nil)...) {
		f.Severity = finding.Warn // nothing is missing here: another apply has left it
		r.find("jobs", "", f)
	}
	if len(s.Cards) == 0 {
		r.add(Step{Step: "card", Status: Missing, Text: "no InfiniBand card",
			Detail: "Check that the card is seated and shown by lspci."})
	}
	for i := range s.Cards {
		r.card(s, &s.Cards[i])
	}
}

// software says what the kernel lacks, and what an apply would install.
func (r *Report) software(s *inventory.Snapshot, p platform.Platform) {
	for _, f := range platform.CheckPort(s, p, ib.GUID(0), "ib_umad", "ib_ipoib") {
		r.find("kernel", "", f)
	}
	for _, want := range []struct {
		feature platform.Feature
		by      string
	}{
		{platform.FeatureOpenSM, "infiniband_opensm"}, {platform.FeatureDiagnostics, "infiniband_fabric"},
	} {
		lack := platform.MissingPackages(p, s, want.feature)
		if len(lack) == 0 {
			continue
		}
		r.add(Step{Step: "tools", Status: Note,
			Text: strings.Join(lack, ", ") + " is not installed, which only " + want.by + " needs"})
	}
}

// card says who a card is, and what stands in the way of any change of it.
func (r *Report) card(s *inventory.Snapshot, c *inventory.Card) {
	words := []string{c.PCI.String(), cmp.Or(c.Chip.Name, adapter(c)), c.PartNumber}
	if serial := c.Serial.Or(""); serial != "" {
		words = append(words, "serial "+serial)
	}
	if c.Flash != nil {
		words = append(words, "firmware "+c.Flash.FW.String(), string(c.Flash.PSID))
	}
	r.ok("card", strings.Join(words, " "), "")
	host := safety.HostFacts{Snapshot: *s, Support: platform.SupportOf(s, c.PCI)}
	if found, err := cards.LookAt(s, c.PCI); err == nil {
		for _, f := range safety.Ready(found.Facts, host) {
			r.find("card", strings.TrimSpace(c.PCI.String()+" "+c.PartNumber), f)
		}
	}
	if a, known := ib.AdapterByPCI(c.VendorID, c.DeviceID); known && a.Firmware != "" {
		r.add(Step{Step: "card", Status: Note, Text: "its firmware is left alone: " + a.Firmware})
	}
}

func adapter(c *inventory.Card) string {
	if a, known := ib.AdapterByPCI(c.VendorID, c.DeviceID); known {
		return a.Name
	}
	return fmt.Sprintf("%04x:%04x", c.VendorID, c.DeviceID)
}
