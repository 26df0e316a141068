package netplan

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// heldOurs are the settings of our definition that a Device holds.
var heldOurs = []string{"infiniband-mode", "mtu", "renderer", "addresses", "gateway4", "gateway6"}

// sep stands between the keys of a setting: the name of an interface may have a dot.
const (
	sep         = "\x00"
	definitions = "network" + sep + "ethernets" + sep
)

// Added are the settings of a file of ours that Render does not write. In its definition they
// are named without where it stands.
func Added(text string) (added []tool.Setting) {
	devices, err := Parse(text)
	if err != nil {
		return []tool.Setting{{Name: err.Error()}}
	}
	all, err := leaves(text)
	if err != nil {
		return []tool.Setting{{Name: err.Error()}}
	}
	own := ourDefinition(all)
	written := map[string]string{}
	d := Device{ID: "x", Renderer: RendererNetworkd}
	d.DHCP4 = slices.ContainsFunc(devices, func(d Device) bool { return d.DHCP4 && definitions+d.ID+sep == own })
	ours, _ := leaves(Render("", d)) // our own text is one of YAML
	for _, s := range ours {
		written[strings.TrimPrefix(s.Name, definitions+"x"+sep)] = s.Value
	}
	for _, s := range all {
		short, isOurs := strings.CutPrefix(s.Name, own)
		value, known := written[short]
		if known && (value == s.Value || isOff(value) && isOff(s.Value)) || isOurs && slices.Contains(heldOurs, short) {
			continue
		}
		added = append(added, tool.Setting{Line: s.Line, Name: strings.ReplaceAll(short, sep, "."), Value: s.Value})
	}
	return added
}

// ourDefinition is where the definition with a mode stands, as ours has one, or the first.
func ourDefinition(all []tool.Setting) string {
	first := definitions + sep
	// From behind, so that without a mode the first definition is left at the end.
	for _, s := range slices.Backward(all) {
		id, ok := strings.CutPrefix(s.Name, definitions)
		if !ok {
			continue
		}
		id, _, _ = strings.Cut(id, sep)
		if first = definitions + id + sep; s.Name == first+"infiniband-mode" {
			return first
		}
	}
	return first
}

// isOff reads a switch that is off. A text of YAML 1.1 has several words for it.
func isOff(v string) bool {
	return slices.Contains([]string{"false", "no", "off", "n"}, strings.ToLower(v))
}

// leaves are the values of a file, which Parse understands, by the keys that lead to them. Of a
// route with a gateway those are left out that a Device holds.
func leaves(text string) ([]tool.Setting, error) {
	file, err := parser.ParseBytes([]byte(tool.WithoutMark(text)), 0)
	if err != nil {
		return nil, err
	}
	var all []tool.Setting
	for _, doc := range file.Docs {
		all = appendLeaves(all, "", doc.Body)
	}
	return all, nil
}

func appendLeaves(all []tool.Setting, name string, node ast.Node) []tool.Setting {
	switch n := node.(type) {
	case nil, *ast.CommentGroupNode:
		return all
	case *ast.MappingNode:
		for _, v := range n.Values {
			if !isGateway(name, n.Values, v) {
				all = appendLeaves(all, name, v)
			}
		}
		return all
	case *ast.MappingValueNode:
		key := strings.Trim(n.Key.String(), "\"'")
		if name != "" {
			key = name + sep + key
		}
		return appendLeaves(all, key, n.Value)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			all = appendLeaves(all, name, v)
		}
		// An empty list is a value of its own: "link-local: []" is one that Render writes.
		if len(n.Values) > 0 {
			return all
		}
	case *ast.AnchorNode:
		return appendLeaves(all, name, n.Value)
	case *ast.TagNode:
		return appendLeaves(all, name, n.Value)
	}
	token := node.GetToken()
	return append(all, tool.Setting{Line: token.Position.Line, Name: name, Value: token.Value})
}

// isGateway reports whether a setting of a route is one that a Device holds.
func isGateway(name string, route []*ast.MappingValueNode, v *ast.MappingValueNode) bool {
	if !strings.HasSuffix(name, sep+"routes") {
		return false
	}
	key := func(v *ast.MappingValueNode) string { return v.Key.String() }
	hasVia := slices.ContainsFunc(route, func(v *ast.MappingValueNode) bool { return key(v) == "via" })
	return hasVia && (key(v) == "to" || key(v) == "via")
}
