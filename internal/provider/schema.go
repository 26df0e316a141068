package provider

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "Manages the InfiniBand side of a lab over SSH: cards and their firmware, GUIDs, link types, " +
	"subnet managers and IP-over-InfiniBand interfaces."

// Schema implements provider.Provider.
func (p *Provider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	host := sshAttributes()
	maps.Copy(host, map[string]schema.Attribute{
		"address": addressAttribute("Name, alias of `~/.ssh/config`, or IP address of the host."),
		"mode": choiceAttribute("`manage` (the default), or `observe`: the host is read, a plan shows what differs, and "+
			"its apply is refused. It overrides the provider's `mode`.", modeManage, modeObserve),
		"unreachable": choiceAttribute("What becomes of the host's objects while it does not answer, `error` or `keep`. "+
			"It overrides the provider's `unreachable`.", unreachableError, unreachableKeep),
		"reboot": rebootAttribute("Whether and how the host may be restarted for `activation = \"reboot\"`. It replaces " +
			"the whole `reboot` of the provider."),
	})
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"backup_dir": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Directory on the machine that runs Terraform for the firmware of every card as it was " +
					"before each change, and for `run.log`, which says how far a change is. Without it no card is written to; `~/` " +
					"is the home directory.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1), attribute.LocalPath{
					What: "keep backups in", Instead: "Backups are kept in a directory of the machine that runs Terraform. Write " +
						"its path.",
				}},
			},
			"approved_images": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "File with the SHA-256 of the images that may be burned, one a line as `sha256sum` writes " +
					"it. Others are refused, see [Approved images](guides/firmware.md#approved-images).",
				Validators: []validator.String{attribute.LocalPath{What: "read approved images",
					Instead: "approved_images is a local file.", File: true}},
			},
			"mode": choiceAttribute("`manage` (the default) or `observe`, for every host that has no `mode` of its own.",
				modeManage, modeObserve),
			"unreachable": choiceAttribute("What becomes of the objects of a host that does not answer. `error` (the default) "+
				"fails the plan; `keep` leaves them as the state has them, plans the other hosts, and names the host in a warning.",
				unreachableError, unreachableKeep),
			"cards_at_once": schema.Int64Attribute{
				Optional: true,
				MarkdownDescription: "How many cards of different hosts are written, or hosts restarted, at the same time, 1 to " +
					"64 (default 1). The first card of an apply is written alone, and after one that fails no other begins.",
				Validators: []validator.Int64{int64validator.Between(1, 64)},
			},
			"reboot": rebootAttribute("Whether and how hosts may be restarted, for every host that has no `reboot` of its own."),
			"ssh": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "How hosts are reached; each host may override any of it. Settings that are missing come " +
					"from `~/.ssh/config`, then from OpenSSH's defaults.",
				Attributes: sshAttributes(),
			},
			"hosts": schema.MapNestedAttribute{
				Optional:            true,
				MarkdownDescription: "The hosts by name. Resources name a host by its key here.",
				Validators:          []validator.Map{attribute.HostNames()},
				NestedObject:        schema.NestedAttributeObject{Attributes: host},
			},
			"fabrics":       fabricsAttribute(),
			"node_name_map": namesAttribute(),
		},
	}
}

func fabricsAttribute() schema.MapAttribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.SetType{ElemType: types.StringType},
		MarkdownDescription: "Fabrics or rails by name, each with port GUIDs and keys of `hosts`; a GUID counts before its " +
			"host. Only for ports of which nobody sees yet that they are on different fabrics ([Fabrics](#fabrics)).",
		Validators: []validator.Map{fabricsValidator{"Port GUIDs and keys of hosts, each on one fabric."}},
	}
}

func namesAttribute() schema.MapAttribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Names of switches and cards by node GUID, as in a node name map of infiniband-diags: for " +
			"differences and pictures of `infiniband_fabric`, and the ends of its `expected_links`.",
		Validators: []validator.Map{namesValidator{"A name for each node GUID, each once."}},
	}
}

