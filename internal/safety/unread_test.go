package safety

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// notRead is what an unknown fact says of itself in these tests.
const notRead = "nobody could read this"

// facts are all that the requests below are judged by.
type facts struct {
	host HostFacts
	card CardFacts
	link LinkTypeInput
	lab  clash.Facts
}

// requests are one of each kind, in a lab that has nothing against them.
var requests = map[string]func(f facts) Verdict{
	"firmware": func(f facts) Verdict {
		in := goodFirmware()
		in.Host, in.Card = f.host, f.card
		return Firmware(in)
	},
	"restart": func(f facts) Verdict {
		in := goodFirmware()
		in.Host, in.Card = f.host, f.card
		in.Image.PSID, in.Image.FW, in.Image.Checksum = psidVPI, fw236, "aa"
		// but not if the running firmware is what is unknown
		if in.Card.Running.Or(ib.Firmware{}).FW == in.Card.InFlash().FW {
			runsVersion(&in.Card, fw242)
		}
		return Firmware(in)
	},
	"guids": func(f facts) Verdict {
		in := goodGUIDs()
		in.Host, in.Card, in.Lab = f.host, f.card, f.lab
		return GUIDs(in)
	},
	"link types": func(f facts) Verdict {
		in := f.link
		in.Host, in.Card, in.StoredIn = f.host, f.card, "modprobe.d"
		return LinkTypes(in)
	},
	"link types in the card": func(f facts) Verdict {
		in := f.link
		in.Host, in.Card = f.host, f.card
		in.Card.Chip, _ = ib.ChipByPCI(0x1013)
		in.Card.DeviceID, in.Card.Driver, in.Request.Activation = 0x1013, "mlx5_core", ActivationReboot
		in.Persisted = map[int]ib.LinkType{1: ib.LinkTypeETH, 2: ib.LinkTypeETH}
		return LinkTypes(in)
	},
	"backup": func(f facts) Verdict { return Backup(BackupInput{Host: f.host, Card: f.card}) },
}

func goodFacts() facts {
	return facts{host: goodHost(), card: goodCard(), link: goodLink(), lab: goodLab()}
}

// forgotten says of a fact which finding its "yes" is, and which requests it does not
// matter for, with the reason.
type forgotten struct {
	rule    *finding.Rule
	except  map[string]string
	without func(f *facts) // makes it unknown, where its type is not one of package fact
	says    string         // what the evidence has then; empty: notRead
}

const (
	noRestart = "the request restarts nothing, and the answer matters for a restart only"
	noWrite   = "the request writes no flash"
	noLoss    = "the request takes the card out of service for no moment"
	noParam   = "the request does not use the module parameter of the driver"
)

func exceptions(reason string, names ...string) map[string]string {
	all := map[string]string{}
	for _, n := range names {
		all[n] = reason
	}
	return all
}

func joinMaps(lists ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range lists {
		maps.Copy(all, m)
	}
	return all
}

var links = []string{"link types", "link types in the card"}

