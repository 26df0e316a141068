package secret

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
)

// planted are the secrets of the corpus. They stand there as they are, and in other forms.
var planted = regexp.MustCompile(`PLANT[A-Za-z0-9!&+/ "-]*TNALP`)

// bare are secrets of the corpus that their form or their place gives away, without the word.
var bare = []string{"ghp_0123456789abcdefABCDEF0123456789abcd", "AKIAIOSFODNN7EXAMPLE",
	"aWdub3JlIHRoaXMgS2V5IDEyMzQ1Njc4OTAxMjM0NTY=",
	"0x00000000c0ffee01", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ", "$6$rounds=5000$salt$Qk9PSzEyMzQ",
	"NetOfTheMillers",
	"deadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef", "AAAAC3NzaC1lZDI1NTE5AAAAIJ",
	"xoxb-123456789012-abcdef", "0x00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100",
	"68:75:6e:74:65:72:32:00", "68:75:6e:74:65:72:32:01",
	"UExBTlRjaWZzVE5BTFA", "504c414e5463696673544e414c50"}

func TestLearn_takes_planted_secrets_out(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/planted.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	secrets := append(planted.FindAllString(text, -1), bare...)
	if len(secrets) < 30 {
		t.Fatalf("the corpus has %d secrets only", len(secrets))
	}
	for _, s := range bare {
		if !strings.Contains(text, s) {
			t.Errorf("the corpus lacks %s", s)
		}
	}
	r := New()
	got := r.Clean(r.Learn(text))
	for _, s := range secrets {
		if strings.Contains(got, s) {
			t.Errorf("%s is left:\n%s", s, around(got, s))
		}
	}
	if got != r.Clean(r.Learn(got)) {
		t.Error("what is clean changes once more")
	}
	for _, kept := range []string{"ifname=eno1", "dhcp4: true", "m_key_lease_period 0", "sa_key 0x0000000000000001",
		"PSID:                  MT_9200111023", "pkey 0x8001",
		"/lib/modules/6.8.0/kernel/drivers/net/ethernet/mellanox/mlx4/mlx4_core.ko.zst",
		"mtu: 2044", "sm_priority 14", "card_identity=serial:MT1234X00001", "addresses: [172.16.0.20/24]",
		`"anonstats_token": ""`} {
		if !strings.Contains(text, kept) || !strings.Contains(got, kept) {
			t.Errorf("%q is no secret and was taken out, or is not in the corpus", kept)
		}
	}
}

func around(text, s string) string {
	i := strings.Index(text, s)
	return text[max(0, i-80):min(len(text), i+len(s)+20)]
}

// A secret stands in other texts, too, and other programs write it in other forms.
func TestClean_finds_a_secret_in_every_form(t *testing.T) {
	t.Parallel()
	const value = `p&ss "w0rd'/+~`
	r := New()
	r.Learn("|      password: '" + strings.ReplaceAll(value, "'", "") + "'\n|password=\"plain1\"\n")
	r = New()
	r.remember(value)
	for name, form := range map[string]string{
		"as it is": value, "hex": hex.EncodeToString([]byte(value)),
		"HEX":  strings.ToUpper(hex.EncodeToString([]byte(value))),
		"JSON": `p\u0026ss \"w0rd'/+~`, "query": url.QueryEscape(value), "path": url.PathEscape(value),
		"shell":    `p&ss "w0rd'\''/+~`,
		"base64":   base64.StdEncoding.EncodeToString([]byte(value)),
		"of a URL": base64.RawURLEncoding.EncodeToString([]byte(value)),
		"basic":    base64.StdEncoding.EncodeToString([]byte("user:" + value)),
		"moved":    base64.StdEncoding.EncodeToString([]byte("ab" + value + "z")),
	} {
		text := "before " + form + " behind"
		if err := r.Check("x", text); err == nil || !strings.Contains(err.Error(), "x still holds a secret in line 1") {
			t.Errorf("%s is not found: %v", name, err)
		}
		if got := r.Clean(text); !strings.Contains(got, Removed) || r.Check("x", got) != nil {
			t.Errorf("%s: %s", name, got)
		}
	}
	if err := r.Check("x", "nothing"); err != nil {
		t.Error(err)
	}
}

// What may be a number or a word of the system is taken out where it is a secret, and stays where it is none.
func TestLearn_leaves_words_and_numbers_of_others(t *testing.T) {
	t.Parallel()
	const text = "|m_key 0x1234\n|password: ubuntu\n|ID=ubuntu\n=/device\t0x1234\n|psk=00000000\n|GUID 0x0000000000000001\n" +
		"|token=0123456789ab\n|again 0123456789ab\n"
	const want = "|m_key (removed)\n|password: (removed)\n|ID=ubuntu\n=/device\t0x1234\n|psk=(removed)\n" +
		"|GUID 0x0000000000000001\n|token=(removed)\n|again (removed)\n"
	r := New()
	if got := r.Clean(r.Learn(text)); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func FuzzLearn(f *testing.F) {
	f.Add("password: x\n  y\n")
	f.Add("-----BEGIN PRIVATE KEY-----\nabc")
	f.Fuzz(func(t *testing.T, text string) {
		r := New()
		if got := r.Clean(r.Learn("|password=Zq9Zq9Zq9Zq9\n" + text)); strings.Contains(got, "Zq9Zq9Zq9Zq9") {
			t.Errorf("a secret is left in %q", got)
		}
	})
}
