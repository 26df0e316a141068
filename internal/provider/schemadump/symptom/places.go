package symptom

import (
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// Place is a resource with the findings that it may show.
type Place struct {
	Resource string
	Rules    []*finding.Rule
}

// family gives the rules of one chapter of the catalogue.
func family(prefix string) []*finding.Rule {
	i := slices.IndexFunc(finding.Families, func(f finding.Family) bool { return f.Prefix == prefix })
	return finding.Families[i].Rules
}

// Rules that several resources show.
var (
	anyHost = []*finding.Rule{finding.HostObserved, finding.ManagedTwice, finding.HostHasTwoNames,
		finding.ChangedSincePlan}
	onHost   = append(slices.Clip(anyHost), finding.ResumeOwed) // objects of provider/managed
	identity = []*finding.Rule{finding.CardExchanged, finding.CardUndecided, finding.CardMoved,
		finding.CardWithoutSerialNumber, finding.CardUnsupported,
		finding.CardOtherFunction}
	images = []*finding.Rule{finding.ImageUnreadable, finding.ImageDamaged,
		finding.ImageNotFirmware, finding.ImageHashDiffers, finding.ImageIsRawDump, finding.ImageWithoutPSID,
		finding.ImageFormatUnsupported, finding.ImageWithoutHardwareID, finding.ImageMalformed,
		finding.ImageEncrypted, finding.ImageUnusual, finding.ImageNotAsDeclared}
	reading = []*finding.Rule{finding.CardInRecovery, finding.FlashDamaged, finding.FlashUnreadable,
		finding.FlashNotRunning, finding.FlashNotFailsafe, finding.FirmwareSecure, finding.MstflintMissing,
		finding.MstflintUnsuitable, finding.MstflintUnproven, finding.FlashUnverified, finding.RunningUnknown}
	backups     = []*finding.Rule{finding.BackupUnproven, finding.BackupDirNotSet, finding.BackupDirUnusable}
	stored      = []*finding.Rule{finding.BackupMissing, finding.BackupDamaged, finding.BackupOfOtherCard}
	inUse       = []*finding.Rule{finding.CardInUse}
	writesFiles = []*finding.Rule{finding.FileEdited, finding.FileUnmanaged, finding.FilesNotLasting}
	withPort    = []*finding.Rule{finding.KernelWithoutDriver, finding.KernelWithoutModule, finding.PackagesInstalled,
		finding.PackagesImpossible, finding.KernelModulesGone, finding.PortUnknown, finding.PortEthernet}
	needsModules = append(slices.Clip(withPort), finding.ModulesNotAtBoot)
)

// Places are the resources by name, with what they may show.
func Places() []Place {
	hosts := slices.DeleteFunc(slices.Clone(family("HO")), func(r *finding.Rule) bool {
		return slices.Contains(writesFiles, r) || r == finding.BurnFailedElsewhere
	})
	return []Place{
		{"infiniband_card", slices.Concat(anyHost, identity)},
		{"infiniband_firmware_image", slices.Concat(anyHost, images, []*finding.Rule{finding.HostWithoutSpace})},
		{"infiniband_firmware", slices.Concat(family("FW"), family("BK"), hosts,
			[]*finding.Rule{finding.BurnFailedElsewhere})},
		{"infiniband_firmware_backup", slices.Concat(anyHost, identity, reading, backups, stored, inUse)},
		{"infiniband_guids", slices.Concat(identity, reading, backups, family("GU"), hosts)},
		{"infiniband_link_type", slices.Concat(identity, family("LT"), withPort, writesFiles, hosts)},
		{"infiniband_nv_config", slices.Concat(identity, family("NV"), hosts, []*finding.Rule{finding.VirtualFunctionsTooMany})},
		{"infiniband_activation", slices.Concat(identity, hosts, []*finding.Rule{finding.RestartIntoDamagedFlash})},
		{"infiniband_port", slices.Concat(identity, onHost, writesFiles, needsModules, family("PO"), []*finding.Rule{finding.SubnetManagerOnCard})},
		{"infiniband_virtual_functions", slices.Concat(identity, onHost, writesFiles, family("VF"),
			[]*finding.Rule{finding.GUIDInvalid, finding.GUIDOfOtherCard, finding.GUIDsEqual, finding.GUIDInFabric,
				finding.GUIDUntilRestart})},
		{"infiniband_opensm", slices.Concat(onHost, writesFiles, needsModules, family("SM"), []*finding.Rule{finding.MTUDependsOnFabric})},
		{"infiniband_node_names", slices.Concat(onHost, writesFiles)},
		{"infiniband_ipoib_interface", slices.Concat(onHost, writesFiles, needsModules, family("IP"))},
		{"infiniband_fabric_file", []*finding.Rule{finding.ManagedTwice}},
		{"infiniband_benchmark", slices.Concat(anyHost, family("BM"), []*finding.Rule{finding.PackagesInstalled, finding.PackagesImpossible})},
	}
}

// Situations are what a plan of a card says, beside the symptoms of a fabric.
func Situations() []Row {
	return []Row{
		{Seen: "The image is refused before a card is looked at", Findings: images},
		{Seen: "The image is for another chip, board or number of ports", Findings: []*finding.Rule{finding.ImageForOtherChip,
			finding.ImageForOtherRevision, finding.PSIDWouldChange, finding.ImageFormatOfOtherChip,
			finding.ImageForOtherModel, finding.ImageForOtherPortCount}},
		{Seen: "The image is older, of the same version, or of another branch", Findings: []*finding.Rule{
			finding.VersionWouldBeOlder, finding.VersionWouldBeSame, finding.BranchWouldChange}},
		{Seen: "A consent is there, and the plan is refused", Findings: []*finding.Rule{finding.PSIDWouldChange,
			finding.VersionWouldBeOlder, finding.VersionWouldBeSame, finding.BranchWouldChange}},
		{Seen: "The card cannot be burned with this provider", Findings: []*finding.Rule{finding.FirmwareSecure,
			finding.UpdateMethodUnknown, finding.ChipUnproven, finding.GUIDsUnsupported}},
		{Seen: "The card does not answer, is in recovery mode, or its flash does not verify", Findings: []*finding.Rule{
			finding.CardInRecovery, finding.FlashDamaged, finding.FlashUnreadable, finding.RestartIntoDamagedFlash,
			finding.CardInUse, finding.KernelLockedDown}},
		{Seen: "mstflint is missing, or is not the right one", Findings: []*finding.Rule{finding.MstflintMissing,
			finding.MstflintUnsuitable, finding.MstflintUnproven, finding.HostLacksPrograms}},
		{Seen: "The card still runs the old firmware", Findings: []*finding.Rule{finding.FlashNotRunning,
			finding.RebootNotAllowed, finding.RestartNeeded, finding.RunningUnknown}},
		{Seen: "GUIDs or MACs are zero, blank, or those of another card", Findings: []*finding.Rule{finding.FlashGUIDsZero,
			finding.FlashGUIDsNeverSet, finding.FlashGUIDsShared, finding.GUIDOfOtherCard,
			finding.GUIDInFabric, finding.GUIDUntilRestart}},
		{Seen: "Another card is in the slot, or the card has moved", Findings: []*finding.Rule{finding.CardExchanged,
			finding.CardUndecided, finding.CardMoved, finding.CardWithoutSerialNumber}},
		{Seen: "The change would cut SSH, the default route or storage", Findings: []*finding.Rule{finding.SessionOverCard,
			finding.DefaultRouteOverCard, finding.StorageOverCard, finding.PortCarriesHost, finding.SessionOverInterface,
			finding.StorageOverInterface}},
		{Seen: "A burn was interrupted, or another one runs", Findings: []*finding.Rule{finding.FlashJobRunning,
			finding.FlashJobUnsettled, finding.FlashJobUnreadable, finding.EarlierCardFailed, finding.ChangedSincePlan,
			finding.BurnFailedElsewhere}},
		{Seen: "There is no backup, or it is not good", Findings: family("BK")},
		{Seen: "The plan is refused only because the host is observed, or is named twice", Findings: []*finding.Rule{
			finding.HostObserved, finding.ManagedTwice, finding.HostHasTwoNames}},
	}
}

// Shows reports whether a resource may show a finding.
func Shows(resource, code string) bool {
	return slices.ContainsFunc(Places(), func(p Place) bool {
		return p.Resource == resource && slices.ContainsFunc(p.Rules, func(r *finding.Rule) bool { return r.Code == code })
	})
}
