package acctest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
)

func fileCase(code, at string, source func(*Lab) string, says ...string) findingCase {
	return findingCase{code: code, at: at, says: says,
		config: func(w *Lab) Config { return w.burn(labs.Intel9, source(w), nil) }}
}

func imageFile(name string) func(*Lab) string { return func(w *Lab) string { return w.Image(name) } }

func writtenFile(name string, data func(*Lab) []byte) func(*Lab) string {
	return func(w *Lab) string { return w.file(name, data(w)) }
}

// fs5 is an image of the format that ConnectX-8 uses, as far as its first bytes go.
func fs5(w *Lab) []byte {
	w.t.Helper()
	data, err := synth.FS4(synth.TOCOptions{PSID: "MT_9000000008"})
	if err != nil {
		w.t.Fatal(err)
	}
	data[0x10] = 2
	return data
}

func imageFindings() []findingCase {
	built := func(change func(*card.Spec)) func(*Lab) string {
		return writtenFile("built.bin", func(*Lab) []byte { return spec(change) })
	}
	return []findingCase{
		fileCase("FW001", "source", func(*Lab) string { return "/nowhere/fw.bin" }, "/nowhere/fw.bin", "no such file"),
		fileCase("FW003", "source", imageFile(ImageShort), "truncated", fmt.Sprintf("0x%x", len(card.TruncatedVPI()))),
		fileCase("FW003", "source", imageFile(ImageCorrupt), "CRC"),
		fileCase("FW004", "source", writtenFile("fw.zip", func(*Lab) []byte { return []byte("PK\x03\x04 and more") }),
			"zip archive", "Unpack"),
		{code: "FW005", at: "sha256", says: []string{strings.Repeat("0", 64)}, config: func(w *Lab) Config {
			return w.burn(labs.Intel9, w.Image(ImageVPI), nil).With("infiniband_firmware_image.it",
				map[string]any{"sha256": strings.Repeat("0", 64)})
		}},
		{code: "FW006", at: "source", says: []string{"raw dump", "`ri`"},
			// A small image that was burned once lies in the second slot.
			prepare: func(w *Lab) { w.write(labs.Intel9, card.VPI()) },
			config: func(w *Lab) Config {
				return w.burn(labs.Intel9, w.file("dump.bin", w.Card(labs.Intel9).Flash.Dump()), nil)
			}},
		{code: "FW016", at: "psid", says: []string{"psid is " + card.PSIDVPI + ", declared " + card.PSIDEN},
			config: func(w *Lab) Config {
				return w.burn(labs.Intel9, w.Image(ImageVPI), nil).With("infiniband_firmware_image.it",
					map[string]any{"psid": card.PSIDEN})
			}},
		{code: "FW091", at: "image_id", hosts: func() []labs.Host { return boughtHost() }, says: []string{"approved.sha256"},
			provider: func(p map[string]any) {
				list := filepath.Join(filepath.Dir(p["backup_dir"].(string)), "approved.sha256")
				if err := os.WriteFile(list, []byte("# none yet\n"+strings.Repeat("ab", 32)+"  other.bin\n"), 0o600); err != nil {
					panic(err)
				}
				p["approved_images"] = list
			},
			config: func(w *Lab) Config { return w.burn(labs.Intel9, w.Image(ImageVPI), nil) }},
		{code: "FW007", at: "image_id", hosts: func() []labs.Host { return boughtHost() }, says: []string{"-nofs"},
			config: func(w *Lab) Config {
				return w.burn(labs.Intel9, w.Image(ImageNoFS), nil)
			}},
		fileCase("FW009", "source", built(noPSID), "PSID"),
		fileCase("FW010", "source", writtenFile("fs5.bin", fs5), "FS5"),
		fileCase("FW011", "source", built(func(s *card.Spec) { s.HWIDs = []uint32{} }), "which chips"),
		fileCase("FW012", "source", writtenFile("odd.bin", func(*Lab) []byte { return malformedImage() }), "0x"),
		// A dump of a flash that was burned once at the factory and never again: the
		// image in it is whole, and nothing but its length tells it from a file.
		{code: "FW015", at: "source", hosts: func() []labs.Host { return vpi(image(spec(func(*card.Spec) {}))) },
			says: []string{"may be a raw dump whose second slot is erased"},
			config: func(w *Lab) Config {
				return w.burn(labs.Intel9, w.file("padded.bin", w.Card(labs.Intel9).Flash.Dump()),
					Allow("psid_change", nil))
			}},
	}
}