// unreadFacts has each fact of the four structures that has a finding.
var unreadFacts = map[string]forgotten{
	"Snapshot.Lockdown": {rule: finding.KernelLockedDown, except: exceptions(noWrite, append(links, "restart")...)},
	"Snapshot.Servers":  {rule: finding.HostServesShares, except: exceptions(noRestart, "link types", "backup")},
	"Snapshot.Scans":    {rule: finding.HostScansPool, except: exceptions(noRestart, "link types", "backup")},
	"Snapshot.UnitsWhy": {rule: finding.HostInKubernetes, except: exceptions(noRestart, "link types", "backup"),
		without: func(f *facts) { f.host.UnitsWhy = notRead }},
	"Snapshot.Battery": {rule: finding.HostRunsOnBattery,
		except: joinMaps(exceptions(noRestart, "link types"), exceptions(noWrite, "backup"))},
	"Port.IsSM": {rule: finding.SubnetManagerOnCard, except: exceptions(noLoss, "restart", "backup"),
		without: func(f *facts) { f.host.Cards[0].Ports[0].IsSM = fact.Unknown[bool](notRead) }},
	"Card.Physical": {rule: finding.SessionOverCard, except: exceptions("the request takes no interface down", "backup"),
		without: func(f *facts) { rideVirtual(&f.host, fact.Unknown[ib.PCIAddress](notRead)) },
		says:    "uses v0, which may be an interface of 0000:01:00.0: " + notRead},
	"SSHPath.Devs": {rule: finding.SessionOverCard, except: exceptions("the request takes no interface down", "backup")},
	"Card.Ports": {rule: finding.SubnetManagerOnCard, except: exceptions(noLoss, "restart", "backup"),
		without: func(f *facts) { f.host.Cards[0].RDMADevice, f.host.Cards[0].Ports = "mlx4_0", nil },
		says:    "mlx4_0 shows no port"},
	"Netdev.Kind": {rule: finding.DefaultRouteOverCard, except: exceptions("the request takes no interface down", "backup"),
		without: func(f *facts) {
			f.host.Netdevs = append(f.host.Netdevs, inventory.Netdev{Name: "br-ex", Kind: "openvswitch"})
			f.host.Routes.Default = append(f.host.Routes.Default, inventory.DefaultRoute{Dev: "br-ex"})
		}, says: "br-ex is an interface of kind openvswitch"},
	"DefaultRoute.Dev": {rule: finding.DefaultRouteOverCard, except: exceptions("the request takes no interface down", "backup"),
		without: func(f *facts) { f.host.Routes.Default = []inventory.DefaultRoute{{Dev: "gone0"}} },
		says:    "ip address shows no interface gone0"},
	"Storage.Dev": {rule: finding.StorageOverCard, except: exceptions("the request takes no interface down", "backup"),
		without: func(f *facts) {
			f.host.Storage = []inventory.Storage{tank(fact.Unknown[string](notRead))}
		}},
	"Snapshot.Users": {rule: finding.CardInUse,
		except: exceptions("mstflint_access aside, mstconfig and the kernel decide who may use the card", links[:0]...)},
	"Snapshot.StateFree": {rule: finding.HostWithoutSpace, except: exceptions(noWrite, append(links, "restart")...)},
	"Snapshot.Commands": {
		rule: finding.HostLacksPrograms, except: exceptions("the request runs no job", append(links, "restart", "backup")...),
		without: func(f *facts) { delete(f.host.Commands, "systemd-run") }, says: "nobody has looked for systemd-run",
	},
	"Facts.Fabric": {rule: finding.GUIDInFabric,
		except: exceptions("the request writes no GUIDs", append(links, "firmware", "restart", "backup")...)},
	"LinkTypeInput.StaleInitramfs": {rule: finding.InitramfsOutdated,
		except: exceptions(noParam, "firmware", "restart", "guids", "backup", "link types in the card")},
	"LinkTypeInput.Overrides": {rule: finding.LinkTypeOverridden,
		except: exceptions(noParam, "firmware", "restart", "guids", "backup", "link types in the card")},
	"LinkTypeInput.Current": {rule: finding.PortTypesNotShown,
		except:  exceptions("types are read for link types only", "firmware", "restart", "guids", "backup"),
		without: func(f *facts) { f.link.Current = nil }, says: "driver: "},
	"LinkTypeInput.HasTypes": {rule: finding.CardConfigUnreadable,
		except: exceptions("mlx4 shows its types itself", "firmware", "restart", "guids", "backup", "link types")},
	"LinkTypeInput.Served": {rule: finding.CardConfigUnreadable,
		except: joinMaps(exceptions("what it would say is LinkTypeInput.HasTypes", "link types in the card"),
			exceptions("types are read for link types only", "firmware", "restart", "guids", "backup"))},
	"CardFacts.HWID": {rule: finding.HardwareIDUnknown,
		except: exceptions("no image is matched to the chip",
			append(links, "restart", "guids", "backup")...),
		without: func(f *facts) { f.card.HWID = fact.Unknown[ib.HWID](notRead) }},
	"Card.Flash": {rule: finding.FlashUnreadable, except: exceptions("the kernel's own view of the ports decides", links...),
		without: func(f *facts) { f.card.Flash, f.card.FlashError = nil, notRead }},
	"Firmware.PSID": {rule: finding.PSIDUnknown,
		except:  joinMaps(exceptions("the running PSID decides", links...), exceptions("a copy of the flash needs no PSID", "backup")),
		without: func(f *facts) { f.card.Flash.PSID = "" }, says: "mstflint"},
	"CardFacts.Verified": {rule: finding.FlashUnverified,
		except: exceptions("the flash is not touched", append(links, "restart")...), without: unverify},
	"CardFacts.ChecksumWhy": {rule: finding.VersionWouldBeSame, except: joinMaps(
		exceptions("version and PSID say that the content differs", "firmware"),
		exceptions("no content is compared", append(links, "guids", "backup")...)),
		without: func(f *facts) { f.card.Checksum, f.card.ChecksumWhy = "", notRead }},
	"CardFacts.Failsafe": {rule: finding.FlashNotFailsafe,
		except:  exceptions("the image in flash is not written", append(links, "restart", "backup")...),
		without: func(f *facts) { f.card.Failsafe = FailsafeUnknown }, says: "did not say"},
	"CardFacts.Verified, at a restart": {rule: finding.RestartIntoDamagedFlash, without: unverify,
		except: exceptions("it restarts nothing, or writes before", "firmware", "guids", "backup", "link types")},
	"CardFacts.Running": {rule: finding.RunningUnknown,
		except: joinMaps(exceptions("what the card runs is not asked: nothing is restarted or compared", "backup", "restart"),
			exceptions("the kernel's own view of the ports decides", links...)),
		without: func(f *facts) { f.card.Running, f.card.Driver = fact.Unknown[ib.Firmware](notRead), "" },
		says:    "Driver: none"},
}

