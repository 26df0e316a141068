package adoption

import (
	"fmt"
	"strings"
)

// Files are the texts of the files with resources, by name.
func (f *Lab) Files() map[string][]byte {
	out := map[string][]byte{}
	bodies, imports := map[string][]string{}, []string(nil)
	for _, o := range f.objects {
		file := kinds[o.Type].file
		switch {
		case o.taken:
			bodies[file] = append(bodies[file], comment(reason(o, "Taken over"))+block(o, f.offered(o)))
		case o.Reason != nil:
			bodies[file] = append(bodies[file], f.notAdopted(o))
			continue
		default:
			bodies[file] = append(bodies[file], comment(about(o))+block(o, f.forms(o)[o.form]))
		}
		imports = append(imports, importOf(o))
	}
	for file, blocks := range bodies {
		out[file] = Format(strings.Join(blocks, "\n"))
	}
	out["imports.tf"] = Format(comment("What is adopted. After the first apply this file has done its work and can go.") +
		"\n" + strings.Join(imports, "\n"))
	return out
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

func importOf(o *Object) string {
	return fmt.Sprintf("import {\nto = %s\nid = %s\n}\n", o.Address(), Text(o.ID))
}

func reason(o *Object, verdict string) string {
	return verdict + ": " + o.Type + " " + o.ID + ".\n" + o.Reason.Summary + "\n\n" + o.Reason.Detail
}

// notAdopted is the comment in the place of a resource that is not adopted. The
// resource follows, commented out, unless its plan is refused.
func (f *Lab) notAdopted(o *Object) string {
	said := reason(o, "Not adopted")
	if o.offer == nil {
		return comment(said)
	}
	var b strings.Builder
	b.WriteString(comment(said + "\n\nThis adopts it with that change. Take the signs away, and read the plan:\n"))
	b.WriteString("#\n")
	for line := range strings.Lines(string(Format(block(o, f.offered(o)) + "\n" + importOf(o)))) {
		b.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return b.String()
}