// noPSID makes an image that is of no board, and for no chip that exists.
func noPSID(s *card.Spec) { s.PSID, s.HWIDs = "", []uint32{0xfff} }

// malformedImage is an image whose signature is there three times.
func malformedImage() []byte {
	b := make([]byte, 0x40000)
	for _, at := range []int{0, 0x10000, 0x20000} {
		copy(b[at:], card.VPI()[:0x40])
	}
	return b
}

func matchFindings() []findingCase {
	boughtHosts := func() []labs.Host { return boughtHost() }
	without := Allow("psid_change", nil)
	return []findingCase{
		{code: "FW008", at: "card_id", says: []string{"failsafe"},
			hosts:  func() []labs.Host { return boughtHost(image(card.NonFailsafeVPI())) },
			config: func(w *Lab) Config { return w.burn(labs.Intel9, w.Image(ImageOldVPI), nil) }},
		{code: "FW020", at: "image_id", hosts: boughtHosts, says: []string{"ConnectX-3 Pro", "0x1f7", "0x1f5"},
			config: func(w *Lab) Config { return w.burn(labs.Intel9, w.Image(ImageCX3), nil) }},
		{code: "FW021", at: "image_id", hosts: boughtHosts, says: []string{"rev"}, config: func(w *Lab) Config {
			return w.burn(labs.Intel9, w.file("rev.bin", spec(func(s *card.Spec) { s.HWIDs = []uint32{0x101f7} })), nil)
		}},
		{code: "FW022", at: "card_id", hosts: boughtHosts, says: []string{"hw query"},
			prepare: func(w *Lab) { w.mstflintSays(labs.Intel9, "hw query", "-E- Cannot open the device\n", 1) },
			config:  func(w *Lab) Config { return w.burn(labs.Intel9, w.Image(ImageVPI), nil) }},
		{code: "FW023", at: "allow", hosts: boughtHosts,
			says: []string{card.PSIDEN, card.PSIDVPI,
				`psid_change = { from = "` + card.PSIDEN + `", to = "` + card.PSIDVPI + `" }`},
			config: func(w *Lab) Config { return w.burn(labs.Intel9, w.Image(ImageVPI), without) }},
		{code: "FW023", at: "allow", hosts: boughtHosts,
			says: []string{`allow.psid_change.from is "` + card.PSIDOther, `from = "` + card.PSIDEN},
			config: func(w *Lab) Config {
				return w.burn(labs.Intel9, w.Image(ImageVPI),
					Allow("psid_change", map[string]any{"from": card.PSIDOther, "to": card.PSIDVPI}))
			}},
		{code: "FW025", at: "card_id", hosts: func() []labs.Host { return boughtHost(image(spec(noPSID))) },
			says: []string{"PSID"}, config: func(w *Lab) Config { return w.burn(labs.Intel9, w.Image(ImageVPI), nil) }},
		{code: "FW026", at: "allow",
			says:   []string{"2.42.5000", "2.36.5000", `downgrade = { from = "2.42.5000", to = "2.36.5000" }`},
			config: func(w *Lab) Config { return w.burn(labs.Intel9, w.Image(ImageOldVPI), without) }},
		{code: "FW026", at: "allow", says: []string{`allow.downgrade.from is "2.41.0001"`},
			config: func(w *Lab) Config {
				return w.burn(labs.Intel9, w.Image(ImageOldVPI),
					Allow("downgrade", map[string]any{"from": "2.41.0001", "to": "2.36.5000"}))
			}},
		{code: "FW028", at: "allow", says: []string{`reinstall = "2.42.5000"`, "checksum"},
			config: func(w *Lab) Config {
				return w.burn(labs.Intel9, w.file("other.bin", spec(func(s *card.Spec) { s.Code = 0x4000 })), without)
			}},
		{code: "FW028", at: "allow", says: []string{`allow.reinstall is "2.41.0001"`}, config: func(w *Lab) Config {
			return w.burn(labs.Intel9, w.file("other.bin", spec(func(s *card.Spec) { s.Code = 0x4000 })),
				Allow("reinstall", "2.41.0001"))
		}},
		{code: "FW035", at: "allow", hosts: oldBranch,
			says: []string{"2.1100.6630, of branch 0", "2.1202.1000, of branch 2",
				`branch_change = { from = "2.1100.6630", to = "2.1202.1000" }`},
			config: func(w *Lab) Config { return w.burn(labs.Intel9, w.file("branch.bin", otherBranch()), without) }},
		{code: "FW035", at: "allow", hosts: oldBranch,
			says: []string{`allow.branch_change.to is "2.1201.1000"`}, config: func(w *Lab) Config {
				return w.burn(labs.Intel9, w.file("branch.bin", otherBranch()), without).
					With("infiniband_firmware.it",
						Allow("branch_change", map[string]any{"from": "2.1100.6630", "to": "2.1201.1000"}))
			}},
		{code: "FW023", at: "allow", hosts: boughtHosts,
			says: []string{"allow.psid_change names another card or image", `allow.psid_change.card is "MT0000X00000"`},
			config: func(w *Lab) Config {
				return w.burn(labs.Intel9, w.Image(ImageVPI), Allow("psid_change", map[string]any{"from": card.PSIDEN,
					"to": card.PSIDVPI, "card": "MT0000X00000"}))
			}},
		{code: "FW070", at: "boot_rom", says: []string{"In flash: PXE 3.4.752. In the image: PXE 3.4.900.", "only if the image has none"},
			config: func(w *Lab) Config {
				return w.burn(labs.Intel9, w.file("rom.bin", nextVPI(func(s *card.Spec) { s.ROMSub = 900 })),
					map[string]any{"boot_rom": "keep"})
			}},
		{code: "FW071", at: "image_id", hosts: func() []labs.Host { return []labs.Host{cx4()} },
			says: []string{"In flash: PXE 3.4.752. In the image: none."},
			config: func(w *Lab) Config {
				s := card.CX4Spec(card.PSIDCX4, [3]uint16{12, 28, 4706})
				s.NoROM = true
				return w.laterConfig(card.BuildTOC(s), nil)
			}},
		{code: "FW023", at: "allow", hosts: func() []labs.Host { return boughtHost(image(oem())) },
			says:   []string{"HPE", "Mellanox"},
			config: func(w *Lab) Config { return w.burn(labs.Intel9, w.Image(ImageVPI), without) }},
	}
}