// rideVirtual has the session go over a virtual function beyond the slot of the card.
func rideVirtual(h *HostFacts, of fact.Of[ib.PCIAddress]) {
	pci := ib.MustParsePCIAddress("0000:01:01.2")
	h.Cards = append(h.Cards, inventory.Card{PCI: pci, VendorID: ib.MellanoxVendor, Virtual: true, Physical: of})
	h.Netdevs = append(h.Netdevs, inventory.Netdev{Name: "v0", PCI: pci})
	h.SSH.Devs = fact.Known([]string{"v0"})
}

func unverify(f *facts) { f.card.Verified, f.card.VerifyError = VerifyUnknown, notRead }

const (
	word     = "a word for messages"
	ofBackup = "TestUnread_backup"
	ofCard   = "TestUnread_identity"
	listed   = "its own facts"
)

// notUnknown are the other fields that verdicts read, and why their zero value is no
// silent "no".
var notUnknown = map[string]string{
	"HostFacts.Observe":       "configuration",
	"HostFacts.RebootAllowed": "configuration; false refuses",
	"HostFacts.Interrupts":    "configuration; what it does not name is refused",
	"HostFacts.BackupDir":     "configuration; empty refuses (BK002)",
	"HostFacts.BackupProblem": "this machine's own; it was tried",

	"FirmwareInput.Restore": "the configuration", "Facts.Apart": "the configuration; what it does not say refuses",
	"GUIDInput.Waits":      "no restart for what nothing shows; reboot_required is null then",
	"FirmwareInput.Backup": "none permits no write", "GUIDInput.Backup": "none permits no write",
	"BackupInput.Backup": "none was taken yet; it permits no write",

	"FirmwareInput.Found": "notes of our own, of which one that a full disk has cut stops as well; a list of this machine",

	"Stop.ID": "the name of its file", "Stop.Host": word, "Stop.PCI": word, "Stop.At": word, "Stop.Operator": word, "Stop.Root": word, "Stop.Why": word,

	"Snapshot.Owed":    "a note of our own; what nobody noted is not told",
	"Snapshot.Host":    "a name of the configuration",
	"Snapshot.Modules": "mstflint_access only softens HO003",
	"Snapshot.Cards":   "its own facts; without them the collection fails as a whole",
	"Snapshot.Netdevs": "its own facts; without them the collection fails as a whole",
	"Snapshot.Storage": "its own facts; what cannot be read is storage whose interface is not known",
	"Snapshot.Units":   "goes with UnitsWhy",
	"Snapshot.Jobs":    listed,
	"Flash.ByDriver":   "it says that all else of the flash is not known",
	"OS.Kernel":        word, "Tool.Present": "absent refuses (FW051)",
	"Tool.Version": "one that cannot be read refuses (FW052)", "Unit.ActiveState": "goes with Snapshot.UnitsWhy",
	"Server.Name": word, "Server.Clients": word, "Pool.Name": word, "Pool.Doing": word, "UPS.Name": word, "UPS.Status": word,
	"CardUser.Card": "goes with Any, which is yes for a program that names no card", "CardUser.Any": "goes with Snapshot.Users",
	"CardUser.Command": word, "CardUser.Name": word, "CardUser.PID": word, "CardUser.Since": word,

	"Routes.Default": "without them the collection fails as a whole",
	"Netdev.Name":    "a name", "Netdev.Lower": "none of an interface that has some is Netdev.Kind",
	"Netdev.Parent": "none of an interface that has one is Netdev.Kind",
	"Netdev.PCI":    "a link of sysfs, which is there or not",

	"Storage.Kind": word, "Storage.What": word, "Storage.Where": word, "Storage.Server": word,
	"Storage.RDMA": "a file of sysfs; one that cannot be read is storage whose interface is not known",
	"Port.Number":  "a name", "Port.TypeNow": "compared with what is asked for; empty differs (LT007)",

	"Job.ID": "a name", "Job.PCI": "a job without it is of every card while it may run (HO004); its request did not reach the disk, so that it did nothing",
	"Job.Kind": word, "Job.Operator": word, "Job.States": word, "JobState.Time": word,
	"Job.Request": "a journal without its version is foreign (HO017)",
	"Job.Exit":    "empty leaves the job unsettled (HO005)",
	"Job.Running": "TestUnread_job", "Job.Lost": "a running unit without its directory",
	"Job.Settled": "no leaves the job unsettled (HO005)",

	"CardFacts.Host": "a name",
	"Card.PCI":       "a name", "Card.VendorID": "zero is not supported (FW040)",
	"Card.DeviceID": "zero is not supported (FW040)",
	"Card.Chip":     "a chip without name is refused (FW040)", "Card.Livefish": "follows from the device id",
	"Card.Virtual": "a link of sysfs, which is there or not; where it is not, the device id tells",
	"Card.Driver":  "a link of sysfs, which is there or not", "Card.RDMADevice": "a link of sysfs, which is there or not",
	"Card.PartNumber": "empty only keeps a warning away (FW033), beside the PSID, which decides; it is often unreadable after a cross-flash",
	"Card.FlashError": "goes with Flash", "Card.FlashTaken": "goes with Flash", "Card.FlashFailure": "goes with Flash",
	"Firmware.FW":      "goes with Card.Flash",
	"Flash.GUIDs":      "goes with Card.Flash; zero is FW046",
	"Flash.BlankGUIDs": "goes with Card.Flash", "Flash.ROM": "goes with Card.Flash",
	"Flash.RunningFW":      "goes with Card.Flash; empty compares the product versions, too",
	"Flash.ProductVersion": "goes with Card.Flash; empty allows one question more, which the job checks",
	"Flash.ReleaseDate":    "goes with Card.Flash; an empty one proves nothing, and the checksum decides",
	"Flash.SecurityAttrs":  "TestUnread_later_chips", "CardFacts.UpdateMethod": "TestUnread_later_chips",
	"CardFacts.InUse":    "who uses the card is Snapshot.Users",
	"CardFacts.Checksum": "goes with ChecksumWhy", "CardFacts.VerifyError": "goes with Verified",
	"CardFacts.RunningAssumed": "says itself that it is an assumption (FW055)",
	"CardFacts.GUIDsBy":        "the job folders are our own; empty leaves the GUIDs themselves to decide (GU011)",
	"CardFacts.Writes":         "the job folders are our own; empty asks for consent (GU011)",
	"IdentityWrite.Before":     "goes with Writes", "IdentityWrite.After": "goes with Writes",
	"Card.NodeGUID":         "zero keeps a warning away (GU011); its note names the node GUID in flash and what it becomes",
	"Card.SystemGUID":       "goes with NodeGUID",
	"CardFacts.StartedWith": "the job folders are our own; empty leaves Running to decide (FW055)",
	"CardFacts.JobChecksum": "empty proves no content: FW055 asks",
	"CardFacts.Rollback":    "configuration; none refuses (FW042)",
	"Card.Serial":           "a consent names the node GUID then, see TestFirmware_without_a_copy",
	"CardFacts.StagedBy":    "the job folders are our own; empty leaves Running to decide (FW055)",

	"IdentityFacts.Recorded": ofCard, "IdentityFacts.Now": ofCard, "IdentityFacts.Unread": word, "IdentityFacts.Edit": word,
	"IdentityFacts.Elsewhere": "where the card is now; not known, it is another card (FW080) or not decided (FW081)",

	"Facts.Cards":       "listed in tests only",
	"Facts.Lab":         "a host that does not answer is named by a warning of its own",
	"Facts.Writing":     "the operation itself",
	"Facts.SameMachine": "a machine that does not show which it is is compared by its cards",
	"Holder.Host":       "a name", "Holder.PCI": "a name", "Holder.Function": "a name", "Holder.Planned": "the configuration",
	"Holder.Running": "a card without a driver uses no GUID on a fabric",
	"Holder.GUIDs":   "a host that does not answer is named by a warning of its own, and so is a card that is not read",
	"Holder.Unread":  "the reason itself",
	"Node.Name":      word, "Node.Via": word, "Node.GUIDs": "goes with Facts.Fabric",

	"BackupFacts.Path": ofBackup, "BackupFacts.SHA256": ofBackup, "BackupFacts.TwoReadsEqual": ofBackup,
	"BackupFacts.ToolVerified": ofBackup, "BackupFacts.Parsed": ofBackup, "BackupFacts.GUIDs": ofBackup,
	"FlashLayout.Slot": "TestUnread_later_chips", "FlashLayout.Version": "zero is a version; goes with Slot",

	"LinkTypeInput.Persisted":    "a port without an entry is not done and is stored again",
	"LinkTypeInput.Unnamed":      "of a port there whose type is not shown, LT008 says so",
	"UnnamedPort.AtBoot":         "of the types that are shown; without one it is LT008",
	"UnnamedPort.Decides":        "settings that cannot be read are LinkTypeInput.Overrides",
	"LinkTypeInput.NotOurs":      "of files; one that cannot be read is LinkTypeInput.Overrides",
	"LinkTypeInput.Edited":       "as NotOurs",
	"LinkTypeInput.Decides":      "goes with Persisted",
	"LinkTypeParameter.Place":    "goes with Has",
	"LinkTypeParameter.Has":      "of files and the middleware; what cannot be read is LinkTypeInput.Overrides",
	"LinkTypeInput.Uses":         "of what could not be read HO009 says it, or the interface is named with the file",
	"LinkTypeInput.StoredIn":     "empty is LT011",
	"LinkTypeInput.WhyNotStored": "goes with StoredIn", "LinkTypeInput.PlannedPSID": "another resource of the plan",
}

