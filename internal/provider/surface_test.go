package provider_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dsschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// term is one kind of value: the names that it goes by, and its one form.
type term struct {
	name   string // regular expression over the name of an attribute
	form   attr.Type
	starts string // how its description starts
}

// part is one part of the surface: its objects and the words of its values. The first
// term that fits a name counts.
type part struct {
	objects  []string
	glossary []term
	least    int // attributes that it has at least
}

var surface = map[string]part{
	"cards and firmware": {
		objects: []string{
			"infiniband_card", "infiniband_cards", "infiniband_firmware", "infiniband_firmware_image",
			"infiniband_firmware_backup", "infiniband_guids", "infiniband_link_type", "infiniband_nv_config",
			"infiniband_virtual_functions",
			"infiniband_activation", "infiniband_history",
			"infiniband_firmware_catalog",
		},
		glossary: []term{
			{name: `^product_version$`, form: types.StringType}, // the vendor's own text
			{name: `version$`, form: attribute.VersionType{}},
			{name: `psid$`, form: attribute.PSIDType{}},
			{name: `_guid$`, form: attribute.GUIDType{}},
			{name: `port_guids$`, form: types.MapType{ElemType: attribute.GUIDType{}}},
			{name: `macs$`, form: types.MapType{ElemType: attribute.MACType{}}},
			{name: `^allow$`, starts: "Consents to "},
			{name: `^((psid|guid|branch)_change|downgrade|reinstall|other_board|without_copy|unproven_flash|management_path|other_cards|removed_functions)$`, starts: "Consent to "},
			{name: `^allowed_management_path$`, starts: "Interfaces "},
			{name: `backup_path$`, form: types.StringType, starts: "Directory "},
			{name: `_path$`, form: types.StringType, starts: "File "},
			{name: `^pci_address$`, form: attribute.PCIType{}},
			{name: `^card_id$`, form: attribute.CardIDType{}},
			{name: `^image_id$`, form: attribute.ImageIDType{}},
			{name: `sha256$`},
		},
		least: 100,
	},
	"adoption": {
		objects:  []string{"infiniband_adoption"},
		glossary: []term{{name: `^hosts$`, form: types.SetType{ElemType: types.StringType}, starts: "Names "}},
		least:    6,
	},
	"fabric and network": {
		objects: []string{
			"infiniband_opensm", "infiniband_ipoib_interface", "infiniband_port", "infiniband_fabric", "infiniband_connectivity",
			"infiniband_rdma_ready",
			"infiniband_benchmark", "infiniband_host", "infiniband_fabric_file", "infiniband_fabric_baseline",
			"infiniband_node_names",
		},
		glossary: []term{
			{name: `_guid$`, form: attribute.GUIDType{}},
			{name: `^file_path$`, form: types.StringType, starts: "File "},
			{name: `^pkey$`, form: attribute.PKeyType{}, starts: "P_Key "},
			{name: `^card_id$`, form: attribute.CardIDType{}},
			{name: `^(min_)?width$`, form: types.StringType, starts: "Width "},
			{name: `^widths$`, form: types.SetType{ElemType: types.StringType}, starts: "Widths "},
			{name: `^widths_`, form: types.ListType{ElemType: types.StringType}, starts: "Widths "},
			{name: `_lanes$`, form: types.Int64Type, starts: "Lanes "},
			{name: `^rtt_(min|avg|max)_us$|latency_us$|gbps$|_percent$`, form: types.Float64Type},
			{name: `(^|_)(duration|time|timeout)$`, form: attribute.DurationType{}},
			{name: `^rate$|_rate$`, form: types.StringType, starts: "Rate "},
			{name: `^port$|lid$|mtu$`, form: types.Int64Type},
			{name: `^mode$|_?state$`, form: types.StringType},
			{name: `^allow$`, starts: "Consents to "},
			{name: `^(adopt_(files|without)|management_path)$`, form: types.ListType{ElemType: types.StringType},
				starts: "Consent to "},
			{name: `^(adopt_interface|keep_interface|private_mtu|last_manager|equal_priority)$`, starts: "Consent to "},
		},
		least: 150,
	},
}