// oldBranch is a card with firmware whose version states a branch.
func oldBranch() []labs.Host {
	return vpi(image(spec(func(s *card.Spec) { s.Version = [3]uint16{2, 1100, 6630} })))
}

func otherBranch() []byte {
	return spec(func(s *card.Spec) { s.Version = [3]uint16{2, 1202, 1000} })
}

// oem is firmware of another company's board.
func oem() []byte {
	return spec(func(s *card.Spec) { s.PSID, s.Version = "HP_9090111019", [3]uint16{2, 40, 0} })
}

func cardFindings() []findingCase {
	plain := func(w *Lab) Config { return w.burn(labs.Intel9, w.Image(ImageVPI), nil) }
	older := func(w *Lab) Config { return w.burn(labs.Intel9, w.Image(ImageOldVPI), nil) }
	version := func(v string) func() []labs.Host {
		return func() []labs.Host { return boughtHost(func(h *labs.Host) { h.MstflintVersion = v }) }
	}
	cx9 := card.Chip{Name: "ConnectX-9", Family: "MT99999 Family [ConnectX-9]", HWID: 0x1f7, PCIDevice: 0x1fff,
		Recovery: 0x01f8}
	return append(laterFindings(), []findingCase{
		{code: "FW040", at: "card_id",
			hosts: func() []labs.Host { return boughtHost(func(h *labs.Host) { h.Cards[0].Chip = cx9 }) },
			says:  []string{"15b3:1fff"}, config: plain, tolerate: true},
		{code: "FW041", at: "card_id", hosts: func() []labs.Host { return boughtHost() }, says: []string{"recovery"},
			prepare: func(w *Lab) { w.brick(labs.Intel9) }, config: plain},
		{code: "FW042", at: "card_id", hosts: func() []labs.Host { return boughtHost() }, says: []string{"secure-fw"},
			config: plain, prepare: func(w *Lab) {
				w.mstflintEdits(labs.Intel9, " q", func(s string) string { return s + "Security Attributes:   secure-fw\n" })
			}},
		{code: "FW043", at: "card_id", says: []string{"Bad CRC"}, config: older, prepare: func(w *Lab) {
			w.mstflintSays(labs.Intel9, "0000:01:00.0 v",
				"-E- FW image verification failed: Bad CRC.. AN HCA DEVICE CAN NOT BOOT FROM THIS IMAGE.\n", 1)
		}},
		{code: "FW044", at: "card_id", says: []string{"Cannot open"}, config: older,
			prepare: func(w *Lab) { w.mstflintSays(labs.Intel9, " q", "-E- Cannot open 0000:01:00.0\n", 1) }},
		{code: "FW045", at: "card_id", hosts: func() []labs.Host { return boughtHost() },
			says: []string{"In flash: " + card.PSIDVPI, "Running: " + card.PSIDEN}, config: older,
			prepare: func(w *Lab) { w.write(labs.Intel9, card.VPI()) }},
		{code: "FW063", at: "activation", hosts: func() []labs.Host { return boughtHost() },
			says: []string{"Bad CRC", "Do not restart the host", "Refusing a restart",
				"nothing is to be burned"}, config: plain, prepare: func(w *Lab) {
				w.write(labs.Intel9, card.VPI()) // it waits for a restart
				w.mstflintSays(labs.Intel9, "0000:01:00.0 v",
					"-E- FW image verification failed: Bad CRC.. AN HCA DEVICE CAN NOT BOOT FROM THIS IMAGE.\n", 1)
			}},
		{code: "FW046", at: "card_id", says: []string{"0x0000000000000000"}, config: older, hosts: func() []labs.Host {
			return vpi(func(h *labs.Host) { h.Cards[0].GUIDs = [4]uint64{} })
		}},
		{code: "FW047", at: "card_id", says: []string{"blank"}, config: older, prepare: func(w *Lab) {
			w.mstflintEdits(labs.Intel9, " q", blank)
		}},
		{code: "FW049", at: "card_id", says: []string{"xeon2zfs"}, config: older, hosts: func() []labs.Host {
			return vpi(func(h *labs.Host) { h.Cards[0].MACs = labs.TwoHosts()[1].Cards[0].MACs })
		}},
		{code: "FW051", at: "card_id", hosts: version("none"), says: []string{"mstflint"}, config: plain},
		{code: "FW052", at: "card_id", hosts: version("4.30.0"), says: []string{"4.30.0", "4.25"}, config: plain},
		{code: "FW054", at: "card_id", says: []string{"virtual function"}, config: plain, prepare: func(w *Lab) {
			w.Machine(labs.Intel9).FS.Put("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/physfn", "", 0o444)
		}},
		{code: "FW054", at: "card_id", says: []string{"function 1"}, config: plain,
			hosts: func() []labs.Host { return boughtHost(func(h *labs.Host) { h.Cards[0].BDF = "0000:01:00.1" }) }},
		{code: "FW055", at: "card_id", says: []string{"Driver: none", "2.40.5032"}, config: plain, hosts: func() []labs.Host { return boughtHost() },
			prepare: func(w *Lab) { w.unbind(labs.Intel9) }},
		{code: "FW056", at: "card_id", says: []string{"verif"}, config: older,
			prepare: func(w *Lab) { w.mstflintSays(labs.Intel9, "0000:01:00.0 v", "", 139) }},
		{code: "FW057", at: "card_id", hosts: version("4.29.0"), says: []string{"4.29.0"}, config: plain},
	}...)
}