// notFacts are the types of the requests that hold no facts of a host or card.
var notFacts = map[string]string{
	"FirmwareRequest": "configuration", "GUIDRequest": "configuration", "LinkTypeRequest": "configuration",
	"Consents": "configuration", "PSIDChange": "configuration", "Downgrade": "configuration", "BranchChange": "configuration",
	"Support":      "advice; a host of no platform is refused before",
	"ImageFacts":   "the file of the image, which is read here; one that cannot be read is FW001",
	"RestoreFacts": "the copy on the operator's machine; one that cannot be read is BK004 or BK003",
	"Lab":          "an index of Facts",
	"Finding":      "what was judged before",
}

// TestUnread_every_fact_is_asked_for holds that each field that a verdict reads, of each
// type that its facts are made of, is in one of the two tables above, and no other.
func TestUnread_every_fact_is_asked_for(t *testing.T) {
	read, there := fieldsRead(t), map[string]bool{}
	for owner, typ := range factTypes() {
		for i := range typ.NumField() {
			field := typ.Field(i)
			name := owner + "." + field.Name
			_, walked := unreadFacts[name]
			why, excused := notUnknown[name]
			if field.Anonymous || notFacts[owner] != "" || factTypes()[field.Type.Name()] == field.Type {
				continue // a type of the list
			}
			there[name] = true
			isFact := strings.HasPrefix(field.Type.String(), "fact.Of[")
			switch {
			case walked && excused:
				t.Errorf("%s is in unreadFacts and in notUnknown", name)
			case read[name] && !walked && !excused:
				t.Errorf("%s is read: say what happens if it cannot be, in unreadFacts or in notUnknown", name)
			case !read[name] && (walked || excused):
				t.Errorf("%s: no verdict reads it", name)
			case isFact && excused && !strings.Contains(why, "Test"):
				t.Errorf("%s can be unknown: set it to unknown in unreadFacts, or name the test that does", name)
			}
		}
	}
	for name := range unreadFacts {
		if name, _, _ = strings.Cut(name, ","); !there[name] {
			t.Errorf("%s is not a fact", name)
		}
	}
	for name := range notUnknown {
		if !there[name] {
			t.Errorf("%s is not a fact", name)
		}
	}
}

