package provider

import (
	"strings"
	"testing"
)

func TestAddressProblem(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"nas": "", "nas.lab": "", "192.0.2.10": "", "2001:db8::10": "", "fe80::1%eth0": "", "my_alias": "",
		"127.0.0.1:22":      `The address contains a port: "127.0.0.1:22". Write address = "127.0.0.1" and port = 22.`,
		"nas:2222":          `Write address = "nas" and port = 2222.`,
		"[2001:db8::10]:22": `Write address = "2001:db8::10" and port = 22.`,
		"[2001:db8::10]":    `Write address = "2001:db8::10".`,
		"ops@nas":           `Write user = "ops" and address = "nas".`,
		"ssh://nas/":        `The address is a URL: "ssh://nas/". Write the name alone: address = "nas".`,
		"nas lab":           "a blank, a slash or a control character",
		"nas\x1b[31m":       `control character: "nas?[31m"`,
	} {
		if got := addressProblem(address); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%q: %q, expected %q", address, got, want)
		}
	}
}
