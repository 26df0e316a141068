package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// workspace is one configuration with the providers it uses.
type workspace struct {
	dir, engine string
	overrides   map[string]string // program by provider name
}

// figure is what one plan costs.
type figure struct{ seconds, megabytes float64 }

func (w *workspace) write(text string) error {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return err
	}
	// Development overrides need no init and no lock file.
	var rc strings.Builder
	rc.WriteString("provider_installation {\n  dev_overrides {\n")
	for name, program := range w.overrides {
		at := filepath.Join(w.dir, name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := os.Symlink(program, filepath.Join(at, "terraform-provider-"+name)); err != nil {
			return err
		}
		for _, registry := range []string{"registry.terraform.io", "registry.opentofu.org"} {
			fmt.Fprintf(&rc, "    %q = %q\n", registry+"/ibfabric/"+name, at)
		}
	}
	rc.WriteString("  }\n  direct {}\n}\n")
	if err := os.WriteFile(filepath.Join(w.dir, "rc"), []byte(rc.String()), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte(text), 0o600)
}

// run runs the engine and watches the memory of the providers that it starts.
func (w *workspace) run(ctx context.Context, args ...string) (figure, error) {
	cmd := exec.CommandContext(ctx, w.engine, append(args, "-no-color", "-input=false")...)
	cmd.Dir = w.dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "TF_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+filepath.Join(w.dir, "rc"), "CHECKPOINT_DISABLE=1")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return figure{}, err
	}
	stop, peak := make(chan struct{}), make(chan float64)
	go func() { peak <- watch(cmd.Process.Pid, stop) }()
	err := cmd.Wait()
	took := time.Since(began)
	close(stop)
	most := <-peak
	if err != nil {
		return figure{}, fmt.Errorf("%s: %w\n%s", args[0], err, out.String())
	}
	if args[0] == "plan" && !strings.Contains(out.String(), "No changes.") {
		return figure{}, fmt.Errorf("the plan is not empty:\n%s", out.String())
	}
	return figure{seconds: took.Seconds(), megabytes: most}, nil
}

// watch gives the highest resident size, in MB, that any child of the engine
// reached. The kernel keeps that mark itself (VmHWM), so a coarse poll is enough.
func watch(engine int, stop <-chan struct{}) float64 {
	most := 0.0
	for {
		select {
		case <-stop:
			return most
		case <-time.After(100 * time.Millisecond):
		}
		statuses, err := filepath.Glob("/proc/[0-9]*/status")
		if err != nil {
			return most
		}
		for _, file := range statuses {
			data, err := os.ReadFile(file)
			if err != nil {
				continue // it has ended
			}
			text := string(data)
			if field(text, "PPid:") == float64(engine) {
				most = max(most, field(text, "VmHWM:")/1024)
			}
		}
	}
}

// field gives the number after a key of /proc/PID/status.
func field(status, key string) float64 {
	_, rest, found := strings.Cut(status, "\n"+key)
	words := strings.Fields(rest)
	if !found || len(words) == 0 {
		return -1
	}
	n, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		return -1
	}
	return n
}

// repeated gives the medians of several plans after one that does not count.
func (b *suite) repeated(ctx context.Context, w *workspace) (figure, error) {
	a, _, err := b.paired(ctx, w, nil)
	return a, err
}

// paired plans two workspaces in turn, so that both see the same machine.
func (b *suite) paired(ctx context.Context, w, other *workspace) (figure, figure, error) {
	var a, z []figure
	for range b.runs + 1 {
		f, err := w.run(ctx, "plan")
		if err != nil {
			return figure{}, figure{}, err
		}
		a = append(a, f)
		if other == nil {
			continue
		}
		if f, err = other.run(ctx, "plan"); err != nil {
			return figure{}, figure{}, err
		}
		z = append(z, f)
	}
	return median(a), median(z), nil
}