func choiceAttribute(description string, words ...string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description,
		Validators: []validator.String{stringvalidator.OneOf(words...)}}
}

func rebootAttribute(description string) schema.SingleNestedAttribute {
	commands := func(text string) schema.ListAttribute {
		return schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: text}
	}
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"allowed": schema.BoolAttribute{Required: true,
				MarkdownDescription: "Whether the provider may restart the host."},
			"timeout": schema.StringAttribute{Optional: true, CustomType: attribute.DurationType{},
				MarkdownDescription: "How long a restart may take, such as `15m` (the default). Each of `drain_commands` and " +
					"`resume_commands` may take as long, whatever `command_timeout` is."},
			"drain_commands": commands("Shell commands that run as root before the [restart](#restarts); one that fails stops " +
				"it. Plans and states show them: write no secret into them."),
			"resume_commands": commands("Shell commands that run as root after the host has come back, and after drain " +
				"commands if there is no restart. No plan shows them, but errors and a file on the host do: write no secret " +
				"into them."),
			"drain_around": schema.ListAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Changes without a restart around which `drain_commands` and `resume_commands` run, too: " +
					"`firmware` for a burn, `link_type` where the driver switches a port, `opensm` where an instance restarts, " +
					"`ipoib_interface` where an interface that is up is configured anew. See [Drain around other changes](#drain-around-other-changes).",
				Validators: []validator.List{
					listvalidator.ValueStringsAre(stringvalidator.OneOf("firmware", "link_type", "opensm", "ipoib_interface")),
					listvalidator.AlsoRequires(path.MatchRelative().AtParent().AtName("drain_commands")),
				}},
			"interrupts": schema.ListAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Consent to a restart although clients of these services are connected: `NFS`, `SMB`, " +
					"`iSCSI`, `NVMe over TCP`. Else it is refused (HO013).",
				Validators: []validator.List{listvalidator.ValueStringsAre(
					stringvalidator.OneOf("NFS", "SMB", "iSCSI", "NVMe over TCP"))}},
		},
	}
}

// ofJumpHosts are the SSH attributes that a host on the way has, too.
var ofJumpHosts = []string{
	"user", "port", "private_key_file", "private_key", "passphrase", "certificate", "password", "use_agent",
	"agent_socket", "agent_identity",
	"identities_only", "known_hosts_files", "host_keys", "host_key_policy", "known_hosts_record", "connect_timeout",
}

// sshAttributes are those of a host, with its jump hosts.
func sshAttributes() map[string]schema.Attribute {
	all := oneHopAttributes()
	hop := map[string]schema.Attribute{"address": addressAttribute("Name, alias of `~/.ssh/config`, or IP address, as " +
		"seen from the hop before.")}
	for _, name := range ofJumpHosts {
		hop[name] = all[name]
	}
	hop["passphrase"] = schema.StringAttribute{Optional: true, Sensitive: true,
		MarkdownDescription: "Passphrase of the private key."}
	hop["password"] = schema.StringAttribute{Optional: true, Sensitive: true,
		MarkdownDescription: "Password for this hop alone, tried after the keys."}
	all["jump_hosts"] = schema.ListNestedAttribute{Optional: true,
		MarkdownDescription: "Hosts to pass on the way, nearest first; an empty list overrides `ProxyJump` and " +
			"`ProxyCommand` of the configuration file. Each has its own login and host key; what it leaves out is that of the " +
			"host, but never its passwords and `host_keys`.",
		NestedObject: schema.NestedAttributeObject{Attributes: hop},
	}
	return all
}

func addressAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: description,
		Validators: []validator.String{stringvalidator.LengthAtLeast(1), address}}
}