// blank makes the answer of a query look as that of a card whose GUIDs and MACs
// were never written.
func blank(s string) string {
	return s + "-W- GUIDs/MACs values and their CRC are not set.\n"
}

// write burns an image past everything, as somebody else would.
func (w *Lab) write(host string, data []byte) {
	w.t.Helper()
	if err := w.Card(host).Write(data, func(int) error { return nil }); err != nil {
		w.t.Fatal(err)
	}
}

// unbind takes the drivers away from a host's cards.
func (w *Lab) unbind(host string) {
	w.t.Helper()
	m := w.Machine(host)
	for _, name := range []string{"ib_ipoib", "ib_umad", "mlx4_ib", "mlx4_en", "mlx4_core"} {
		if !m.ModuleLoaded(name) {
			continue
		}
		if err := m.UnloadModule(name); err != nil {
			w.t.Fatalf("unload %s on %s: %v", name, host, err)
		}
	}
}

// brick erases the flash of a host's card and restarts the host.
func (w *Lab) brick(host string) {
	w.t.Helper()
	for at := range uint32(card.FlashSize / card.SectorSize) {
		if err := w.Card(host).Flash.Erase(at * card.SectorSize); err != nil {
			w.t.Fatal(err)
		}
	}
	w.Restart(host)
}