// TestUnread_nothing_passes_in_silence sets each fact to unknown in a world that has
// nothing against a request: the finding of its "yes" must be there, weigh as much,
// and say what could not be read.
func TestUnread_nothing_passes_in_silence(t *testing.T) {
	for _, request := range slices.Sorted(maps.Keys(requests)) {
		clean := requests[request](goodFacts())
		if clean.Blocked() {
			t.Errorf("%s is refused although all is known: %+v", request, clean.Blockers())
		}
		for name, u := range unreadFacts {
			f := goodFacts()
			u.forget(t, name, &f)
			v := requests[request](f)
			why, excused := u.except[request]
			switch said := u.said(v); {
			case excused && said:
				t.Errorf("%s of %s: it is said, though %q", name, request, why)
			case !excused && !said:
				t.Errorf("%s of %s passes in silence: %+v", name, request, v.Findings)
			}
		}
	}
}

func (u forgotten) said(v Verdict) bool {
	says := u.says
	if says == "" {
		says = notRead
	}
	return slices.ContainsFunc(v.Findings, func(f finding.Finding) bool {
		return f.Rule == u.rule && f.Severity >= u.rule.Severity && strings.Contains(f.Evidence, says)
	})
}

// forget makes a fact unknown.
func (u forgotten) forget(t *testing.T, name string, f *facts) {
	t.Helper()
	if u.without != nil {
		u.without(f)
		return
	}
	owner, field, _ := strings.Cut(name, ".")
	of := map[string]any{"Snapshot": &f.host.Snapshot, "SSHPath": &f.host.SSH, "LinkTypeInput": &f.link,
		"Facts": &f.lab}[owner]
	switch p := reflect.ValueOf(of).Elem().FieldByName(field).Addr().Interface().(type) {
	case *fact.Of[string]:
		*p = fact.Unknown[string](notRead)
	case *fact.Of[int64]:
		*p = fact.Unknown[int64](notRead)
	case *fact.Bool:
		*p = fact.Unknown[bool](notRead)
	case *fact.Of[[]string]:
		*p = fact.Unknown[[]string](notRead)
	case *fact.Of[[]int]:
		*p = fact.Unknown[[]int](notRead)
	case *fact.Of[[]inventory.UPS]:
		*p = fact.Unknown[[]inventory.UPS](notRead)
	case *fact.Of[[]inventory.Server]:
		*p = fact.Unknown[[]inventory.Server](notRead)
	case *fact.Of[[]inventory.Pool]:
		*p = fact.Unknown[[]inventory.Pool](notRead)
	case *fact.Of[[]clash.Node]:
		*p = fact.Unknown[[]clash.Node](notRead)
	case *fact.Of[[]inventory.CardUser]:
		*p = fact.Unknown[[]inventory.CardUser](notRead)
	default:
		t.Fatalf("%s has type %T: say here how it is made unknown", name, p)
	}
}