func oneHopAttributes() map[string]schema.Attribute {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description}
	}
	secret := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
	}
	duration := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, CustomType: attribute.DurationType{}, MarkdownDescription: description}
	}
	list := func(description string) schema.ListAttribute {
		return schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description,
			Validators: []validator.List{listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1))}}
	}
	privateKey := secret("Private key in PEM form, instead of a file.")
	keyFile := path.MatchRelative().AtParent().AtName("private_key_file")
	privateKey.Validators = []validator.String{stringvalidator.ConflictsWith(keyFile)}
	return map[string]schema.Attribute{
		"user": text("User to log in as."),
		"port": schema.Int64Attribute{Optional: true, MarkdownDescription: "TCP port of the SSH server.",
			Validators: []validator.Int64{int64validator.Between(1, 65535)}},
		"private_key_file": text("Path of a private key file; `~` is the home directory."),
		"private_key":      privateKey,
		"passphrase":       secret("Passphrase of the private key. Also from the environment: `INFINIBAND_SSH_PASSPHRASE`."),
		"certificate":      text("Path of an OpenSSH user certificate for the private key."),
		"password":         secret("Password, tried after the keys. Also from the environment: `INFINIBAND_SSH_PASSWORD`."),
		"use_agent": schema.BoolAttribute{Optional: true,
			MarkdownDescription: "Whether the SSH agent is asked; the default is yes unless a private key is configured."},
		"agent_socket": text("Socket of the SSH agent; the default is `IdentityAgent` of `~/.ssh/config`, then the " +
			"environment's `SSH_AUTH_SOCK`, then on Windows the pipe of its service `ssh-agent`."),
		"identities_only": schema.BoolAttribute{Optional: true,
			MarkdownDescription: "Whether only configured keys are offered, as with `IdentitiesOnly`: those of `private_key`, " +
				"`private_key_file` and `agent_identity`, and `IdentityFile` of `~/.ssh/config`. " +
				"Servers close the connection after about six keys; an agent that holds more needs it."},
		"agent_identity": text("Which key of the agent to use: SHA256 fingerprint, comment, public key line, or path of a " +
			"public key file."),
		"known_hosts_files": list("Files with the keys of known hosts, in OpenSSH's format; the default is " +
			"`~/.ssh/known_hosts` and the system's. A host whose key is not known, differs or is revoked is refused."),
		"host_keys": list("Keys that the host may show: `authorized_keys` lines or `SHA256:…` fingerprints. If given, " +
			"known_hosts files are not consulted."),
		"host_key_policy": schema.StringAttribute{Optional: true,
			MarkdownDescription: "`strict` (the default) refuses a host whose key is not known; `accept-new` accepts the " +
				"first key of a host, records it, and refuses another key later.",
			Validators: []validator.String{stringvalidator.OneOf("strict", "accept-new")}},
		"known_hosts_record": text("File in which `accept-new` records keys; the user's own known_hosts is written only if " +
			"it is named here."),
		"config_file": text("SSH client configuration to read instead of `~/.ssh/config` and the system's; `none` reads " +
			"none. Commands of `Match exec` and `ProxyCommand` in it run on the machine that runs Terraform."),
		"become": schema.StringAttribute{Optional: true,
			MarkdownDescription: "How commands get root: `auto` (the default) uses sudo unless the user is root, `sudo` " +
				"always does, `none` never.",
			Validators: []validator.String{stringvalidator.OneOf("auto", "sudo", "none")}},
		"sudo_password": secret("Password for sudo; it never appears in a command line or a log. Also from the " +
			"environment: `INFINIBAND_SUDO_PASSWORD`."),
		"connect_timeout": duration("How long one attempt to connect may take; default `10s`."),
		"connect_attempts": schema.Int64Attribute{Optional: true,
			MarkdownDescription: "How often a connection is tried if the port refuses or does not answer; default 3. After a " +
				"rejected login or a wrong host key there is no second attempt.",
			Validators: []validator.Int64{int64validator.Between(1, 100)}},
		"command_timeout": duration("How long a command may take, reading the facts of a host among them; default `5m`. " +
			"Operations that take long, such as a burn or the installation of a package, have their own limit."),
		"keepalive_interval": duration("Pause between two keepalives; default `15s`."),
	}
}
