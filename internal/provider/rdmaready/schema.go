package rdmaready

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/rdma"
)

func text(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func yes(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

func number(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func pci(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, CustomType: attribute.PCIType{}, MarkdownDescription: description}
}

func nested(description string, attributes map[string]schema.Attribute) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Computed: true, MarkdownDescription: description,
		NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}

func describe() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Whether a host is ready for what goes over RDMA: programs, NFS, iSER, SRP, NVMe over fabrics " +
			"and GPUs. `problems` says what to do. A host that is not ready is no error, so that a `check` block can judge " +
			"it.\n\nA read is one command more than those of all other objects of the host. That one runs as the login user, " +
			"opens no card and changes nothing; the others need root, as everywhere. Of a host that is down, with " +
			"`unreachable = \"keep\"`, everything is null, also `problems`.",
		Attributes: map[string]schema.Attribute{
			"id": text("The name of the host."),
			"host": schema.StringAttribute{Required: true, Validators: []validator.String{attribute.HostName()},
				MarkdownDescription: "Key of the host in the provider's `hosts` map."},
			"purposes": schema.SetAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: "What the host must be ready for: `programs`, `nfs_client`, `nfs_server`, `iscsi` (iSER), " +
					"`srp`, `nvmeof`, `gpu`. Without it only what all of them need is judged: a device, an Active port and an " +
					"address.",
				Validators: []validator.Set{setvalidator.ValueStringsAre(stringvalidator.OneOf(rdma.Purposes...))}},
			"ready": yes("Whether no problem was found; null if something could not be read and nothing else is wrong."),
			"problems": nested("What is in the way, with what to do.", map[string]schema.Attribute{
				"kind": text("`no_device`, `no_active_port`, `no_address`; `module`, `memlock`, `no_rping` of programs; " +
					"`no_mount`, `mount` of an NFS client; `not_serving`, `not_listening`, `truenas` of servers; `no_gpu`, " +
					"`peer_memory`, `placement` of GPUs; `unknown`: it could not be read."),
				"where":   text("The host, mount or GPU."),
				"message": text("The problem, and what to do."),
			}),
			"modules": schema.MapAttribute{Computed: true, ElementType: types.BoolType,
				MarkdownDescription: "Whether the kernel has a module, loaded or built in. One of which that is not known is " +
					"left out."},
			"memlock": text("Memory that programs of the login user may lock: `unlimited`, or a number of KiB. Root is not " +
				"held to it; null if it could not be read."),
			"rping":      yes("Whether `rping` is installed, with which RDMA between two hosts is tried."),
			"nfs_server": yes("Whether the kernel's NFS server runs; null if that could not be read."),
			"nfs_rdma_port": number("Port on which it listens for RDMA, usually 20049, and 0 if it does not; null if that " +
				"could not be read."),
			"mounts": nested("Mounts of NFS.", map[string]schema.Attribute{
				"source":    text("Server and directory."),
				"directory": text("Where it is mounted."),
				"interface": text("Interface on the way to the server; null if it is not known."),
				"protocol":  text("Transport, such as `tcp` or `rdma`; null if the kernel does not tell."),
				"rdma":      yes("Whether it goes over RDMA."),
			}),
			"listeners": nested("Portals of storage servers in the kernel, as their configfs has them.",
				map[string]schema.Attribute{
					"kind":    text("`iscsi`, `srp` or `nvmeof`."),
					"name":    text("IQN, GUID of the port, or NQNs with commas."),
					"address": text("Address and port; null for `srp`."),
					"rdma":    yes("Whether it offers RDMA, for `iscsi` by iSER; null if that could not be read."),
					"enabled": yes("Whether it listens; null if that could not be read."),
				}),
			"truenas_protocols": schema.SetAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Protocols for which TrueNAS offers RDMA (`rdma.capable_protocols`), of `NFS`, `ISER` and " +
					"`NVMET`. It offers none but on its own hardware; null on other systems, or if it did not answer."},
			"gpus": nested("GPUs of NVIDIA.", map[string]schema.Attribute{
				"pci_address": pci("PCI address."),
				"driver":      text("Kernel driver; null if none is bound."),
				"numa_node":   number("NUMA node; null if the firmware of the machine does not tell."),
				"cards": nested("Cards with an RDMA device.", map[string]schema.Attribute{
					"pci_address": pci("PCI address."),
					"numa_node":   number("NUMA node; null if the firmware of the machine does not tell."),
					"shares": text("The nearest that both have in common: `root_port` (the best), `host_bridge`, `numa_node`, " +
						"`nothing`; null if it is not known."),
				}),
			}),
			"vrfs": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "VRF of each interface that is in one."},
		},
	}
}
