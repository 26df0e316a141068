//go:build testbed && linux

package testbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// operator is the machine that runs Terraform, next to one host.
type operator struct {
	t       *testing.T
	testbed *Testbed
	box     *Host
	dir     string
	work    *acctest.Workspace
}

func newOperator(t *testing.T, name string, c card.Config) *operator {
	t.Helper()
	o := &operator{t: t, dir: t.TempDir()}
	o.testbed = start(t, HostConfig{Name: name, Card: c})
	o.box = o.testbed.Hosts[name]
	o.work = o.workspace()
	return o
}

func (o *operator) workspace() *acctest.Workspace {
	return acctest.NewWorkspace(acctest.InProcess, map[string]any{
		"backup_dir": filepath.Join(o.dir, "backups"),
		"ssh": map[string]any{
			"private_key_file": o.testbed.KeyFile(), "known_hosts_files": []string{o.testbed.KnownHostsFile()}, "config_file": "none",
			"use_agent": false, "user": User,
		},
		"hosts": map[string]any{o.box.Name: map[string]any{"address": o.box.Addr,
			"reboot": map[string]any{"allowed": true, "timeout": "1m"}}},
	})
}

// file writes an image to the operator's disk and gives path and hash.
func (o *operator) file(name string, data []byte) (path, sum string) {
	o.t.Helper()
	path = filepath.Join(o.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		o.t.Fatal(err)
	}
	hash := sha256.Sum256(data)
	return path, hex.EncodeToString(hash[:])
}

// addresses of the resources of config.
const (
	cardAddress     = "infiniband_card.it"
	imageAddress    = "infiniband_firmware_image.it"
	firmwareAddress = "infiniband_firmware.it"
	guidsAddress    = "infiniband_guids.it"
)

// firmware is the configuration of a card with an image.
func (o *operator) firmware(name string, data []byte, more map[string]any) acctest.Config {
	path, sum := o.file(name, data)
	cfg := acctest.Config{
		{Type: "infiniband_card", Name: "it", Attrs: map[string]any{"host": o.box.Name, "pci_address": o.box.BDF}},
		{Type: "infiniband_firmware_image", Name: "it",
			Attrs: map[string]any{"host": o.box.Name, "source": path, "sha256": sum}},
		{Type: "infiniband_firmware", Name: "it", Attrs: map[string]any{
			"card_id": acctest.To(cardAddress, "id"), "image_id": acctest.To(imageAddress, "id"), "activation": "reboot",
		}},
	}
	return cfg.With(firmwareAddress, more)
}

// crossFlashTo is the main job's firmware half with an image of one's own.
func (o *operator) crossFlashTo(vpi []byte) acctest.Config {
	cfg := o.firmware("vpi.bin", vpi,
		acctest.Allow("psid_change", map[string]any{"from": card.PSIDEN, "to": card.PSIDVPI}))
	return append(cfg, acctest.Resource{Type: "infiniband_guids", Name: "it", After: []string{firmwareAddress},
		Attrs: map[string]any{
			"card_id": acctest.To(cardAddress, "id"), "base_mac": "e4:1d:2d:e4:4e:d0", "activation": "reboot",
		}})
}

// context bounds one walk. It takes seconds, on processors that do nothing else.
func (o *operator) context() context.Context {
	ctx, cancel := context.WithTimeout(o.t.Context(), 10*time.Minute)
	o.t.Cleanup(cancel)
	return ctx
}

func (o *operator) plan(cfg acctest.Config) *acctest.Plan {
	o.t.Helper()
	plan, err := o.work.Plan(o.context(), cfg)
	if err != nil || len(plan.Broken) > 0 {
		o.t.Fatalf("plan: %v %v", err, plan)
	}
	return plan
}

// apply plans and applies; the errors of both are given.
func (o *operator) apply(cfg acctest.Config) acctest.Diags {
	o.t.Helper()
	plan := o.plan(cfg)
	if plan.Diags.HasError() {
		return plan.Diags.Errors()
	}
	diags, err := o.work.Apply(o.context(), plan)
	if err != nil {
		o.t.Fatalf("apply: %v", err)
	}
	return diags.Errors()
}

func (o *operator) mustApply(cfg acctest.Config) {
	o.t.Helper()
	begin := time.Now()
	if errs := o.apply(cfg); errs.HasError() {
		o.t.Fatalf("apply:\n%s\nconsole:\n%s", errs, lastLines(o.box.Console(), 20))
	}
	o.t.Logf("applied in %s", time.Since(begin).Round(time.Millisecond))
}

func (o *operator) nothingToDo(cfg acctest.Config) {
	o.t.Helper()
	plan := o.plan(cfg)
	if plan.Diags.HasError() {
		o.t.Errorf("plan:\n%s", plan.Diags.Errors())
	}
	if actions := plan.Actions(); len(actions) > 0 {
		o.t.Errorf("there is something to do still: %v", actions)
	}
}

var macs = [2]uint64{baseMAC, baseMAC + 1}

// backups gives the images in the operator's backups whose PSID is wanted.
func (o *operator) backups(psid string) []string {
	o.t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(o.dir, "backups"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".bin" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		img, err := card.Parse(data)
		if err == nil && img.Verify() == nil && img.PSID == psid {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		o.t.Errorf("look for backups: %v", err)
	}
	return found
}
