package acctest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// TestImage_from_the_network stages a member of an archive that an https server has. It is fetched
// once and kept by its hash; what is not what the configuration declares is refused, and leaves
// nothing. It sets the roots that this process trusts, and so runs alone.
func TestImage_from_the_network(t *testing.T) {
	image := card.VPI()
	sum := sha256.Sum256(image)
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	member, err := z.Create("release/fw.bin")
	if err == nil {
		_, err = member.Write(image)
	}
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	asked := 0
	site := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		asked++
		content := archive.Bytes()
		if in.URL.Path != "/fw.zip" {
			content = []byte("<html>Sign in</html>")
		}
		http.ServeContent(out, in, "", time.Time{}, bytes.NewReader(content))
	}))
	defer site.Close()
	root, cache := filepath.Join(t.TempDir(), "root.pem"), t.TempDir()
	if err = os.WriteFile(root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", root)
	t.Setenv("XDG_CACHE_HOME", cache)
	w := Start(t, Options{Hosts: vpi()})
	asks := func(attrs map[string]any) Config {
		return Config{Resource{Type: "infiniband_firmware_image", Name: "it", Attrs: map[string]any{"host": labs.Intel9,
			"source": site.URL + "/fw.zip", "member": "release/fw.bin", "sha256": hex.EncodeToString(sum[:])}}.With(attrs)}
	}
	kept := func() int {
		left, err := filepath.Glob(filepath.Join(cache, "terraform-provider-infiniband", "images", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(left)
	}
	for name, c := range map[string]struct {
		attrs map[string]any
		says  []string
	}{
		"a page":         {map[string]any{"source": site.URL + "/login", "member": nil}, []string{"FW001", "It is a web page"}},
		"no hash":        {map[string]any{"sha256": nil}, []string{"FW001", "needs its sha256"}},
		"another member": {map[string]any{"member": "fw.bin"}, []string{"FW001", "It has: release/fw.bin"}},
		"another hash":   {map[string]any{"sha256": hex.EncodeToString(make([]byte, 32))}, []string{"FW001", "sha256 declares 0000"}},
	} {
		if said := mustPlan(t, w.Workspace(), asks(c.attrs)).Diags.Errors(); len(said.Find(c.says...)) != 1 || kept() != 0 {
			t.Errorf("%s: %d files kept\n%s", name, kept(), said)
		}
	}
	ws, cfg := w.Workspace(), asks(map[string]any{"psid": card.PSIDVPI, "version": "2.42.5000"})
	mustApply(t, ws, cfg)
	if got := w.Run(labs.Intel9, "sha256sum /var/lib/terraform-provider-infiniband/images/*"); !bytes.Contains([]byte(got),
		[]byte(hex.EncodeToString(sum[:]))) {
		t.Errorf("on the host: %s", got)
	}
	before := asked
	if plan := cleanPlan(t, ws, cfg); len(plan.Actions()) > 0 || asked != before || kept() != 1 {
		t.Errorf("%v, %d requests, %d files kept", plan.Actions(), asked-before, kept())
	}
	for name, want := range map[string]string{"psid": card.PSIDEN, "version": "2.36.5000"} {
		said := mustPlan(t, ws, asks(map[string]any{name: want})).Diags.Errors()
		if len(said.Find("FW016", "declared "+want)) != 1 {
			t.Errorf("%s:\n%s", name, said)
		}
	}
}

// TestCatalog_says_what_is_behind reads a catalogue, brings the card to what it says, and then has
// nothing that is behind.
func TestCatalog_says_what_is_behind(t *testing.T) {
	t.Parallel()
	w := startLaterChip(t, controlled(cx4(), card.FlagControlled), nil)
	newer := controlledCX4(card.PSIDCX4, [3]uint16{12, 28, 4706})
	sum := sha256.Sum256(newer)
	image := w.file("fw.bin", newer)
	list := w.file("firmware.json", []byte(`{"images": [{"psid": "`+card.PSIDCX4+`", "version": "12.28.4706", "sha256": "`+
		hex.EncodeToString(sum[:])+`", "source": `+strconv.Quote(image)+`, "boards": ["MCX455A-ECAT"]}]}`))
	ws := w.Workspace()
	behind := func(version string) map[string]any {
		read, diags, err := ws.Data(t.Context(), "infiniband_firmware_catalog", map[string]any{"file": list,
			"cards": map[string]any{"cx4": map[string]any{"psid": card.PSIDCX4, "version": version}}})
		if err != nil || diags.HasError() {
			t.Fatalf("%v\n%s", err, diags)
		}
		updates, _ := field(t, read, "updates").(map[string]any)
		return updates
	}
	one, is := behind("12.28.2006")["cx4"].(map[string]any)
	if !is || one["version"] != "12.28.4706" || one["from_version"] != "12.28.2006" {
		t.Fatalf("behind: %v", one)
	}
	cfg := w.laterConfig(newer, nil).With("infiniband_firmware_image.it", map[string]any{"source": one["source"],
		"sha256": one["sha256"], "psid": one["psid"], "version": one["version"]})
	mustApply(t, ws, cfg)
	if got := w.Card("cx4").Running().Version; got != [3]uint16{12, 28, 4706} {
		t.Errorf("runs %v", got)
	}
	if left := behind("12.28.4706"); len(left) > 0 {
		t.Errorf("still behind: %v", left)
	}
}