// Another card whose types nothing shows is one that may change.
func TestUnread_types_of_another_card(t *testing.T) {
	in := goodLink()
	in.StoredIn, in.Host.Cards = "modprobe.d", beside()
	f := expectFinding(t, LinkTypes(in).Findings, "LT007", finding.Refuse)
	if !strings.Contains(f.Evidence, "the kernel shows no port of it") {
		t.Errorf("evidence: %s", f.Evidence)
	}
}

// A job of which it is not known whether it runs is waited for.
func TestUnread_job(t *testing.T) {
	in := goodFirmware()
	in.Host.Jobs = []inventory.Job{journal("J", here, false)}
	in.Host.Jobs[0].Running = fact.Unknown[bool](notRead)
	v := Firmware(in)
	if f := expectFinding(t, v.Findings, "HO005", finding.Warn); v.Action != ActionWait ||
		!strings.Contains(f.Evidence, notRead) {
		t.Errorf("%+v", v)
	}
}

// What is not known of a backup proves nothing.
func TestUnread_backup(t *testing.T) {
	typ := reflect.TypeFor[BackupFacts]()
	for i := range typ.NumField() {
		in := goodFirmware()
		in.Backup = goodBackup()
		if v := Firmware(in); v.Blocked() {
			t.Fatalf("the whole backup: %+v", v.Blockers())
		}
		reflect.ValueOf(in.Backup).Elem().Field(i).SetZero()
		if name := typ.Field(i).Name; name != "Layout" { // not of these chips: TestUnread_later_chips
			if v := Firmware(in); !v.Has(finding.BackupUnproven) || v.Permits(ActionBurn, cardKey(in.Card)) {
				t.Errorf("without %s: %+v", name, v)
			}
		}
	}
}

