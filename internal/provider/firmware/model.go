package firmware

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/bootrom"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/rollback"
)

const notKnownYet = "the card, the image or a consent comes from something that does not exist yet"

// What a destroy does with the card.
const (
	destroyKeep    = "keep"
	destroyRestore = "restore"
)

type model struct {
	ID           types.String      `tfsdk:"id"`
	CardID       attribute.CardID  `tfsdk:"card_id"`
	CardIdentity types.String      `tfsdk:"card_identity"`
	ImageID      attribute.ImageID `tfsdk:"image_id"`
	RollbackID   attribute.ImageID `tfsdk:"rollback_image_id"`
	Allow        types.Object      `tfsdk:"allow"`
	AllowedPath  types.List        `tfsdk:"allowed_management_path"`
	Activation   types.String      `tfsdk:"activation"`
	BootROM      types.String      `tfsdk:"boot_rom"`
	OnDestroy    types.String      `tfsdk:"on_destroy"`
	Timeouts     timeouts.Value    `tfsdk:"timeouts"`
	attribute.Restart

	ImageSHA256    types.String      `tfsdk:"image_sha256"`
	ImagePSID      attribute.PSID    `tfsdk:"image_psid"`
	ImageVersion   attribute.Version `tfsdk:"image_version"`
	ImageBootROM   types.String      `tfsdk:"image_boot_rom"`
	FlashBootROM   types.String      `tfsdk:"flash_boot_rom"`
	Change         types.String      `tfsdk:"change"`
	FlashPSID      attribute.PSID    `tfsdk:"flash_psid"`
	FlashVersion   attribute.Version `tfsdk:"flash_version"`
	RunningPSID    attribute.PSID    `tfsdk:"running_psid"`
	RunningVersion attribute.Version `tfsdk:"running_version"`
	RebootRequired types.Bool        `tfsdk:"reboot_required"`
	BackupPath     types.String      `tfsdk:"backup_path"`
	OriginalBackup types.String      `tfsdk:"original_backup_path"`
}

// holds reports whether the configuration has no image. An image that is not known yet
// is one.
func (m *model) holds() bool { return m.ImageID.IsNull() }

// known reports whether everything that the verdict needs is known.
func (m *model) known() bool {
	return attribute.Known(m.CardID, m.ImageID, m.RollbackID, m.Allow, m.Activation, m.BootROM)
}

// request reads what is asked and consented to. m must be the configuration, with the
// activation's default applied: a plan or a state holds no consents.
func (m *model) request() (safety.FirmwareRequest, error) {
	req := safety.FirmwareRequest{Activation: safety.Activation(m.Activation.ValueString()),
		BootROM: bootrom.Choice(m.BootROM.ValueString())}
	given := attribute.ConsentsOf(m.Allow)
	req.OtherBoard = given.Text("other_board")
	req.Reinstall, req.UnprovenFlash = given.Text("reinstall"), given.Text(attribute.UnprovenFlash)
	req.ManagementPath, req.AfterFailure = given.Names(attribute.ManagementPath), given.Names("after_failure")
	uncopied := given.Part("without_copy")
	req.WithoutCopy = rollback.Consent{Card: uncopied.Text("card"), Rollback: uncopied.Text("rollback_sha256"),
		Image: uncopied.Text("image_sha256")}
	cross := given.Part("psid_change")
	req.PSIDChangeOf = safety.CrossFlash{Card: cross.Text("card"), Image: cross.Text("image_sha256")}
	var errs [3]error
	req.PSIDChange, errs[0] = pair(given, "psid_change", func(s string) (ib.PSID, error) { return ib.PSID(s), nil })
	req.Downgrade, errs[1] = pair(given, "downgrade", ib.ParseFWVersion)
	req.Branch, errs[2] = pair(given, "branch_change", ib.ParseFWVersion)
	return req, errors.Join(errs[:]...)
}

// pair reads a consent to a change from one value to another; nil if it is not given.
func pair[T comparable](given attribute.Consents, key string,
	parse func(string) (T, error)) (*safety.Change[T], error) {
	c := given.Part(key)
	if len(c) == 0 {
		return nil, nil //nolint:nilnil // not given, and that is no error
	}
	from, err := parse(c.Text("from"))
	to, errTo := parse(c.Text("to"))
	if err = cmp.Or(err, errTo); err != nil {
		return nil, fmt.Errorf("%s.%s: %w", finding.Allow, key, err)
	}
	return &safety.Change[T]{From: from, To: to}, nil
}

// setImage fills what follows from the image.
func (m *model) setImage(img safety.ImageFacts) {
	m.ImageSHA256 = types.StringValue(img.SHA256)
	m.ImagePSID = attribute.PSIDText(img.PSID)
	m.ImageVersion = attribute.VersionText(img.FW)
	m.ImageBootROM = types.StringValue(bootrom.Text(img.ROM))
}

// observe fills what was read back from the card.
func (m *model) observe(ref attribute.CardRef, s hca.FirmwareState) {
	m.ID = types.StringValue(ref.String())
	m.FlashPSID = attribute.PSIDText(s.Flash.PSID)
	m.FlashVersion = attribute.VersionText(s.Flash.FW)
	m.FlashBootROM = attribute.OrNull(s.BootROM)
	running, known := s.Running.Get()
	m.RunningPSID = attribute.PSIDText(running.PSID)
	m.RunningVersion = attribute.VersionText(running.FW)
	m.RebootRequired = types.BoolNull()
	if (known || s.Pending) && s.Flash.PSID != "" {
		m.RebootRequired = types.BoolValue(s.Pending)
	}
	if s.BackupPath != "" {
		m.BackupPath = types.StringValue(s.BackupPath)
	}
}

