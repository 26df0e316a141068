package review

import (
	"slices"
	"strings"
)

// effect is what an apply does to a host besides its objects: a restart, a file, a package.
type effect struct{ Address, What, Values string }

// effects are the attributes that say so, with the words for them.
var effects = [][2]string{
	{"restarts", "restarts"}, {"way", "activates by"}, {"drains", "drains by"}, {"stored_in", "writes"},
}

// isEffect reports whether an attribute is none of the object itself.
func isEffect(attribute string) bool {
	return attribute == "restarts" || attribute == "way" || attribute == "drains"
}

// row is one line of a table: what of which object changes, from what to what.
type row struct{ Object, Identity, What, From, To string }

// verbs say what an apply does with an object.
var verbs = map[string]string{"create": "created", "update": "changed", "delete": "removed", "forget": "forgotten",
	"delete,create": "replaced", "create,delete": "replaced"}

// verb is what happens to the resource; empty if nothing does.
func (r *resource) verb() string {
	done := verbs[strings.Join(r.Change.Actions, ",")]
	if r.Change.Importing != nil {
		return strings.TrimSuffix("adopted, "+done, ", ")
	}
	if done == "" && r.Previous != "" {
		return "renamed"
	}
	return done
}

// changes reports whether anything happens to it.
func (r *resource) changes() bool { return r.Mode == "managed" && r.verb() != "" }

// rows say what changes. written are the arguments of the configuration.
func (r *resource) rows(written map[string]expression) []row {
	var out []row
	if r.Previous != "" && r.Previous != r.Address {
		out = append(out, row{What: "address", From: r.Previous, To: r.Address})
	}
	told := fromTo(r.planned())
	if out = append(out, told...); r.Change.After != nil {
		all := slices.DeleteFunc(r.differences(written), func(one row) bool {
			return slices.ContainsFunc(told, func(t row) bool { return t.What == topOf(one.What) })
		})
		out = append(out, asked(all, written, len(out) > 0)...)
	}
	if len(out) == 0 || r.Change.Importing != nil {
		out = append(out, row{What: "object", To: r.verb()})
	}
	if r.restores() {
		out = append(out, row{What: "flash", From: textOf(r.Change.Before, "flash_psid") + " " +
			textOf(r.Change.Before, "flash_version"), To: "backup " + textOf(r.Change.Before, "original_backup_path")})
	}
	// Other objects keep the values of before on the host.
	if r.verb() == "removed" && r.Type != "infiniband_firmware" && textOf(r.Change.Before, "on_destroy") == "restore" {
		out = append(out, row{What: "settings", To: "those of before"})
	}
	return r.named(out)
}

// restores reports whether the object burns the earlier firmware back when it goes. Only a warning says of
// which version that is, and whether the card has it already.
func (r *resource) restores() bool {
	return r.verb() == "removed" && r.Type == "infiniband_firmware" &&
		textOf(r.Change.Before, "on_destroy") == "restore" && textOf(r.Change.Before, "original_backup_path") != ""
}

// named are the rows with the object that they are of. A card has several resources.
func (r *resource) named(rows []row) []row {
	part := ""
	if r.isOfCard() && r.Type != "infiniband_card" {
		part = strings.TrimPrefix(r.Type, "infiniband_") + " "
	}
	for i := range rows {
		rows[i].Object, rows[i].Identity = r.object(), r.identity()
		rows[i].What = strings.TrimSpace(part + rows[i].What)
	}
	return rows
}

// differences are the values that differ and are known, and of a new object what the
// configuration says of it.
func (r *resource) differences(written map[string]expression) []row {
	before := leaves("", r.Change.Before, nil, r.Change.BeforeSensitive)
	after := leaves("", r.Change.After, r.Change.Unknown, r.Change.AfterSensitive)
	var out []row
	for _, at := range places(before, after) {
		top := topOf(at)
		_, asked := written[top]
		from, to := textAt(before, at), textAt(after, at)
		later := to == laterKnown && !asked || to == "" && isTrue(member(r.Change.Unknown, top))
		if from != to && !later && !slices.Contains(apart, top) && !isEffect(top) && (asked || r.Change.Before != nil) {
			out = append(out, row{What: at, From: from, To: to})
		}
	}
	return out
}

// asked are the rows of what the configuration says. Where there are some, or the attribute change has
// said it, the values that follow from it would say the same again: all but that a host has to restart.
func asked(all []row, written map[string]expression, said bool) []row {
	follows := func(one row) bool {
		_, ok := written[topOf(one.What)]
		return !ok && one.What != "reboot_required"
	}
	if !said && !slices.ContainsFunc(all, func(one row) bool { return !follows(one) }) {
		return all
	}
	return slices.DeleteFunc(all, follows)
}

// topOf is the attribute of a place such as effective.addresses[0].
func topOf(place string) string {
	top, _, _ := strings.Cut(strings.ReplaceAll(place, "[", "."), ".")
	return top
}

// apart are attributes that have a place of their own in a review, or only name what others show.
var apart = []string{"change", "id", "host", "card_id", "card_identity", "image_id"}

// planned are the parts of the attribute change, if this plan changes something. A state keeps what the last change
// was; that of a new object is its own, and reads like the last one where another card gets the same firmware.
func (r *resource) planned() []string {
	text, last := textOf(r.Change.After, "change"), textOf(r.Change.Before, "change")
	if text == "" || text == last && !slices.Contains(r.Change.Actions, "create") {
		return nil
	}
	return strings.Split(strings.TrimPrefix(text, "again: "), "; ")
}

// fromTo are the parts with an arrow, and those that name a port: what is in the card before and after.
func fromTo(planned []string) []row {
	var out []row
	for _, part := range planned {
		at, what, named := strings.Cut(part, ": ")
		if !named {
			at, what = "", part
		}
		if from, to, changes := strings.Cut(what, " -> "); changes {
			out = append(out, row{What: at, From: from, To: to})
		} else if named {
			out = append(out, row{What: at, To: what})
		}
	}
	return out
}

// steps are the other parts, what is done on the host: "writes" a file, "starts" a service.
func steps(planned []string) []effect {
	var out []effect
	for _, part := range planned {
		if len(fromTo([]string{part})) == 0 {
			verb, what, _ := strings.Cut(part, " ")
			out = append(out, effect{What: verb, Values: what})
		}
	}
	return out
}