func hostFindings() []findingCase {
	older := func(w *Lab) Config {
		return w.burn(labs.Intel9, w.Image(ImageOldVPI),
			map[string]any{"allow": map[string]any{"psid_change": nil, "downgrade": map[string]any{"from": "2.42.5000", "to": "2.36.5000"}}})
	}
	plain := func(w *Lab) Config { return w.burn(labs.Intel9, w.Image(ImageVPI), nil) }
	host := func(change func(map[string]any)) func(map[string]any) {
		return func(p map[string]any) { change(entry(p, labs.Intel9)) }
	}
	return []findingCase{
		{code: "HO001", at: "allow", hosts: func() []labs.Host { return boughtHost() },
			says: []string{"enp1s0", `management_path = ["enp1s0`}, config: plain,
			prepare: func(w *Lab) { w.rides(labs.Intel9) }},
		{code: "HO002", at: "allow", hosts: func() []labs.Host { return boughtHost() }, says: []string{"enp1s0"},
			config: plain,
			prepare: func(w *Lab) {
				w.Run(labs.Intel9, "ip addr add 198.51.100.2/24 dev enp1s0 && ip link set dev enp1s0 up && ip route replace default via 198.51.100.1 dev enp1s0")
			}},
		{code: "HO003", says: []string{"integrity"}, config: older, prepare: func(w *Lab) {
			w.Machine(labs.Intel9).FS.Put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n", 0o644)
		}},
		{code: "HO004", moving: true, says: []string{"0000:01:00.0"}, hosts: func() []labs.Host { return vpi(anotherCard) },
			prepare: func(w *Lab) { w.busy(labs.Intel9, older(w)) },
			config: func(w *Lab) Config {
				return older(w).With("infiniband_firmware.it", map[string]any{"card_id": "intel9/0000:02:00.0"})
			}},
		{code: "HO006", says: []string{"MiB"}, config: older, prepare: func(w *Lab) {
			if err := w.Machine(labs.Intel9).FS.SetQuota("/var", 4<<20); err != nil {
				w.t.Fatal(err)
			}
		}},
		{code: "HO007", at: "activation", says: []string{"reboot = { allowed = true }"}, config: older,
			provider: host(func(h map[string]any) { delete(h, "reboot") })},
		{code: "HO008", says: []string{`mode = "observe"`, "a copy of the firmware is kept there"},
			config: func(w *Lab) Config {
				return Config{{Type: "infiniband_firmware_backup", Name: "it", Attrs: map[string]any{
					"card_id": labs.Intel9 + "/" + w.PCI(labs.Intel9)}}}
			}, provider: host(func(h map[string]any) { h["mode"] = "observe" })},
		{code: "FW090", at: "flash_version", says: []string{"The flash holds ", "The configuration says "},
			config: func(w *Lab) Config {
				return Config{{Type: "infiniband_firmware", Name: "it", Attrs: map[string]any{
					"card_id": labs.Intel9 + "/" + w.PCI(labs.Intel9), "flash_version": "2.36.5000"}}}
			}},
		{code: "HO030", says: []string{"Two infiniband_firmware resources are for intel9/0000:01:00.0", "terraform state rm"},
			config: func(w *Lab) Config {
				cfg := plain(w)
				second := cfg[1].With(nil)
				second.Name = "other"
				return append(cfg, second)
			}},
		{code: "HO032", says: []string{"Hosts intel9 and nas of the provider are one machine", "terraform state rm"},
			config:   plain,
			provider: func(p map[string]any) { alias(p, labs.Intel9, "nas") },
			hosts:    func() []labs.Host { return vpi(image(spec(func(s *card.Spec) { s.Version = [3]uint16{2, 36, 5000} }))) }},
		{code: "HO009", says: []string{"subnet manager"}, config: older, prepare: func(w *Lab) {
			drivers(w)
			w.Manage(labs.Intel9, 1)
		}},
		{code: "HO010", says: []string{"flock"}, config: older,
			prepare: func(w *Lab) { w.Machine(labs.Intel9).Uninstall("/usr/bin/flock") }, tolerate: true},
		{code: "HO011", at: "activation", says: []string{"restart"}, config: func(w *Lab) Config {
			return older(w).With("infiniband_firmware.it", map[string]any{"activation": nil})
		}},
		{code: "BK010", says: []string{"/dev/null/backups: not a directory", "set another backup_dir"}, config: older,
			provider: func(p map[string]any) { p["backup_dir"] = "/dev/null/backups" }},
		{code: "BK002", says: []string{"backup_dir"}, config: older,
			provider: func(p map[string]any) { delete(p, "backup_dir") }},
	}
}

