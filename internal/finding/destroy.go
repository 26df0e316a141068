package finding

import "slices"

// AtDestroy rewrites a finding for a destroy: there is no configuration that it could
// point at.
func AtDestroy(f Finding) Finding {
	f.Attribute = ""
	if !f.Asks() {
		f.Consent = "" // the restore itself is the consent to change firmware back
	} else {
		f.WayOut = "If that is acceptable, write the line below into the resource and apply, so that the state holds it. " +
			"Then destroy. To leave the firmware as it is, write on_destroy = \"keep\" and apply first."
	}
	return f
}

// DestroyGoesOn turns the finding on a flash that a destroy has written back, and that
// the card does not run yet, into a warning. The engines plan the configuration before
// a destroy, and an error there would end it. The verdict of an apply still refuses.
func DestroyGoesOn(findings []Finding) []Finding {
	out := slices.Clone(findings)
	for i := range out {
		if f := &out[i]; f.Rule == FlashNotRunning {
			f.Severity = Warn
			f.Evidence += " A destroy wrote back the firmware that is in flash, and the host was not restarted."
			f.WayOut = "Destroy again to go on: the host is restarted then. To keep the resource instead, restart the host " +
				"so that the card runs what is in flash, and plan again. An apply before that is refused."
		}
	}
	return out
}
