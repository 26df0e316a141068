package acctest

import (
	"strings"
	"sync/atomic"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

const germanLocale = "de_DE.UTF-8"

// german is what the messages of programs become on a host whose operator reads
// German: those of the C library, of sudo, and of a mstflint that somebody
// translated (the real one is in English only).
var german = strings.NewReplacer(
	"No such file or directory", "Datei oder Verzeichnis nicht gefunden", "Permission denied", "Keine Berechtigung",
	"No space left on device", "Auf dem Gerät ist kein Speicherplatz mehr verfügbar", "File exists",
	"Datei oder Verzeichnis existiert bereits",
	"is not in the sudoers file", "steht nicht in der sudoers-Datei", "command not found", "Befehl nicht gefunden",
	"Image type:", "Art des Abbilds:", "FW Version:", "FW-Version:", "FW Release Date:", "FW-Datum:", "Description:",
	"Beschreibung:",
	"PSID:", "Platinen-ID:", "GUIDs:", "Kennungen:", "MACs:", "MAC-Adressen:", "HW Info:", "Angaben zur Hardware:",
	"HwDevId", "Geraete-ID", "HwRevId", "Revision",
	"FW image verification succeeded", "Prüfung des Abbilds erfolgreich", "Image is bootable", "Abbild ist startfähig",
	"Burning", "Schreibe",
	"Restoring signature", "Setze Signatur", "OK", "fertig", "-I- ", "-H- ", "-E- ", "-F- ", "Checksum:", "Prüfsumme:",
)

// shells pass on what others print.
var shells = map[string]bool{"sh": true, "bash": true, "dash": true}

// localeCases are hosts and tools whose messages are not in English.
func localeCases() []*faultCase {
	all := []*faultCase{{
		fault: "Host speaks German", step: "from the first look to the end", point: 1, quick: true, arm: (*faultRun).inGerman,
	}, {
		fault: "Host speaks German", step: "from the first look to the end", point: 2, guids: true, arm: (*faultRun).inGerman,
	}}
	for i, x := range []struct {
		step, holds string
		says        []string
	}{
		{"reading the flash", "mstflint -d 0000:01:00.0 q", []string{"FW044"}},
		{"reading the silicon's id", "mstflint -d 0000:01:00.0 hw query", []string{"FW022"}},
		{"verifying the flash", "mstflint -d 0000:01:00.0 v", []string{"FW056"}},
		{"verifying the backup", "mstflint -i " + stateDir + "/backups", []string{"not understood", "Abbild ist startfähig"}},
		{"verifying the staged image", "mstflint -i " + stateDir + "/images",
			[]string{"not understood", "Abbild ist startfähig"}},
		{"writing the flash", " -allow_psid_change ", nil},
	} {
		all = append(all, &faultCase{
			fault: "mstflint speaks German, whatever it is told", step: x.step, point: 1, quick: i == 2, says: x.says,
			arm: func(r *faultRun) {
				var translated atomic.Int64
				r.m.Faults.Trap(x.holds, 0, labsim.ProgramFault{Says: func(_ *labsim.Proc, line string) string {
					translated.Add(1)
					return german.Replace(line)
				}})
				r.t.Cleanup(func() {
					if translated.Load() == 0 {
						r.t.Error("nothing was said in German")
					}
				})
			},
			mend: func(*faultRun) {},
		})
	}
	return all
}

// inGerman makes German the language of the host: of every session, as sshd and
// PAM set it, and of the units that systemd starts. Each program follows its own
// environment, as real ones do.
func (r *faultRun) inGerman() {
	var translated atomic.Int64
	r.m.Faults.Set(labsim.FaultSpec{Locale: germanLocale})
	r.m.Faults.Trap("", 0, labsim.ProgramFault{Says: func(p *labsim.Proc, line string) string {
		if shells[p.Name()] || p.Locale() == "C" {
			return line
		}
		out := german.Replace(line)
		if out != line {
			translated.Add(1)
		}
		return out
	}})
	// The control: who asks for nothing is answered in German.
	if out, status := r.w.Try(r.host, "cat /nowhere"); status == 0 || !strings.Contains(out, "nicht gefunden") {
		r.t.Fatalf("the host speaks no German: %d %s", status, out)
	}
	control := translated.Load()
	r.t.Cleanup(func() {
		if n := translated.Load() - control; n > 0 {
			r.t.Errorf("%d lines were asked for without LC_ALL=C", n)
		}
	})
}
