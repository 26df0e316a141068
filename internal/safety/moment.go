package safety

// Rules about the time between a plan and its apply.
var _ = Register(
	Rule{Code: "HO019", Severity: Refuse, Title: "Card or host has changed since it was planned for",
		Meaning: "What is done to a card is what the plan has shown, for the card and the host that it was shown for. Somebody has changed one of them since.",
		WayOut:  "Plan again, and read what has become of it."},
)

// Overtaken is the finding on a card or a host that is not any more what a plan
// or an earlier verdict was about. It says what differs.
func Overtaken(format string, args ...any) Finding { return find("HO019", format, args...) }

// Watched is the finding on a job that another apply is going to settle.
func Watched(evidence string) Finding { return find("HO004", "%s", evidence) }

// RestartNow gives the findings that stop a restart of a card's host in the moment
// before it, for the sake of the host and of what is reached over the card.
func RestartNow(card CardFacts, host HostFacts, consent string) []Finding {
	return append(Restart(host), Blocking(path(card, host, consent))...)
}