// Names that stood for something else before, or for two things. A width of a card was
// that of its slot; one of the fabric is that of a link.
var formerNames = regexp.MustCompile(`\.(rungs?|guids|firmware_version|path|max_width|timeout|brief|slots_of|pcie_width|allow_\w+_(change|path|cards|flash|interface)|` +
	`truenas_keep_interface|truenas_private_mtu)$|infiniband_cards?\.(.*\.)?width$|\.partitions\.rate$`)

// Spellings that no description has: a state is called as ibstat calls it, and a P_Key
// has the bit of full members.
var formerSpellings = regexp.MustCompile("`Initialize`|`0x(7fff|7ffe|0001)`")

// Lists in which no position means anything, or its age. A consent is one because the
// framework has no write-only sets. from and to of one belong together value by value: one GUID may be
// there twice and become two. Drain commands run one after the other.
var plainLists = []string{"after_failure", "from", "to", "hardware_ids", "management_path", "allowed_management_path", "other_cards", "removed_functions", "changes",
	"drains"}

// described is an attribute of a resource or of a data source.
type described interface {
	GetType() attr.Type
	GetMarkdownDescription() string
}

// schemasOf are the attributes of a part of the surface by their addresses.
func schemasOf(t *testing.T, names []string) map[string]described {
	t.Helper()
	all := map[string]described{}
	p := provider.New("test")()
	for _, newOne := range p.Resources(context.Background()) {
		var named resource.MetadataResponse
		var got resource.SchemaResponse
		r := newOne()
		r.Metadata(context.Background(), resource.MetadataRequest{ProviderTypeName: "infiniband"}, &named)
		r.Schema(context.Background(), resource.SchemaRequest{}, &got)
		if slices.Contains(names, named.TypeName) {
			addNested(all, named.TypeName, got.Schema.Attributes)
		}
	}
	for _, newOne := range p.DataSources(context.Background()) {
		var named datasource.MetadataResponse
		var got datasource.SchemaResponse
		d := newOne()
		d.Metadata(context.Background(), datasource.MetadataRequest{ProviderTypeName: "infiniband"}, &named)
		d.Schema(context.Background(), datasource.SchemaRequest{}, &got)
		if slices.Contains(names, named.TypeName) {
			addNested(all, "data."+named.TypeName, got.Schema.Attributes)
		}
	}
	return all
}

// addNested adds attributes and those in them.
func addNested[A described](all map[string]described, at string, attrs map[string]A) {
	for name, a := range attrs {
		all[at+"."+name] = a
		switch nested := any(a).(type) {
		case schema.SingleNestedAttribute:
			addNested(all, at+"."+name, nested.Attributes)
		case schema.MapNestedAttribute:
			addNested(all, at+"."+name, nested.NestedObject.Attributes)
		case schema.ListNestedAttribute:
			addNested(all, at+"."+name, nested.NestedObject.Attributes)
		case dsschema.ListNestedAttribute:
			addNested(all, at+"."+name, nested.NestedObject.Attributes)
		case dsschema.SingleNestedAttribute:
			addNested(all, at+"."+name, nested.Attributes)
		case dsschema.MapNestedAttribute:
			addNested(all, at+"."+name, nested.NestedObject.Attributes)
		}
	}
}

func TestSurface_has_one_form_for_each_kind_of_value(t *testing.T) {
	for name, p := range surface {
		attrs := schemasOf(t, p.objects)
		if len(attrs) < p.least {
			t.Errorf("%s: found %d attributes", name, len(attrs))
		}
		for _, at := range slices.Sorted(maps.Keys(attrs)) {
			p.check(t, at, attrs[at])
		}
	}
}

