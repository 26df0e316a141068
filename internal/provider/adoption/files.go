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

// written is how an object is written that is adopted or taken over.
func (f *Lab) written(o *Object) form {
	if o.taken {
		return f.offered(o)
	}
	return f.forms(o)[o.form]
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

// offered is how an object can be adopted if it may change. What it referred to when it was
// tried may have been refused since.
func (f *Lab) offered(o *Object) form {
	given := make(form, len(o.offer))
	for i, a := range o.offer {
		given[i] = f.argument(o, a.name, a.value)
	}
	return given
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
