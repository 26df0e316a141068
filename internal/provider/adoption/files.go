package adoption

import (
	"fmt"
	"slices"
	"strings"
)

// Files are the texts of the files with resources, by name.
func (f *Lab) Files() map[string][]byte {
	out := map[string][]byte{}
	bodies, imports := map[string][]string{}, []string(nil)
	refused := f.RefusedAlike()
	for _, o := range f.objects {
		file := kinds[o.Type].file
		if o.Reason != nil && !o.taken {
			i := slices.IndexFunc(refused, func(all []*Object) bool { return all[0] == o })
			if i >= 0 {
				bodies[file] = append(bodies[file], f.notAdopted(refused[i]))
			}
			continue
		}
		all := f.instances(o)
		if o != all[0] {
			continue
		}
		forEach := ""
		if o.Key != "" {
			forEach = f.forEach(all)
		}
		bodies[file] = append(bodies[file], comment(above(all))+block(o, f.written(o), forEach, f.after(all)))
		imports = append(imports, importOf(all))
	}
	for file, blocks := range bodies {
		out[file] = Format(strings.Join(blocks, "\n"))
	}
	out["imports.tf"] = Format(comment("What is adopted. After the first apply this file has done its work and can go.") +
		"\n" + strings.Join(imports, "\n"))
	return out
}

// above is the comment above a block. What is not the same on all hosts is said of each.
func above(all []*Object) string {
	var texts []string
	for _, o := range all {
		text := about(o)
		switch {
		case o.taken:
			text = reason(o, "Taken over") + "\n"
		case len(all) > 1 && text != "":
			text = o.Host + ": " + text
		}
		texts = append(texts, text)
	}
	if same := about(all[0]); !all[0].taken &&
		!slices.ContainsFunc(all, func(o *Object) bool { return about(o) != same }) {
		return same
	}
	return strings.Join(texts, "\n")
}

// importOf is the import of what a block stands for.
func importOf(all []*Object) string {
	o := all[0]
	if o.Key == "" {
		return fmt.Sprintf("import {\nto = %s\nid = %s\n}\n", o.Address(), Text(o.ID))
	}
	return fmt.Sprintf("import {\nfor_each = %s\n\nto = %s[each.key]\nid = each.value\n}\n",
		perHost(all, func(o *Object) string { return Text(o.ID) }), o.block())
}

func reason(o *Object, verdict string) string {
	return verdict + ": " + o.Type + " " + o.ID + ".\n" + o.Reason.Summary + "\n\n" + o.Reason.Detail
}

// notAdopted is the comment in the place of resources of which the same is said. The
// resource follows, commented out, unless its plan is refused.
func (f *Lab) notAdopted(all []*Object) string {
	o := all[0]
	said := reason(o, "Not adopted")
	if o.offer == nil {
		if len(all) > 1 {
			said += "\n\nThe same is said of " + IDs(all[1:]) + "."
		}
		return comment(said)
	}
	var b strings.Builder
	how := "This adopts it with that change. Take the signs away, and read the plan:\n"
	if o.waits != nil {
		how = o.waits.until + ", this adopts it with that change. Take the signs away then, and read the plan:\n"
	}
	b.WriteString(comment(said + "\n\n" + how))
	b.WriteString("#\n")
	alone := []*Object{o}
	for line := range strings.Lines(string(Format(block(o, f.offered(o), "", f.after(alone)) + "\n" + importOf(alone)))) {
		b.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return b.String()
}

// block writes a resource. forEach is empty unless it stands for several hosts; after names
// the blocks that come before it without being named by a value.
func block(o *Object, given form, forEach string, after []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "resource %q %q {\n", o.Type, o.Name)
	if forEach != "" {
		fmt.Fprintf(&b, "for_each = %s\n\n", forEach)
	}
	for _, a := range given {
		fmt.Fprintf(&b, "%s = %s\n", a.name, a.expression(o))
	}
	if len(after) > 0 {
		fmt.Fprintf(&b, "\ndepends_on = [%s]\n", strings.Join(after, ", "))
	}
	b.WriteString("}\n")
	return b.String()
}

// after are the blocks with the link types of the cards whose ports a block uses. A port that
// is Ethernet has no interface, and no subnet manager finds it.
func (f *Lab) after(all []*Object) (blocks []string) {
	if all[0].Type != ipoibType && all[0].Type != smType {
		return nil
	}
	for _, o := range all {
		for _, other := range f.objects {
			written := other.Type == linkType && (other.taken || other.adopted())
			if written && o.card != nil && other.card == o.card && !slices.Contains(blocks, other.block()) {
				blocks = append(blocks, other.block())
			}
		}
	}
	return blocks
}

// about is the comment above a resource. It says what a reader wants to know and the
// arguments do not say.
func about(o *Object) string {
	join := func(words ...string) string {
		return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
	}
	switch o.Type {
	case cardType:
		return join(o.is("chip"), o.is("part_number"), prefixLines("serial number ", o.is("serial_number")))
	case firmwareType:
		if o.is("image_id") != "" {
			return "The image that was burned by this provider. Its copy is on the host; for another burn, stage a file " +
				"with infiniband_firmware_image."
		}
		return "Held as it is: a plan shows other firmware. To burn an image, write image_id in place of these two values."
	case ipoibType:
		return join(o.is("interface"), o.is("network_stack"))
	case smType:
		return o.is("unit")
	}
	return ""
}
