package acctest

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/truenas"
)

// boardFindings are about the board that card and image name.
func boardFindings() []findingCase {
	part := func(number string) func() []labs.Host {
		return func() []labs.Host { return boughtHost(func(h *labs.Host) { h.Cards[0].PartNumber = number }) }
	}
	board := func(w *Lab) Config {
		return w.burn(labs.Intel9, w.file("board.bin", spec(func(s *card.Spec) { s.PRS = "cx3pro-1_MCX354A_FCC.prs" })), nil)
	}
	sealed := writtenFile("sealed.bin", func(w *Lab) []byte {
		data, err := synth.FS4(synth.TOCOptions{PSID: "MT_9000000008", NoTable: true})
		if err != nil {
			w.t.Fatal(err)
		}
		return data
	})
	return []findingCase{
		fileCase("FW014", "source", sealed, "encrypted"),
		{code: "FW033", at: "image_id", hosts: part("MCX314A-BCCT"),
			says: []string{"MCX314A-BCCT", "cx3pro-1_MCX354A_FCC.prs"}, config: board},
	}
}

// listening is the kernel's table of a host that serves NFS to one client.
const listening = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
	"   0: 00000000:0801 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 20123 1 0 100 0 0 10 0\n" +
	"   1: 0A0200C0:0801 1E0200C0:02BC 01 00000000:00000000 02:000AF0C8 00000000     0        0 20200 2 0 20 4 30 10 -1\n"

// aroundFindings are about what else a change of the card or a restart takes away.
func aroundFindings() []findingCase {
	const nas = labs.Xeon2zfs
	bare := func() []labs.Host { return boughtHost() }
	both := labs.TwoHosts
	on := func(host string) func(*Lab) Config {
		return func(w *Lab) Config { return w.burn(host, w.Image(ImageVPI), nil) }
	}
	return []findingCase{
		{code: "HO012", at: "allow", hosts: bare,
			says: []string{"nas:/tank on /mnt/tank", "enp1s0", `management_path = ["enp1s0"]`}, config: on(labs.Intel9),
			prepare: func(w *Lab) {
				w.Run(labs.Intel9, "ip addr add 198.51.100.2/24 dev enp1s0 && ip link set dev enp1s0 up")
				w.Machine(labs.Intel9).FS.Put("/proc/mounts",
					"/dev/sda2 / ext4 rw 0 0\nnas:/tank /mnt/tank nfs4 rw,vers=4.2,addr=198.51.100.9 0 0\n", 0o444)
			}},
		{code: "HO012", at: "allow", hosts: bare,
			says: []string{"lustre 198.51.100.8@tcp:198.51.100.9@tcp:/lfs on /mnt/lfs", "uses enp1s0"}, config: on(labs.Intel9),
			prepare: func(w *Lab) {
				w.Run(labs.Intel9, "ip addr add 198.51.100.2/24 dev enp1s0 && ip link set dev enp1s0 up")
				w.Machine(labs.Intel9).FS.Put("/proc/mounts",
					"/dev/sda2 / ext4 rw 0 0\n198.51.100.8@tcp:198.51.100.9@tcp:/lfs /mnt/lfs lustre rw,flock 0 0\n", 0o444)
			}},
		{code: "HO013", at: "activation", hosts: both, says: []string{"NFS (clients connected: 1)", `interrupts = ["NFS"]`}, config: on(nas),
			prepare: func(w *Lab) { w.Machine(nas).FS.Put("/proc/net/tcp", listening, 0o444) }},
		{code: "HO014", at: "activation", hosts: both, says: []string{"tank", "resilver"}, config: on(nas),
			prepare: func(w *Lab) { truenas.SetScan(w.Machine(nas), truenas.ScanResilver) }},
		{code: "HO015", hosts: both, says: []string{"OB LB"}, config: on(nas),
			prepare: func(w *Lab) { truenas.SetUPS(w.Machine(nas), "OB LB") }},
		{code: "HO045", at: "card_id", hosts: bare,
			says: []string{"busy: mstflint -d 0000:01:00.0 -i /root/by-hand.bin b, pid ",
				"user root, since "}, config: on(labs.Intel9),
			prepare: func(w *Lab) { w.byHand(labs.Intel9) }},
		{code: "HO050", hosts: bare, says: []string{"Drained since 2026-01-02 03:04:05 UTC.", "    systemctl start a\n    systemctl start b\n"},
			config: on(labs.Intel9), prepare: func(w *Lab) {
				w.Machine(labs.Intel9).FS.Put(inventory.OwedNote, "2026-01-02 03:04:05 UTC\nsystemctl start a\nsystemctl start b\n", 0o600)
			}},
		{code: "HO050", says: []string{"    systemctl start a\n"}, config: func(*Lab) Config { return Config{activation(labs.Intel9)} },
			prepare: func(w *Lab) {
				w.Machine(labs.Intel9).FS.Put(inventory.OwedNote, "2026-01-02 03:04:05 UTC\nsystemctl start a\n", 0o600)
			}},
		{code: "HO050", says: []string{"Drained since 2026-01-02 03:04:05 UTC."}, config: wants(labs.Intel9, nil), prepare: func(w *Lab) {
			drivers(w)
			w.Machine(labs.Intel9).FS.Put(inventory.OwedNote, "2026-01-02 03:04:05 UTC\nsystemctl start a\n", 0o600)
		}},
		{code: "HO017", hosts: bare, says: []string{"journal is of version 2", "started by eve",
			"/jobs/20200101T000000Z-0000-01-00-0-ffff/settled"}, config: on(labs.Intel9),
			prepare: func(w *Lab) { w.journalOfOtherVersion(labs.Intel9, "2") }},
		{code: "HO016", at: "activation", hosts: bare, says: []string{"kubelet.service", "drain_commands"},
			config: on(labs.Intel9), prepare: func(w *Lab) {
				w.Machine(labs.Intel9).FS.Put("/etc/systemd/system/kubelet.service",
					"[Unit]\nDescription=kubelet\n[Service]\nExecStart=/usr/bin/sleep 100000\n", 0o644)
				w.Run(labs.Intel9, "systemctl daemon-reload && systemctl start kubelet.service")
			}},
	}
}

// byHand lets somebody burn the card with the vendor's tool, for as long as the test runs.
func (w *Lab) byHand(host string) {
	m := w.Machine(host)
	m.Faults.Trap("by-hand.bin", 1, labsim.ProgramFault{Hang: true})
	m.Spawn(&labsim.Proc{Args: []string{"mstflint", "-d", "0000:01:00.0", "-i", "/root/by-hand.bin", "b"}, User: "root"})
}

// journalOfOtherVersion leaves a job that another version of the provider has begun.
func (w *Lab) journalOfOtherVersion(host, version string) {
	dir, files := "/var/lib/terraform-provider-infiniband/jobs/20200101T000000Z-0000-01-00-0-ffff", w.Machine(host).FS
	files.PutDir(dir, 0o700, 0, 0)
	files.Put(dir+"/request", fmt.Sprintf("version=%s\njob=20200101T000000Z-0000-01-00-0-ffff\nkind=burn\npci=0000:01:00.0\noperator=eve\n", version), 0o600)
	files.Put(dir+"/states", "1 requested 2020-01-01T00:00:00Z\n", 0o600)
}