// open makes unknown what only the host can say after a change of the card.
func (m *model) open(change bool) {
	if !change {
		return
	}
	m.RunningPSID, m.RunningVersion = attribute.UnknownText[attribute.PSIDKind](),
		attribute.UnknownText[attribute.VersionKind]()
	m.RebootRequired, m.BackupPath, m.Change = types.BoolUnknown(), types.StringUnknown(), types.StringUnknown()
	m.FlashBootROM = types.StringUnknown()
	m.Restart = attribute.UnknownRestart()
	if m.OriginalBackup.IsNull() {
		m.OriginalBackup = types.StringUnknown()
	}
}

// has reports whether the state says that the flash has the image's PSID and version.
func (m *model) has(img safety.ImageFacts) bool {
	return m.FlashPSID.Same(attribute.PSIDText(img.PSID)) && m.FlashVersion.Same(attribute.VersionText(img.FW))
}

// flash is what the state says of the flash, "MT_… 2.42.5000"; empty if nothing.
func (m *model) flash() string {
	return strings.TrimSpace(m.FlashPSID.ValueString() + " " + m.FlashVersion.ValueString())
}

// sameImage reports whether the state is of this very image.
func (m *model) sameImage(img safety.ImageFacts) bool {
	return m.ImageSHA256.ValueString() == img.SHA256
}

// covers reports whether another image is no change: this very one or, if its content is in
// flash, one of the same PSID and version.
func (m *model) covers(img safety.ImageFacts, inFlash bool) bool {
	same := m.ImagePSID.Same(attribute.PSIDText(img.PSID)) && m.ImageVersion.Same(attribute.VersionText(img.FW))
	return m.sameImage(img) || same && inFlash
}

// settled reports whether the state says that nothing is to be done for an image. An
// image that the state does not name has to be stored.
func (m *model) settled(img safety.ImageFacts, plan model) bool {
	restart := m.RebootRequired.ValueBool() && plan.Activation.ValueString() == attribute.ActivationReboot
	return !m.holds() && m.has(img) && !restart
}

// followJournal takes over the last burn from the host's journal. An apply that failed after
// its burn, or was killed, has left the burn before in the state.
func (m *model) followJournal(now hca.FirmwareState) {
	has := filepath.Base(m.BackupPath.ValueString())
	if m.BackupPath.IsNull() || now.JobBackup == "" || has == filepath.Base(now.JobBackup) {
		return
	}
	m.BackupPath = types.StringValue(now.JobBackup)
	m.Change = types.StringValue(describe(now.JobBefore) + " -> " + describe(now.Flash))
}

// normalise gives what an import leaves null a value that a plan may keep.
func (m *model) normalise(ref attribute.CardRef, now hca.FirmwareState, imageSHA256 string) {
	imported := m.Activation.IsNull() // an apply has the default
	if imported {
		m.Activation = types.StringValue(attribute.ActivationNone)
	}
	if m.OnDestroy.IsNull() {
		m.OnDestroy = types.StringValue(destroyKeep)
	}
	if !imported {
		return
	}
	m.OriginalBackup = attribute.OrNull(now.JobBackup)
	if imageSHA256 == "" {
		return // it holds what the card has
	}
	m.ImageID = attribute.NewText[attribute.ImageIDKind](attribute.ImageRef{Host: ref.Host, SHA256: imageSHA256}.String())
	m.ImageSHA256 = types.StringValue(imageSHA256)
	m.ImagePSID, m.ImageVersion = m.FlashPSID, m.FlashVersion
}

const changesTo = " -> "

// changeText says what a burn does to what is in flash.
func changeText(flash string, img safety.ImageFacts) string {
	return flash + changesTo + describe(img.Firmware)
}

func describe(f ib.Firmware) string { return fmt.Sprintf("%s %s", f.PSID, f.FW) }

// keep takes over what a destroy will need and reports whether that changed
// anything. m is what the state holds.
func (m *model) keep(plan model) bool {
	before := *m
	m.OnDestroy, m.AllowedPath, m.Timeouts = plan.OnDestroy, plan.AllowedPath, plan.Timeouts
	m.RollbackID, m.BootROM = plan.RollbackID, plan.BootROM
	if plan.OnDestroy.ValueString() == destroyRestore {
		m.Activation = plan.Activation
	}
	return !m.OnDestroy.Equal(before.OnDestroy) || !m.Activation.Equal(before.Activation) ||
		!m.Timeouts.Equal(before.Timeouts) || !m.AllowedPath.Equal(before.AllowedPath) ||
		!m.RollbackID.Equal(before.RollbackID) || !m.BootROM.Equal(before.BootROM)
}

// follow stores the new place of a card that has moved. It reports whether that is all
// there is to do: by the state the card has the image. The state is older than the
// move, because a refresh does not read a card that is elsewhere; the next plan shows
// what the flash holds.
func (m *model) follow(ref attribute.CardRef, img safety.ImageFacts, plan model) bool {
	if m.CardID.Same(plan.CardID) || !m.sameImage(img) || !m.settled(img, plan) {
		return false
	}
	m.keep(plan)
	m.ID, m.CardID, m.ImageID = types.StringValue(ref.String()), plan.CardID, plan.ImageID
	return true
}