// check holds one attribute to the words of its part.
func (p part) check(t *testing.T, at string, a described) {
	t.Helper()
	name, text := at[strings.LastIndex(at, ".")+1:], a.GetMarkdownDescription()
	if formerNames.MatchString(at) {
		t.Errorf("%s: a name that is gone", at)
	}
	if spelled := formerSpellings.FindString(text); spelled != "" {
		t.Errorf("%s: %s is spelled otherwise: %q", at, spelled, text)
	}
	if !strings.HasSuffix(text, ".") {
		t.Errorf("%s: the description is no sentence: %q", at, text)
	}
	for _, term := range p.glossary {
		if !regexp.MustCompile(term.name).MatchString(name) {
			continue
		}
		if term.form != nil && !a.GetType().Equal(term.form) {
			t.Errorf("%s is %s, expected %s", at, a.GetType(), term.form)
		}
		if !strings.HasPrefix(text, term.starts) {
			t.Errorf("%s: the description does not start with %q: %q", at, term.starts, text)
		}
		return
	}
}

// What a position in a list of cards and firmware means nobody could know: a map says
// it, or it means nothing, and is a set.
func TestSurface_cards_have_no_lists(t *testing.T) {
	for at, a := range schemasOf(t, surface["cards and firmware"].objects) {
		name := at[strings.LastIndex(at, ".")+1:]
		if _, list := a.GetType().(types.ListType); list && !slices.Contains(plainLists, name) {
			t.Errorf("%s is a list: use a map if positions mean something, else a set", at)
		}
	}
}

// notImported are resources that no import can find, with the reason.
var notImported = map[string]string{
	"infiniband_benchmark":       "a measurement belongs to its time; of past ones a host has one line each",
	"infiniband_fabric_baseline": "what a fabric was is in the state alone; no host keeps it",
}

// Every resource has an identity, whose attributes are the parts of the id of an
// import. Examples show the command, a block with the id and a block with the
// identity, and all three name one object.
func TestSurface_resources_are_imported_in_three_ways(t *testing.T) {
	command := regexp.MustCompile(`(?m)^terraform import (\S+) (\S+)$`)
	byID := regexp.MustCompile(`^import {\n  to = (\S+)\n  id = "(\S+)"\n}\n$`)
	byIdentity := regexp.MustCompile(`^import {\n  to = (\S+)\n  identity = {\n([^}]+)  }\n}\n$`)
	part := regexp.MustCompile(`(?m)^    (\w+) += "?([^"\n]+)"?$`)
	example := func(kind, file string, form *regexp.Regexp) []string {
		text, err := os.ReadFile(filepath.Join("../../examples/resources", kind, file))
		found := form.FindStringSubmatch(string(text))
		if err != nil || len(found) != 3 {
			t.Errorf("%s: %s: %v: %q", kind, file, err, text)
			return make([]string, 2)
		}
		return found[1:]
	}
	for kind, r := range allResources() {
		identified, hasIdentity := r.(resource.ResourceWithIdentity)
		_, hasImport := r.(resource.ResourceWithImportState)
		if why := notImported[kind]; why != "" {
			if hasIdentity || hasImport {
				t.Errorf("%s is said to have no import (%s), and has one", kind, why)
			}
			continue
		}
		if !hasIdentity || !hasImport {
			t.Errorf("%s has an identity: %t, an import: %t", kind, hasIdentity, hasImport)
			continue
		}
		var schema resource.IdentitySchemaResponse
		identified.IdentitySchema(t.Context(), resource.IdentitySchemaRequest{}, &schema)
		one, two, three := example(kind, "import.sh", command), example(kind, "import-by-string-id.tf", byID), example(kind,
			"import-by-identity.tf", byIdentity)
		var parts []string
		for _, found := range part.FindAllStringSubmatch(three[1], -1) {
			if schema.IdentitySchema.Attributes[found[1]] == nil {
				t.Errorf("%s: its identity has no %s", kind, found[1])
			}
			parts = append(parts, found[2])
		}
		for name, a := range schema.IdentitySchema.Attributes {
			if a.IsRequiredForImport() && !strings.Contains(three[1], "    "+name+" ") ||
				!strings.HasSuffix(a.GetDescription(), ".") {
				t.Errorf("%s: %s is not in the example, or has no description", kind, name)
			}
		}
		if id := strings.Join(parts, "/"); !slices.Equal(one, two) || one[0] != three[0] || one[1] != id {
			t.Errorf("%s: the command imports %q, the block with the id %q, the one with the identity %q as %s", kind, one,
				two, id, three[0])
		}
	}
}

