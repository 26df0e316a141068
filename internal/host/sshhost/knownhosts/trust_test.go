package knownhosts

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// meet shows a key to the trust of a host called name, with the lists of like.
func meet(t *testing.T, like *Host, name string, port int, key ssh.PublicKey) error {
	t.Helper()
	judge, err := NewTrust(&Host{Address: net.JoinHostPort(name, strconv.Itoa(port)), Name: name, Files: like.Files,
		Policy: like.Policy, Record: like.Record})
	if err != nil {
		return err
	}
	return judge.Check("", nil, key)
}

func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func hashedName(name string) string {
	mac := hmac.New(sha1.New, []byte("salt"))
	_, _ = mac.Write([]byte(name))
	return "|1|" + base64.StdEncoding.EncodeToString([]byte("salt")) + "|" +
		base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// A host may be written in several ways. Under each, the key that is known of it
// counts, and another one is an impostor's.
func TestKnownHosts_one_host_in_many_spellings(t *testing.T) {
	key, impostor := newKey(t).PublicKey(), newKey(t).PublicKey()
	for _, tt := range []struct {
		listed string
		name   string
		port   int
	}{
		{"nas.lab", "NAS.lab", 22},
		{"NAS.lab", "nas.lab", 22},
		{"nas.lab", "nas.lab.", 22},
		{"nas.lab.", "nas.lab", 22},
		{"other,Nas.Lab", "NAS.LAB", 22},
		{"*.LAB", "nas.lab", 22},
		{"n?s.lab", "NAS.lab", 22},
		{"[NAS.lab]:2222", "nas.lab", 2222},
		{"[nas.lab]:2222", "NAS.LAB", 2222},
		{"[nas.lab]:22", "nas.lab", 22},
		{"2001:DB8::1", "2001:db8:0::1", 22},
		{"2001:db8::1", "2001:DB8::1", 22},
		{"[2001:db8::1]", "2001:db8::1", 22},
		{"[2001:DB8:0:0::1]:2222", "2001:db8::1", 2222},
		{hashedName("nas.lab"), "NAS.lab", 22},
		{hashedName("NAS.lab"), "NAS.lab", 22},
		{hashedName("[nas.lab]:2222"), "NAS.lab", 2222},
		{hashedName("2001:db8::1"), "2001:DB8::1", 22},
	} {
		t.Run(tt.listed+" as "+tt.name, func(t *testing.T) {
			dir := t.TempDir()
			known, record := filepath.Join(dir, "known"), filepath.Join(dir, "record")
			write(t, known, tt.listed+" "+string(ssh.MarshalAuthorizedKey(key)))
			cfg := &Host{Policy: AcceptNew, Files: []string{known}, Record: record}
			if err := meet(t, cfg, tt.name, tt.port, impostor); err == nil || !strings.Contains(err.Error(), "has changed") {
				t.Errorf("an impostor: %v", err)
			}
			if err := meet(t, cfg, tt.name, tt.port, key); err != nil {
				t.Errorf("the host itself: %v", err)
			}
			if text, err := os.ReadFile(record); err == nil {
				t.Errorf("recorded %q", text)
			}
		})
	}
}

func TestKnownHosts_a_name_that_is_not_meant(t *testing.T) {
	key := newKey(t).PublicKey()
	known := filepath.Join(t.TempDir(), "known")
	write(t, known, "*.lab,!nas.lab "+string(ssh.MarshalAuthorizedKey(key)))
	cfg := &Host{Files: []string{known}}
	if err := meet(t, cfg, "NAS.lab", 22, key); err == nil || !strings.Contains(err.Error(), "is not known") {
		t.Errorf("a name that is excluded: %v", err)
	}
	if err := meet(t, cfg, "other.lab", 22, key); err != nil {
		t.Error(err)
	}
	// As to ssh: a key without a port vouches for a host on another port, and another
	// key there is new.
	if err := meet(t, cfg, "other.lab", 2222, key); err != nil {
		t.Error(err)
	}
	if err := meet(t, cfg, "other.lab", 2222, newKey(t).PublicKey()); err == nil ||
		!strings.Contains(err.Error(), "is not known") {
		t.Errorf("a key of another port: %v", err)
	}
}

func TestAcceptNew_records_a_line_of_its_own(t *testing.T) {
	old, key := newKey(t).PublicKey(), newKey(t).PublicKey()
	record := filepath.Join(t.TempDir(), "record")
	first := strings.TrimSpace("a.lab " + string(ssh.MarshalAuthorizedKey(old)))
	write(t, record, first) // as an editor may leave it, without the last newline
	cfg := &Host{Policy: AcceptNew, Record: record}
	if err := meet(t, cfg, "NAS.lab", 22, key); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(record)
	if want := first + "\nnas.lab " + string(ssh.MarshalAuthorizedKey(key)); err != nil || string(got) != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
	for name, k := range map[string]ssh.PublicKey{"a.lab": old, "nas.lab": key} {
		if err := meet(t, cfg, name, 22, k); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two connections to a host that is new may read the list before either records.
func TestAcceptNew_of_two_keys_takes_the_first(t *testing.T) {
	h := &Host{Address: "nas.lab:22", Name: "nas.lab", Policy: AcceptNew, Record: filepath.Join(t.TempDir(), "record")}
	one, err := NewTrust(h)
	if err != nil {
		t.Fatal(err)
	}
	two, err := NewTrust(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Check("", nil, newKey(t).PublicKey()); err != nil {
		t.Fatal(err)
	}
	if err := two.Check("", nil, newKey(t).PublicKey()); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("got %v", err)
	}
}

// What cannot be read may know another key of the host.
func TestAcceptNew_with_a_list_that_cannot_be_read(t *testing.T) {
	dir := t.TempDir()
	cfg := &Host{Policy: AcceptNew, Files: []string{dir},
		Record: filepath.Join(dir, "record")}
	if err := meet(t, cfg, "nas.lab", 22, newKey(t).PublicKey()); err == nil ||
		!strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("got %v", err)
	}
}

// A line that ssh would pass over hides no other line. One that withdraws a key has to be understood.
func TestKnownHosts_lines_that_cannot_be_read(t *testing.T) {
	key, impostor := newKey(t).PublicKey(), newKey(t).PublicKey()
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	base64Key := strings.Fields(line)[1]
	for _, odd := range []string{
		"other.lab " + line + " root@other, in rack 7 (spare)",
		"other.lab ssh-mldsa-44 AAAADHNzaC1tbGRzYS00NAAAAAFh", // a type of tomorrow
		"other.lab ssh-ed25519 not-base64",
		"other.lab ecdsa-sha2-nistp256 " + base64Key,
		"other.lab ssh-ed25519",
		"other.lab 1024 35 14789436987649", // of SSH 1
		"@cert-authority *.other.lab ssh-mldsa-44 AAAADHNzaC1tbGRzYS00NAAAAAFh",
		"@marker nas.lab " + line,
	} {
		dir := t.TempDir()
		known, record := filepath.Join(dir, "known"), filepath.Join(dir, "record")
		write(t, known, odd+"\nnas.lab "+line+" two words\n")
		cfg := &Host{Policy: AcceptNew, Files: []string{known}, Record: record}
		if err := meet(t, cfg, "nas.lab", 22, key); err != nil {
			t.Errorf("%s: %v", odd, err)
		}
		if err := meet(t, cfg, "nas.lab", 22, impostor); err == nil || !strings.Contains(err.Error(), "has changed") {
			t.Errorf("%s: an impostor: %v", odd, err)
		}
		if err := meet(t, cfg, "third.lab", 22, impostor); err != nil {
			t.Errorf("%s: a host that is new: %v", odd, err)
		}
		write(t, known, "@revoked * ssh-mldsa-44 AAAADHNzaC1tbGRzYS00NAAAAAFh\nnas.lab "+line+"\n")
		if err := meet(t, cfg, "nas.lab", 22, key); err == nil || !strings.Contains(err.Error(), known+":1: ") {
			t.Errorf("a revocation that is not understood: %v", err)
		}
	}
}

// A host whose line cannot be read is not new: another key may be known of it.
func TestAcceptNew_with_a_line_that_cannot_be_read(t *testing.T) {
	for _, line := range []string{
		"nas.lab ssh-mldsa-44 AAAADHNzaC1tbGRzYS00NAAAAAFh",
		hashedName("nas.lab") + " ssh-ed25519 not-base64",
		"@cert-authority *.lab ssh-ed25519 not-base64",
	} {
		dir := t.TempDir()
		known, record := filepath.Join(dir, "known"), filepath.Join(dir, "record")
		write(t, known, "# mine\n"+line+"\n")
		cfg := &Host{Policy: AcceptNew, Files: []string{known}, Record: record}
		for _, port := range []int{22, 2222} {
			err := meet(t, cfg, "nas.lab", port, newKey(t).PublicKey())
			var bad *Error
			if !errors.As(err, &bad) || !strings.HasPrefix(bad.Problem, known+":2 names this host and cannot be read: ") ||
				!strings.Contains(bad.Advice, "Fix or remove that line") {
				t.Errorf("%s: %+v", line, err)
			}
		}
		if _, err := os.Stat(record); err == nil {
			t.Errorf("%s: the key was recorded", line)
		}
	}
}

// A line that was to withdraw a key is not passed over, and the message says what is wrong with it.
func TestReadKnownHosts_withdrawn(t *testing.T) {
	for line, want := range map[string]string{
		"@revoked[nas.lab]:2222 ssh-ed25519 AAAA": `"@revoked[nas.lab]:2222" is no marker: a blank is missing`,
		"@revoked nas.lab ssh-ed25519 no-key":     "the line withdraws a key that is not understood",
	} {
		file := filepath.Join(t.TempDir(), "known")
		write(t, file, line+"\n")
		if _, err := readKnownHosts([]string{file}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// What helps is said of what is wrong: a directory has no line to mend.
func TestListAdvice(t *testing.T) {
	dir := t.TempDir()
	broken, krl := filepath.Join(dir, "broken"), filepath.Join(dir, "krl")
	write(t, broken, "# mine\n@revoked nas.lab ssh-ed25519 no-key\n")
	write(t, krl, krlMagic+"cut")
	for _, tc := range []struct {
		h    *Host
		says string
	}{
		{&Host{Files: []string{dir}}, "Make " + dir + " a file that this user can read, or name another file."},
		{&Host{Files: []string{broken}}, "Fix or remove the line that is named."},
		{&Host{Revoked: dir}, "Make " + dir + " a file that this user can read"},
		{&Host{Revoked: broken}, "Fix or remove the line that is named."},
		{&Host{Revoked: krl}, "Make the list anew"},
	} {
		if _, err := NewTrust(tc.h); err == nil || !strings.Contains(ListAdvice(err), tc.says) {
			t.Errorf("%+v: %v", tc.h.Files, err)
		}
	}
}

func TestAuthority_is_not_passed_by_a_bare_key(t *testing.T) {
	ca := newKey(t).PublicKey()
	known := filepath.Join(t.TempDir(), "known")
	write(t, known, "@cert-authority *.lab "+string(ssh.MarshalAuthorizedKey(ca)))
	cfg := &Host{Policy: AcceptNew, Files: []string{known}, Record: known + "2"}
	for _, key := range []ssh.PublicKey{newKey(t).PublicKey(), ca} {
		if err := meet(t, cfg, "NAS.lab", 2222, key); err == nil || !strings.Contains(err.Error(), "without a certificate") {
			t.Errorf("got %v", err)
		}
	}
}

func ecdsaKey(t *testing.T) ssh.PublicKey {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(&priv.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestHostKeyAlgorithms_of_what_is_known(t *testing.T) {
	ed, ec := newKey(t).PublicKey(), ecdsaKey(t)
	list := knownList{
		{names: []string{"a"}, key: ec}, {names: []string{"[a]:2222"}, key: ed},
		{names: []string{"*.lab"}, key: ed, mark: markAuthority}, {names: []string{"b.lab"}, key: ec},
	}
	first := func(address string) string { return strings.Join(list.algorithms(address)[:1], "") }
	if got := list.algorithms("a:22"); len(got) != 1 || got[0] != ec.Type() {
		t.Errorf("got %v", got)
	}
	if got := list.algorithms("a:2222"); len(got) != 1 || got[0] != ed.Type() {
		t.Errorf("got %v", got)
	}
	if got := list.algorithms("a:2200"); len(got) < 3 || got[0] != ec.Type() {
		t.Errorf("known without a port, got %v", got)
	}
	if got := first("c.lab:2200"); !strings.Contains(got, "-cert-") {
		t.Errorf("of an authority, first %v", got)
	}
	if got := list.algorithms("b.lab:22"); got[len(got)-1] != ec.Type() {
		t.Errorf("of an authority and a key, got %v", got)
	}
	if got := list.algorithms("new:22"); got != nil {
		t.Errorf("of a new host, got %v", got)
	}
}

// revokedTestKeys are those that testdata/revoked.krl was made of, by name.
func revokedTestKeys(t *testing.T) map[string]ssh.PublicKey {
	t.Helper()
	rest, err := os.ReadFile(filepath.Join("testdata", "revoked.pub"))
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]ssh.PublicKey{}
	for len(rest) > 0 {
		var key ssh.PublicKey
		var name string
		if key, name, _, rest, err = ssh.ParseAuthorizedKey(rest); err != nil {
			t.Fatal(err)
		}
		keys[name] = key
	}
	return keys
}

// The list is one of ssh-keygen -k with every kind of entry that it writes.
func TestRevokedHostKeys_list_of_ssh_keygen(t *testing.T) {
	keys := revokedTestKeys(t)
	list, err := readRevoked(filepath.Join("testdata", "revoked.krl"))
	if err != nil {
		t.Fatal(err)
	}
	cert := func(authority ssh.PublicKey, serial uint64, id string) ssh.PublicKey {
		return &ssh.Certificate{Key: keys["h"], SignatureKey: authority, Serial: serial, KeyId: id,
			Signature: &ssh.Signature{}}
	}
	for name, tt := range map[string]struct {
		key  ssh.PublicKey
		want bool
	}{
		"a key": {keys["a"], true}, "a hash": {keys["b"], true}, "an old hash": {keys["c"], true},
		"another key": {keys["h"], false}, "the authority's": {keys["ca"], false},
		"one of some serials": {cert(keys["ca"], 5, ""), true}, "another of them": {cert(keys["ca"], 7, ""), true},
		"a serial alone": {cert(keys["ca"], 200, ""), true}, "a serial between": {cert(keys["ca"], 6, ""), false},
		"a range": {cert(keys["ca"], 2000, ""), true}, "beyond it": {cert(keys["ca"], 2001, ""), false},
		"no serial": {cert(keys["ca"], 0, ""), false}, "an id": {cert(keys["ca"], 9, "id9"), true},
		"of another authority": {cert(keys["h"], 5, ""), false}, "by a key that is revoked": {cert(keys["b"], 0, ""), true},
	} {
		if _, got := list.names(tt.key); got != tt.want {
			t.Errorf("%s: revoked %t, want %t", name, got, tt.want)
		}
	}
	whole, err := os.ReadFile(filepath.Join("testdata", "revoked.krl"))
	if err != nil {
		t.Fatal(err)
	}
	// Cut where no section ends, the list is refused and not read in part.
	refused := 0
	for n := len(krlMagic); n < len(whole); n++ {
		if (&revokedKeys{}).list(whole[:n]) != nil {
			refused++
		}
	}
	if cuts := len(whole) - len(krlMagic); refused < cuts-6 {
		t.Errorf("only %d of %d cut lists are refused", refused, cuts)
	}
	unknown := append(append([]byte(nil), whole...), 99, 0, 0, 0, 0)
	if (&revokedKeys{}).list(unknown) == nil {
		t.Error("a section that is not known passes")
	}
}

func TestHostKey_advice_fits(t *testing.T) {
	key := newKey(t).PublicKey()
	known := filepath.Join(t.TempDir(), "known_hosts")
	cfg := &Host{Files: []string{known}}
	advice := func(err error) string {
		t.Helper()
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("got %T %v", err, err)
		}
		return e.Advice
	}
	if got := advice(meet(t, cfg, "nas.lab", 22, key)); !strings.Contains(got, known+", which does not exist yet:") ||
		!strings.Contains(got, "accept-new") {
		t.Errorf("of a list that does not exist:\n%s", got)
	}
	write(t, known, "nas.lab "+string(ssh.MarshalAuthorizedKey(newKey(t).PublicKey())))
	got := advice(meet(t, cfg, "nas.lab", 22, key))
	if strings.Contains(got, "accept-new") || strings.Contains(got, "exist yet") {
		t.Errorf("of a key that changed, which no policy takes:\n%s", got)
	}
}
