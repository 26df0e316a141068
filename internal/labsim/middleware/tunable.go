package middleware

import (
	"strings"
)

var tunableMethods = map[string]method{
	"tunable.query": {params: queryParams, role: "SYSTEM_TUNABLE_READ", call: func(s *Server, args []any) (any, error) {
		filters, _ := args[0].([]any)
		return runQuery(s.db.tunables, filters, asMap(args[1]))
	}},
	"tunable.create": {role: "SYSTEM_TUNABLE_WRITE", job: true, call: (*Server).tunableCreate, params: []field{
		{name: "data", kind: kindModel, required: true, model: "TunableCreate", fields: []field{
			{name: "type", kind: kindString, enum: []string{"SYSCTL", "UDEV", "ZFS"}},
			{name: "var", kind: kindString, required: true},
			{name: "value", kind: kindString, required: true},
			{name: "comment", kind: kindString},
			{name: "enabled", kind: kindBool},
			{name: "update_initramfs", kind: kindBool},
		}},
	}},
	"tunable.update": {role: "SYSTEM_TUNABLE_WRITE", job: true, call: (*Server).tunableUpdate, params: []field{
		{name: "id", kind: kindInt, required: true},
		{name: "data", kind: kindModel, required: true, model: "TunableUpdate", fields: []field{
			{name: "value", kind: kindString},
			{name: "comment", kind: kindString},
			{name: "enabled", kind: kindBool},
			{name: "update_initramfs", kind: kindBool},
		}},
	}},
	"tunable.delete": {role: "SYSTEM_TUNABLE_WRITE", job: true, call: (*Server).tunableDelete, params: []field{
		{name: "id", kind: kindInt, required: true},
	}},
}

func (s *Server) tunableCreate(args []any) (any, error) {
	data := asMap(args[0])
	typ, name := str(data, "type"), str(data, "var")
	if errs := s.checkTunable(typ, name); len(errs) > 0 {
		return nil, errs
	}
	e := Obj("type", typ, "var", name, "value", str(data, "value"), "comment", str(data, "comment"),
		"enabled", boolOr(data, "enabled", true), "id", s.db.nextTunable, "orig_value", "")
	s.db.nextTunable++
	s.db.tunables = append(s.db.tunables, e)
	s.applyTunables()
	return withInitramfs(e, data), nil
}

func (s *Server) checkTunable(typ, name string) ValidationErrors {
	for _, t := range s.db.tunables {
		if v, _ := t.Get("var"); v == name {
			return ValidationErrors{{
				Errno: "EEXIST", Attribute: "tunable_create.var",
				Message: "Tunable '" + name + "' already exists in database.",
			}}
		}
	}
	switch {
	case typ != "UDEV":
		s.sys.Unsimulated("tunable of type " + typ)
		return invalidField("tunable_create.type", "not simulated")
	case strings.Contains(name, "truenas"):
		// The wording of this refusal is not recorded anywhere we could read.
		return invalidField("tunable_create.var", "Udev rules must not contain 'truenas' in their name")
	}
	return nil
}

// withInitramfs is the answer of a job: unlike a query it carries the request's
// update_initramfs between enabled and id.
func withInitramfs(e *Object, data map[string]any) *Object {
	out := Obj()
	for _, k := range e.keys {
		if k == "id" {
			out.Set("update_initramfs", boolOr(data, "update_initramfs", true))
		}
		out.Set(k, e.vals[k])
	}
	return out
}

func (s *Server) tunableUpdate(args []any) (any, error) {
	id, _ := args[0].(int)
	i := find(s.db.tunables, id)
	if i < 0 {
		return nil, notFoundID("Tunable", id)
	}
	e := s.db.tunables[i].clone()
	data := asMap(args[1])
	for _, k := range []string{"value", "comment", "enabled"} {
		if v, ok := data[k]; ok {
			e.Set(k, v)
		}
	}
	s.db.tunables[i] = e
	s.applyTunables()
	return withInitramfs(e, data), nil
}

func (s *Server) tunableDelete(args []any) (any, error) {
	id, _ := args[0].(int)
	i := find(s.db.tunables, id)
	if i < 0 {
		return nil, notFoundID("Tunable", id)
	}
	s.db.tunables = append(s.db.tunables[:i:i], s.db.tunables[i+1:]...)
	s.applyTunables()
	return nil, nil // null is the answer
}

// applyTunables empties /etc/udev/rules.d at any change of a tunable, foreign files
// included, and writes all rules; udev re-reads them, existing devices are left alone.
func (s *Server) applyTunables() { s.sys.ReplaceUdevRules(s.udevRules()) }

func (s *Server) udevRules() map[string]string {
	files := map[string]string{}
	for _, t := range s.db.tunables {
		name, _ := t.vals["var"].(string)
		value, _ := t.vals["value"].(string)
		if t.vals["enabled"] == true {
			files[name+".rules"] = value
		}
	}
	return files
}