// A port GUID comes from infiniband_guids where an example has one, else from the card. The module of a
// lab decides that for each card: infiniband_guids is there for those with a base MAC.
func TestSurface_examples_derive_a_port_GUID_in_one_way(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.tf")
	more, errMore := filepath.Glob("../../examples/*/*/*.tf")
	if err != nil || errMore != nil {
		t.Fatal(err, errMore)
	}
	assigned := regexp.MustCompile(`(?m)^\s*port_guid\s*=\s*(.*)$`)
	ofGUIDs := regexp.MustCompile(`^infiniband_guids\.\w+\.port_guids\["1"\]$`)
	ofCard := regexp.MustCompile(`^infiniband_card\.\w+\.port_guids\["[12]"\]$`)
	ofEach := regexp.MustCompile(`^local\.port_guids\[each\.value\.card\]\[each\.value\.port\]$`)
	decided := []string{
		`identified = { for name, card in var.cards : name => card if card.base_mac != null }`,
		`resource "infiniband_guids" "card" { for_each = local.identified `,
		`port_guids = { for name, card in var.cards : name => try(card.base_mac != null ? ` +
			`infiniband_guids.card[name].port_guids : infiniband_card.card[name].port_guids, null) }`,
	}
	seen := 0
	for _, file := range append(files, more...) {
		if strings.HasPrefix(filepath.Base(file), "import-by-") {
			continue // an import names what no resource has yet
		}
		text, readErr := os.ReadFile(file)
		main, mainErr := os.ReadFile(filepath.Join(filepath.Dir(file), "main.tf"))
		if readErr != nil || mainErr != nil && !os.IsNotExist(mainErr) {
			t.Fatal(readErr, mainErr)
		}
		form := ofCard
		if strings.Contains(string(text)+string(main), `resource "infiniband_guids"`) {
			form = ofGUIDs
		}
		oneLine := strings.Join(strings.Fields(string(text)), " ")
		if !slices.ContainsFunc(decided, func(part string) bool { return !strings.Contains(oneLine, part) }) {
			form = ofEach
		}
		for _, m := range assigned.FindAllStringSubmatch(string(text), -1) {
			if seen++; !form.MatchString(m[1]) {
				t.Errorf("%s: port_guid is %s", file, m[1])
			}
		}
	}
	if seen < 4 { // two in the module, which every lab calls, and two in examples of resources
		t.Errorf("found %d", seen)
	}
}

// allResources are the resources of the provider by type.
func allResources() map[string]resource.Resource {
	out := map[string]resource.Resource{}
	for _, newOne := range provider.New("test")().Resources(context.Background()) {
		var named resource.MetadataResponse
		r := newOne()
		r.Metadata(context.Background(), resource.MetadataRequest{ProviderTypeName: "infiniband"}, &named)
		out[named.TypeName] = r
	}
	return out
}

func TestSurface_each_page_has_a_subcategory(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*s/*.md")
	if err != nil {
		t.Fatal(err)
	}
	category := regexp.MustCompile(`(?m)^subcategory: "(Cards|Firmware|Fabric|Network|Evidence|Adoption)"$`)
	seen := 0
	for _, page := range pages {
		kind := filepath.Base(filepath.Dir(page))
		if !slices.Contains([]string{"resources", "data-sources", "list-resources", "actions"}, kind) {
			continue
		}
		seen++
		text, readErr := os.ReadFile(page)
		if readErr != nil || !category.Match(text) {
			t.Errorf("%s: no subcategory (%v)", page, readErr)
		}
	}
	if seen < 24 {
		t.Errorf("found %d pages", seen)
	}
}