func median(all []figure) figure {
	if len(all) < 2 {
		return figure{}
	}
	all = all[1:] // the first one warms the caches
	var s, m []float64
	for _, f := range all {
		s, m = append(s, f.seconds), append(m, f.megabytes)
	}
	slices.Sort(s)
	slices.Sort(m)
	return figure{seconds: s[len(s)/2], megabytes: m[len(m)/2]}
}

// floorConfiguration has the shape of fleetConfiguration: as many blocks, with
// for_each, each referring to the one before. The references matter: for each
// of them the engine builds the value of all instances of the other block.
func floorConfiguration(hosts int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `terraform {
  required_providers {
    floor = { source = "ibfabric/floor" }
  }
}
locals {
  hosts = toset([for i in range(%d) : "host${i}"])
}
`, hosts)
	for i := range resourcesPerHost {
		host := "each.key"
		if i > 0 {
			host = fmt.Sprintf("floor_thing.r%d[each.key].host", i-1)
		}
		fmt.Fprintf(&b, "resource \"floor_thing\" \"r%d\" {\n  for_each = local.hosts\n  host     = %s\n}\n", i, host)
	}
	return b.String()
}

// fleetConfiguration gives every host the seven kinds of resources.
func fleetConfiguration(lab *labs.Lab) string {
	var hosts, cards strings.Builder
	for i, m := range lab.Machines() {
		s := lab.Servers[m.Name]
		fmt.Fprintf(&hosts, "    %q = { address = %q, port = %d, user = %q }\n", m.Name, s.Addr.IP, s.Addr.Port, lab.User(m.Name))
		mac := labs.MAC(i)
		fmt.Fprintf(&cards, "    %q = { pci = %q, mac = %q, address = \"172.16.%d.%d/24\" }\n", m.Name, m.Config.Cards[0].BDF, mac, i/250, i%250+1)
	}
	image := lab.Images["fw-ConnectX3Pro-vpi.bin"]
	return fmt.Sprintf(fleetTemplate, lab.KeyFile(), lab.KnownHostsFile(), hosts.String(), cards.String(), image.Path, image.SHA256)
}

const fleetTemplate = `terraform {
  required_providers {
    infiniband = { source = "ibfabric/infiniband" }
  }
}
provider "infiniband" {
  backup_dir = "${path.root}/backups"
  ssh = {
    private_key_file  = %q
    known_hosts_files = [%q]
    config_file       = "none"
    use_agent         = false
  }
  hosts = {
%s  }
}
locals {
  cards = {
%s  }
}
resource "infiniband_card" "card" {
  for_each    = local.cards
  host        = each.key
  pci_address = each.value.pci
}
resource "infiniband_firmware_image" "vpi" {
  for_each = local.cards
  host     = each.key
  source   = %q
  sha256   = %q
}
resource "infiniband_firmware" "card" {
  for_each = local.cards
  card_id  = infiniband_card.card[each.key].id
  image_id = infiniband_firmware_image.vpi[each.key].id
}
resource "infiniband_guids" "card" {
  for_each   = local.cards
  card_id    = infiniband_card.card[each.key].id
  base_mac   = each.value.mac
  depends_on = [infiniband_firmware.card]
}
resource "infiniband_link_type" "card" {
  for_each   = local.cards
  card_id    = infiniband_card.card[each.key].id
  ports      = { "1" = "ib", "2" = "ib" }
  depends_on = [infiniband_guids.card]
}
resource "infiniband_opensm" "sm" {
  for_each   = local.cards
  host       = each.key
  port_guid  = infiniband_guids.card[each.key].port_guids[0]
  priority   = 1
  depends_on = [infiniband_link_type.card]
}
resource "infiniband_ipoib_interface" "ib" {
  for_each   = local.cards
  host       = each.key
  port_guid  = infiniband_guids.card[each.key].port_guids[0]
  mode       = "connected"
  mtu        = 9000
  addresses  = [each.value.address]
  depends_on = [infiniband_opensm.sm]
}
`
