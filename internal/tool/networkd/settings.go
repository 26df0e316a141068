package networkd

import "github.com/ibfabric/terraform-provider-infiniband/internal/tool"

// Settings are the assignments of a file by section and name. Where a section begins again says
// nothing, but for a route, whose assignments File reads together.
func Settings(text string) (all []tool.Setting) {
	for _, section := range tool.Sections(text) {
		for _, s := range section.Settings {
			all = append(all, tool.Setting{Line: s.Line, Name: section.NameOf(s), Value: tool.Switch(s.Value)})
		}
	}
	return all
}
