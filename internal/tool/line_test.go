package tool

import (
	"strings"
	"testing"
)

func TestLineError_shows_no_password(t *testing.T) {
	for _, line := range []string{`|        password: "wlan-word"`, "psk=wlan-word", "wpa-psk wlan-word",
		"WEP-KEY0=wlan-word", "PrivateKey = wlan-word", "key-mgmt-passwd wlan-word"} {
		if got := Errorf(3, line, "want a state").Error(); strings.Contains(got, "wlan-word") ||
			!strings.HasPrefix(got, "line 3: want a state") {
			t.Errorf("got %s", got)
		}
	}
	if got, want := Errorf(3, "State: Sleeping",
		"want a state").Error(), `line 3: want a state: "State: Sleeping"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