// A card of which it is not known who it is is written by nobody.
func TestUnread_identity(t *testing.T) {
	for name, forget := range map[string]func(f *IdentityFacts){
		"Recorded": func(f *IdentityFacts) { f.Recorded = ib.Identity{} },
		"Now":      func(f *IdentityFacts) { f.Now, f.Unread = ib.Identity{}, notRead },
	} {
		for request, judge := range requests {
			f := goodFacts()
			forget(&f.card.Identity)
			if v := judge(f); !v.Has(finding.CardUndecided) || !v.Blocked() {
				t.Errorf("%s of %s: %+v", name, request, v)
			}
		}
	}
}

// What the tool does not say of a later chip is no reason to write its flash.
func TestUnread_later_chips(t *testing.T) {
	for name, tt := range map[string]struct {
		forget func(in *FirmwareInput)
		rule   *finding.Rule
		says   string
	}{
		"all known":           {func(*FirmwareInput) {}, nil, ""},
		"update method":       {func(in *FirmwareInput) { in.Card.UpdateMethod = "" }, finding.UpdateMethodUnknown, "Method: not known"},
		"security attributes": {func(in *FirmwareInput) { in.Card.Flash.SecurityAttrs = "" }, finding.UpdateMethodUnknown, "Attributes: not known"},
		"layout of the flash": {func(in *FirmwareInput) { in.Backup.Layout = FlashLayout{} }, finding.FlashDividedOtherwise, "not known"},
		"layout of the image": {func(in *FirmwareInput) { in.Image.FlashLayout = FlashLayout{} }, finding.FlashDividedOtherwise, "0 KiB"},
	} {
		in := goodFirmware()
		laterCard(&in, 0x1017)
		in.Backup = goodBackup()
		in.Backup.GUIDs, in.Backup.Layout, in.Image.FlashLayout = in.Card.Flash.GUIDs, FlashLayout{Slot: 1 << 23},
			FlashLayout{Slot: 1 << 23}
		tt.forget(&in)
		v := Firmware(in)
		said := slices.ContainsFunc(v.Findings, func(f finding.Finding) bool {
			return f.Rule == tt.rule && f.Severity >= f.Rule.Severity && strings.Contains(f.Evidence, tt.says)
		})
		if said != (tt.rule != nil) || v.Blocked() != (tt.rule != nil) {
			t.Errorf("%s: %+v", name, v.Findings)
		}
	}
}

