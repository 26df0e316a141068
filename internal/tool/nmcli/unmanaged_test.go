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
		"except:type:wifi":                   "yes", // the same as with "*"
		"except:type:infiniband":             "no",
		"except:type:wifi,except:driver:mlx5_core":    "unknown",
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

// The man page, "Sections": top-down in a file, [device] last, until one has the value.
func TestManagedBy(t *testing.T) {
	const other, ours = "match-device=interface-name:eth0\n", "match-device=interface-name:ibp1s0\n"
	for text, want := range map[string]string{
		"": "silent",
		"[main]\nmanaged=0\n[keyfile]\nmanaged=0\n":                                    "silent",
		"[device]\nmanaged=0\n":                                                        "no, by device",
		"[device]\nmanaged = false\n":                                                  "no, by device",
		"[device]\nmanaged=1\n":                                                        "yes, by device",
		"[device]\nmanaged=maybe\n":                                                    "unknown, by device",
		"[device]\n" + other + "managed=0\n":                                           "silent",
		"[device-ib]\n" + ours + "managed=no\n":                                        "no, by device-ib",
		"[device]\nmanaged=0\n[device-ib]\n" + ours + "managed=1\n":                    "yes, by device-ib",
		"[device-1]\nmanaged=0\n[device-2]\nmanaged=1\n":                               "no, by device-1",
		"[device-ib]\n" + ours + "carrier-wait-timeout=1\n[device]\nmanaged=0\n":       "no, by device",
		"[device-ib]\n" + ours + "stop-match=yes\n[device]\nmanaged=0\n":               "yes, by device-ib",
		"[device-ib]\n" + other + "stop-match=yes\n[device]\nmanaged=0\n":              "no, by device",
		"[device-ib]\nmatch-device=driver:mlx5_core\nmanaged=0\n":                      "unknown, by device-ib",
		"[device-ib]\nmatch-device=driver:mlx5_core\nmanaged=1\n[device]\nmanaged=1\n": "yes, by device",
	} {
		managed, section := ManagedBy(text, Device{Name: "ibp1s0"})
		got := "silent"
		if section != "" {
			yes, known := managed.Get()
			got = map[bool]map[bool]string{true: {true: "yes", false: "no"}, false: {false: "unknown"}}[known][yes] + ", by " + section
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
