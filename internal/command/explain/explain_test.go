package explain

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

func call(t *testing.T, line string) (status int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	status = Command.Run(t.Context(), strings.Fields(line), command.Streams{Out: &o, Err: &e})
	return status, o.String(), e.String()
}

func TestExplain_saysWhatTheDocumentationSays(t *testing.T) {
	t.Parallel()
	for _, r := range finding.All() {
		status, out, err := call(t, strings.ToLower(r.Code))
		if status != command.OK || err != "" || !strings.HasPrefix(out, r.Code+": "+r.Title+"\n") ||
			!strings.Contains(out, r.Meaning) || !strings.Contains(out, r.WayOut) ||
			!strings.HasSuffix(out, r.Address()+"\n") {
			t.Errorf("%s: status %d\n%s%s", r.Code, status, out, err)
		}
	}
	_, out, _ := call(t, "FW023")
	for _, want := range []string{"\n*needs consent*, `allow.psid_change`\n", "allow = { psid_change = { from = ",
		"\nThe cross-flash: https://registry.terraform.io/providers/ibfabric/infiniband/latest/docs/guides/crossflash\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("FW023 does not say %q:\n%s", want, out)
		}
	}
}

func TestExplain_namesWhatIsNear(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		status int
		text   string // in it
	}{
		"FW230":       {command.Failed, "There is no finding \"FW230\". Near it are:\n  FW091  "},
		"FW0023":      {command.Failed, "Near it are:\n  FW023  Burn would replace the PSID\n  FW022  "},
		"BK":          {command.Failed, "Near it are:\n  BK001  "},
		"PSID":        {command.Failed, "\n  FW023  Burn would replace the PSID\n"},
		"XY001":       {command.Failed, "Codes begin with:\n  FW  Firmware and cards\n"},
		"FW023 FW999": {command.Failed, "There is no finding \"FW999\""},
		"":            {command.Usage, "no code is named"},
	} {
		status, out, err := call(t, line)
		if status != want.status || !strings.Contains(err, want.text) || strings.Count(err, "\n") > 16 {
			t.Errorf("%q: status %d, %q, want %d, %q", line, status, err, want.status, want.text)
		}
		if found := strings.Contains(line, "FW023 "); found != (out != "") {
			t.Errorf("%q prints %q", line, out)
		}
	}
}