// entry is a host's entry of a provider configuration.
func entry(provider map[string]any, host string) map[string]any {
	hosts, _ := provider["hosts"].(map[string]any)
	one, _ := hosts[host].(map[string]any)
	return one
}

// rides makes the SSH sessions to a host use its card.
func (w *Lab) rides(host string) {
	w.t.Helper()
	w.edits(host, "/usr/sbin/ip", " get ",
		func(s string) string { return strings.ReplaceAll(s, "dev eno1", "dev enp1s0") })
}

// busy starts a burn that goes on until the test ends.
func (w *Lab) busy(host string, cfg Config) {
	w.t.Helper()
	m := w.Machine(host)
	m.Faults.Set(labsim.FaultSpec{FlashSlow: 50 * time.Millisecond})
	ws := w.Workspace()
	ws.Ended = func() {}
	plan, err := ws.Plan(context.Background(), cfg)
	if err != nil || plan.Diags.HasError() {
		w.t.Fatalf("%v\n%s", err, plan.Diags)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = ws.Apply(context.Background(), plan)
	}()
	cleanup, _ := w.t.(interface{ Cleanup(func()) })
	cleanup.Cleanup(func() {
		m.Faults.Clear()
		<-done
	})
	w.await(host, "burning")
}

// await waits until a job of a host has reached a state.
func (w *Lab) await(host, state string) {
	w.t.Helper()
	for range 2000 {
		if bytes.Contains([]byte(w.states(host)), []byte(state)) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatalf("no job of %s reached %q; their states:\n%s", host, state, w.states(host))
}

// states gives the states of all jobs of a host.
func (w *Lab) states(host string) string {
	out, _ := w.Try(host, "cat /var/lib/terraform-provider-infiniband/jobs/*/states 2>/dev/null")
	return out
}
