package acctest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// Consent allows the cross-flash of the main scenario.
func Consent() map[string]any { return map[string]any{"from": card.PSIDEN, "to": card.PSIDVPI} }

// The MACs of the cards of the main scenario, from which GUIDs follow.
var baseMACs = map[string]string{labs.Intel9: "e4:1d:2d:e4:4e:d0", labs.Xeon2zfs: "e4:1d:2d:e4:4e:e0"}

// NodeGUID is the node GUID that a host's card is to have; its ports have the
// next two.
func NodeGUID(host string) uint64 {
	return map[string]uint64{labs.Intel9: 0xe41d2d0300e44ed0, labs.Xeon2zfs: 0xe41d2d0300e44ee0}[host]
}

// CrossFlash is the configuration of the main scenario for one host: from a card
// as bought to an IPoIB interface. Resources are named after the host.
func (w *Lab) CrossFlash(host string) Config {
	card := "infiniband_card." + host
	firmware, guids, link := "infiniband_firmware."+host, "infiniband_guids."+host, "infiniband_link_type."+host
	cfg := Config{
		{Type: "infiniband_card", Name: host, Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}},
		{Type: "infiniband_firmware_image", Name: host, Attrs: map[string]any{
			"host": host, "source": w.Image(ImageVPI), "sha256": w.Images[ImageVPI].SHA256,
		}},
		{Type: "infiniband_firmware", Name: host, Attrs: map[string]any{
			"card_id": To(card, "id"), "image_id": To("infiniband_firmware_image."+host,
				"id"), "allow": map[string]any{"psid_change": Consent()}, "activation": "reboot",
		}},
		{Type: "infiniband_guids", Name: host, After: []string{firmware}, Attrs: map[string]any{
			"card_id": To(card, "id"), "base_mac": baseMACs[host], "activation": "reboot",
		}},
		{Type: "infiniband_link_type", Name: host, After: []string{guids}, Attrs: map[string]any{
			"card_id": To(card, "id"), "ports": map[string]any{"1": "ib", "2": "ib"},
		}},
	}
	interfaces := map[string]any{"host": host, "port_guid": To(guids, "port_guids", "1"), "mode": "connected",
		"addresses": []any{"172.16.0.20/24"}}
	after := []string{link}
	if host == labs.Xeon2zfs {
		// TrueNAS has one stored configuration for all interfaces; the first that is
		// stored has to keep the one that leads to the host.
		interfaces["port_guid"], interfaces["addresses"], interfaces["allow"] = To(guids, "port_guids",
			"2"), []any{"172.16.0.10/24"}, map[string]any{"keep_interface": "eno1"}
	} else {
		cfg = append(cfg, Resource{Type: "infiniband_opensm", Name: host, After: after, Attrs: map[string]any{
			"host": host, "port_guid": To(guids, "port_guids", "1"), "priority": 14,
		}})
		after = []string{"infiniband_opensm." + host}
	}
	return append(cfg, Resource{Type: "infiniband_ipoib_interface", Name: host, After: after, Attrs: interfaces})
}

// BothHosts is the whole main scenario.
func (w *Lab) BothHosts() Config {
	return append(w.CrossFlash(labs.Intel9), w.CrossFlash(labs.Xeon2zfs)...)
}

// Required is the block that says where the provider comes from.
const Required = "terraform {\n  required_providers {\n    infiniband = { source = \"ibfabric/infiniband\" }\n  " +
	"}\n}\n\n"

// HCL writes a configuration with its provider block as the engines read it.
func HCL(provider map[string]any, cfg Config) string {
	var b strings.Builder
	b.WriteString("provider \"infiniband\" {\n")
	attributes(&b, provider)
	b.WriteString("}\n")
	for _, r := range cfg {
		fmt.Fprintf(&b, "\nresource %q %q {\n", r.Type, r.Name)
		attributes(&b, r.Attrs)
		if len(r.After) > 0 {
			fmt.Fprintf(&b, "  depends_on = [%s]\n", strings.Join(r.After, ", "))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func attributes(b *strings.Builder, attrs map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		fmt.Fprintf(b, "  %s = %s\n", key, expression(attrs[key]))
	}
}

func expression(v any) string {
	switch data := v.(type) {
	case Ref:
		text := data.Address
		for _, step := range data.Path {
			switch s := step.(type) {
			case string:
				if _, err := strconv.Atoi(s); err == nil {
					text += fmt.Sprintf("[%q]", s) // a key that is no name
				} else {
					text += "." + s
				}
			default:
				text += fmt.Sprintf("[%v]", s)
			}
		}
		return text
	case []string:
		return expression(anySlice(data))
	case []any:
		items := make([]string, len(data))
		for i, item := range data {
			items[i] = expression(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		items := make([]string, 0, len(data))
		for _, key := range slices.Sorted(maps.Keys(data)) {
			items = append(items, fmt.Sprintf("%q = %s", key, expression(data[key])))
		}
		return "{ " + strings.Join(items, ", ") + " }"
	}
	// Strings, numbers and truth values are written as in JSON; no value of these
	// configurations holds an HCL template.
	text, err := json.Marshal(v)
	if err != nil {
		panic("acctest: " + err.Error())
	}
	return string(text)
}

func anySlice(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
