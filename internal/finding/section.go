package finding

import (
	"fmt"
	"strings"
)

// pages is where the guides of the documentation are read.
const pages = "https://registry.terraform.io/providers/ibfabric/infiniband/latest/docs/guides/"

// Guide is a section of the documentation that says more than a finding can.
type Guide struct {
	Title, Page, Anchor string // Page is a name without an ending; Anchor may be empty
}

// Address is where it is read.
func (g Guide) Address() string { return pages + strings.TrimSuffix(g.Page+"#"+g.Anchor, "#") }

var (
	recovery = Guide{"Recover a card by hand", "burn", "recover-a-card-by-hand"}
	images   = Guide{"Find and check firmware", "firmware", ""}
	tools    = Guide{"Versions of mstflint", "burn", "versions-of-mstflint"}
)

var guides = map[*Rule]Guide{
	CardInRecovery: recovery, FlashDamaged: recovery, FlashUnreadable: recovery, RestartIntoDamagedFlash: recovery,
	PSIDWouldChange:   {"The cross-flash", "crossflash", ""},
	ImageForOtherChip: images, ImageForOtherRevision: images, ImageForOtherModel: images,
	ImageForOtherPortCount: images, FirmwareEthernetOnly: images,
	HostObserved:     {"Hosts that are only read", "drift", "hosts-that-are-only-read"},
	MstflintUnproven: tools, MstflintUnsuitable: tools,
	FlashJobUnsettled: {"Watching a burn", "watch", ""},
}

// More is the guide that says more of the rule, if there is one.
func (r *Rule) More() (Guide, bool) {
	g, ok := guides[r]
	return g, ok
}

// Heading begins the section of the rule in the documentation.
func (r *Rule) Heading() string { return r.Code + ": " + r.Title }

// Address is where the section of the rule is read.
func (r *Rule) Address() string {
	return Guide{Page: "findings", Anchor: Anchor(r.Heading())}.Address()
}

// Anchor is what Markdown makes of a heading.
func Anchor(heading string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			return c
		}
		return -1
	}, strings.ToLower(heading))
}

// Section says in Markdown what the rule means and what to do, without heading and guide.
func (r *Rule) Section() string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%s*", r.Severity)
	if r.Consent != "" {
		fmt.Fprintf(&b, ", `%s`", r.ConsentName())
	}
	b.WriteString("\n")
	for _, text := range []string{r.Meaning, r.WayOut} {
		if text != "" {
			fmt.Fprintf(&b, "\n%s\n", text)
		}
	}
	if r.Consent != "" {
		if !strings.HasSuffix(r.WayOut, ":") {
			b.WriteString("\nIf you mean this change, write into the resource:\n")
		}
		fmt.Fprintf(&b, "\n```hcl\n%s # the refusal shows the values\n```\n", r.sampleConsent())
	}
	return b.String()
}

// sampleConsent is the argument with a consent; each refusal shows it with its values.
func (r *Rule) sampleConsent() string {
	value := `"…"`
	switch r.Consent {
	case "psid_change", "downgrade", "branch_change":
		value = `{ from = "…", to = "…" }`
	case "guid_change":
		value = `{ from = ["…"], to = ["…"] }`
	case "management_path", "after_failure", "other_cards", "adopt_files", "adopt_without",
		"removed_functions":
		value = Names("…")
	case "private_mtu":
		value = "65520"
	case "without_copy":
		value = `{ card = "…", rollback_sha256 = "…", image_sha256 = "…" }`
	case "last_manager":
		value = `"0xe41d2d0300e44ed1"`
	case "equal_priority":
		value = "14"
	}
	return AllowLines(r.ConsentLine(value))
}
