package nmcli

import (
	"slices"
	"strings"
	"testing"
)

// The man page of NetworkManager.conf: the order of files, and files of one name.
func TestConfs(t *testing.T) {
	got := Confs([]string{"/etc/NetworkManager/conf.d/20.conf", MainConf, "/etc/NetworkManager/conf.d/10-lab.conf",
		"/run/NetworkManager/conf.d/10-globally-managed-devices.conf", "/etc/fstab", "/etc/NetworkManager/conf.d/old.bak",
		"/usr/lib/NetworkManager/conf.d/10-globally-managed-devices.conf", "/usr/lib/NetworkManager/conf.d/20-a.conf"})
	want := []string{"/usr/lib/NetworkManager/conf.d/20-a.conf", "/run/NetworkManager/conf.d/10-globally-managed-devices.conf",
		MainConf, "/etc/NetworkManager/conf.d/10-lab.conf", "/etc/NetworkManager/conf.d/20.conf"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestAddUnmanaged(t *testing.T) {
	for text, want := range map[string]string{
		"[keyfile]\nunmanaged-devices = interface-name:ib0; type:wifi,\n":             "interface-name:ib0 type:wifi",
		"[keyfile]\nunmanaged-devices+=*\n":                                           "a b *",
		"[keyfile]\nunmanaged-devices-=a\n":                                           "b",
		"[main]\nunmanaged-devices=*\n":                                               "a b silent",
		"# unmanaged-devices=*\n[keyfile]\n#unmanaged-devices=*\nunmanaged-devices\n": "a b silent",
		"[keyfile]\nunmanaged-devices=\n":                                             "",
	} {
		got, says := AddUnmanaged([]string{"a", "b"}, text)
		if !says {
			got = append(got, "silent")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestLists(t *testing.T) {
	const hardware = "80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e4:4e:d1"
	for list, want := range map[string]string{
		"":                                   "no",
		"*":                                  "yes",
		"*,except:type:wifi,except:type:gsm": "yes",
		"*,except:type:infiniband":           "no",
		"except:interface-name:ib*,type:infiniband":   "no",
		"interface-name:ibp*":                         "yes",
		"interface-name:=ibp*":                        "no",
		"interface-name:~ibp?s0":                      "yes",
		"interface-name:=ibp1s0":                      "yes",
		"interface-name:eth0;mac:52:54:00:12:34:56":   "no",
		"mac:" + strings.ToUpper(hardware):            "yes",
		hardware:                                      "yes",
		"ibp1s0":                                      "yes",
		"driver:veth":                                 "no",
		"driver:*":                                    "yes",
		"driver:mlx*":                                 "unknown",
		"driver:mlx4_core/1.2,except:type:infiniband": "no",
		"s390-subchannels:0.0.09a0":                   "no",
	} {
		has, got := Lists(specs(list), Device{Name: "ibp1s0", Hardware: hardware}), "unknown"
		if yes, known := has.Get(); known {
			got = map[bool]string{true: "yes", false: "no"}[yes]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", list, got, want)
		}
	}
}
