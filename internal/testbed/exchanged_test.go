//go:build testbed && linux

package testbed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/image"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// beforeJob is a host on which something happens after the last verdict: right before
// the flash job is started.
type beforeJob struct {
	*hosts.Host
	happens func()
}

func (h *beforeJob) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	if cmd.Argv()[0] == "start-flash-job" && h.happens != nil {
		h.happens()
		h.happens = nil
	}
	return h.Host.Run(ctx, cmd)
}

// TestExchanged_card_between_verdict_and_job puts an equal card of another serial number
// into the slot after the last verdict. The job, which runs the real lspci and mstflint,
// refuses before the first byte.
func TestExchanged_card_between_verdict_and_job(t *testing.T) {
	t.Parallel()
	board := Board{Product: "ConnectX-3 Pro", PartNumber: "MCX354A-FCCT", SerialNumber: "MT9999X00001"}
	b := start(t, HostConfig{Name: "exchanged", Card: secondHand(), Board: board})
	box, inventoried := b.Hosts["exchanged"], open(t, b, "exchanged")
	s := snapshot(t, inventoried)
	p, err := platform.Of(s)
	if err != nil {
		t.Fatal(err)
	}
	pci := ib.MustParsePCIAddress(DefaultBDF)
	found, ok := s.Card(pci)
	if !ok || found.Serial.Or("") != board.SerialNumber {
		t.Fatalf("card %+v", found)
	}
	ops := hca.New(cards.Config{BackupDir: filepath.Join(t.TempDir(), "backups"), Operator: "test",
		Poll: 200 * time.Millisecond})
	data := imageVPI()
	hash := sha256.Sum256(data)
	sum := hex.EncodeToString(hash[:])
	if err = image.Stage(t.Context(), inventoried, bytes.NewReader(data), int64(len(data)), sum); err != nil {
		t.Fatal(err)
	}
	img, err := fwimage.Parse(bytes.NewReader(data), int64(len(data)))
	c := cards.On(inventoried, pci, p, true, reboot.Policy{Timeout: time.Minute, Poll: time.Second})
	c.Recorded = s.Identity(found).Record()

	other := secondHand()
	model, badCard := card.New(other)
	if badCard != nil {
		t.Fatal(badCard)
	}
	c.Host = &beforeJob{Host: inventoried, happens: func() {
		board.SerialNumber = "MT9999X00002"
		box.Device.Board = board
		box.Device.Insert(model)
	}}
	_, err = ops.ApplyFirmware(t.Context(), hca.Firmware{
		Card: c, Image: image.Facts("vpi.bin", sum, "", int64(len(data)), img, err), Request: safety.FirmwareRequest{
			Consents: safety.Consents{PSIDChange: &safety.Change[ib.PSID]{From: card.PSIDEN, To: card.PSIDVPI}},
		},
	})
	var refused *safety.RefusedError
	if !errors.As(err, &refused) || refused.Findings[0].Rule != finding.CardExchanged ||
		!strings.Contains(refused.Error(), "MT9999X00002") {
		t.Errorf("the other card is not refused: %v", err)
	}
	if n := model.Flash.Operations(); n != 0 {
		t.Errorf("%d operations on the flash of the other card", n)
	}
}