// A restart is stopped by what nobody could read, as by its "yes".
func TestUnread_restart(t *testing.T) {
	if got := strings.Join(codes(Restart(HostFacts{})), " "); got != "HO013 HO014 HO015 HO045" {
		t.Errorf("a restart of a host of which nothing is known: %s", got)
	}
}

// noFact are the findings that depend on no fact of a host or card that could be
// unknown, or that are themselves what an unknown fact leads to; by reason.
var noFact = map[string]string{
	"FW001 FW003 FW004 FW005 FW006 FW007 FW009 FW010 FW011 FW012 FW014 FW015 FW016": "the file of the image, which is read here; one that cannot be read is FW001",
	"FW020 FW021 FW030": "the hardware id, which is FW022 if unknown",
	"FW023 FW026 FW033 FW034 FW035 FW037 FW042 FW046 FW047 FW070 FW071 FW084 FW085 FW090 FW091": "the query of the flash, which is FW044 if it fails",
	"FW049 GU006 GU016":             "the identity of other cards; a host that does not answer is named by a warning of its own",
	"FW038 FW039":                   "the rollback image, which is held to the card before (FW037)",
	"FW040 FW041 FW054 FW058 LT005": "the PCI id, without which the collection fails as a whole",
	"FW043 FW060":                   "the verification and the backup, which are FW056 and BK001 if they fail",
	"FW045":                         "what the card runs, which is FW055 if unknown",
	"FW051 FW052 FW057":             "the tool; one that does not say its version is unproven",
	"FW059 FW061":                   "the table of chips; an unknown way of updating is FW059 itself",
	"FW080 FW081 FW082 FW083":       "who the card is; undecided is FW081, an unreadable serial number FW083",
	"BK001 BK002 BK003 BK004 BK005 BK006 BK007 BK010": "the copy on the operator's machine; one that is not proven is BK001, BK003 or BK004",
	"GU001 GU004 GU005 GU009 GU010 GU011 GU014":       "the values of the configuration",
	"HO032":                   "which machine a host is; one that does not show it is compared by its cards",
	"HO004 HO005 HO017 HO019": "the journals of our own jobs; one that is not understood is HO017",
	"HO007 HO008 HO011 HO018 HO030 HO050 HO051": "the configuration, and what this apply has done, or an earlier one has noted",
	"LT001 LT002 LT003 LT004 LT011":             "the configuration, and the types that are shown: LT008 or LT013 if they are not. LT008 also for a port that is not named",
	"HO034 HO035 LT020":                         "a file of the host; one that cannot be read is LT016",
	"LT015":                                     "what follows from the change itself",
	"LT007":                                     "the types of other cards; not shown is LT007 itself",
	"LT018":                                     "what is found on the port; a subnet manager that is not known is HO009",
}

// TestUnread_every_finding_is_asked_for holds that each finding has a fact above, or
// a reason here.
func TestUnread_every_finding_is_asked_for(t *testing.T) {
	has := map[string]bool{}
	for _, u := range unreadFacts {
		has[u.rule.Code] = true
	}
	for list, reason := range noFact {
		for _, code := range strings.Fields(list) {
			if has[code] {
				t.Errorf("%s has two reasons, one is that it depends on %s", code, reason)
			}
			has[code] = true
		}
	}
	for _, r := range judgedRules() {
		if !has[r.Code] {
			t.Errorf("%s (%s): say in unreadFacts or noFact what happens if its fact cannot be read", r.Code, r.Title)
		}
		delete(has, r.Code)
	}
	if len(has) > 0 {
		t.Errorf("no findings: %v", has)
	}
}
