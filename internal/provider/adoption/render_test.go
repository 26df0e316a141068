package adoption

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIdentifier_isANameOfAResource(t *testing.T) {
	for host, want := range map[string]string{
		"intel9": "intel9", "nas.example.org": "nas_example_org", "192.0.2.7": "host_192_0_2_7", "a-b": "a-b",
		"fe80::1": "fe80__1", "-x": "host_-x", "\u00fcber": "_ber", "nas:2201": "nas_2201",
	} {
		if got := identifier(host); got != want {
			t.Errorf("%s is %s, want %s", host, got, want)
		}
	}
}

// Two objects of one name get names of their own, by their ports first.
func TestUnique_namesByPortThenByNumber(t *testing.T) {
	all := []*Object{
		{Type: smType, Name: "a", suffix: "_port1"}, {Type: smType, Name: "a", suffix: "_port2"},
		{Type: ipoibType, Name: "a", suffix: "_port1"},
		{Type: cardType, Name: "a_b"}, {Type: cardType, Name: "a_b"},
	}
	unique(all)
	var got []string
	for _, o := range all {
		got = append(got, o.Address())
	}
	want := []string{"infiniband_opensm.a_port1", "infiniband_opensm.a_port2", "infiniband_ipoib_interface.a",
		"infiniband_card.a_b", "infiniband_card.a_b_2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What comes from a host is text in every file: nothing of it is evaluated, and a comment
// does not end with its line.
func TestFiles_holdTextsOfHostsAsTexts(t *testing.T) {
	if got := Text("a\"${file(\"/etc/shadow\")}%{if true}\n"); got != `"a\"$${file(\"/etc/shadow\")}%%{if true}\n"` {
		t.Error(got)
	}
	if got := comment("first\nresource \"x\" \"y\" {}\n\n    line = 1"); got !=
		"# first\n# resource \"x\" \"y\" {}\n#\n#     line = 1\n" {
		t.Errorf("%q", got)
	}
	for text, want := range map[string]string{
		"a|b\n": "a&#124;b", "MT_1, 40 Gb/sec (4X)": "MT_1, 40 Gb/sec (4X)", "[x](https://evil)": "&#91;x&#93;&#40;https&#58;&#47;&#47;evil&#41;",
		"<img src=x>": "&#60;img src&#61;x&#62;", "@all": "&#64;all", "0000:01:00.0": "0000:01:00.0", "": "unknown",
	} {
		if got := cell(text); got != want {
			t.Errorf("%q is %q, expected %q", text, got, want)
		}
	}
}
