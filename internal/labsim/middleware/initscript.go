package middleware

import "time"

const defaultScriptTimeout = 10

var scriptFields = []field{
	{name: "type", kind: kindString, enum: []string{"COMMAND", "SCRIPT"}},
	{name: "command", kind: kindString},
	{name: "script", kind: kindString},
	{name: "when", kind: kindString, enum: []string{"PREINIT", "POSTINIT", "SHUTDOWN"}},
	{name: "enabled", kind: kindBool},
	{name: "timeout", kind: kindInt},
	{name: "comment", kind: kindString, maxLen: 255},
}

const (
	cronRead  = "SYSTEM_CRON_READ"
	cronWrite = "SYSTEM_CRON_WRITE"
)

var scriptMethods = map[string]method{
	"initshutdownscript.query": {params: queryParams, role: cronRead, call: func(s *Server, args []any) (any, error) {
		filters, _ := args[0].([]any)
		return runQuery(s.db.scripts, filters, asMap(args[1]))
	}},
	"initshutdownscript.create": {role: cronWrite, call: (*Server).scriptCreate, params: []field{
		{name: "data", kind: kindModel, required: true, model: "InitShutdownScriptCreate",
			fields: requireFields(scriptFields, "type", "when")},
	}},
	"initshutdownscript.delete": {role: cronWrite, call: (*Server).scriptDelete, params: []field{
		{name: "id", kind: kindInt, required: true},
	}},
}

// requireFields returns the fields with some of them made obligatory.
func requireFields(fields []field, names ...string) []field {
	out := append([]field(nil), fields...)
	for i := range out {
		for _, n := range names {
			if out[i].name == n {
				out[i].required = true
			}
		}
	}
	return out
}

func (s *Server) scriptCreate(args []any) (any, error) {
	data := asMap(args[0])
	e := Obj("type", str(data, "type"), "command", str(data, "command"), "script", str(data, "script"),
		"when", str(data, "when"), "enabled", boolOr(data, "enabled", true),
		"timeout", intOr(data, "timeout", defaultScriptTimeout), "comment", str(data, "comment"))
	if errs := s.checkScript("init_shutdown_script_create", e); len(errs) > 0 {
		return nil, errs
	}
	e.Set("id", s.db.nextScript)
	s.db.nextScript++
	s.db.scripts = append(s.db.scripts, e)
	return e.clone(), nil
}

// checkScript wants a command; there is no check for an equal
// entry, so a careless client collects duplicates.
func (s *Server) checkScript(schema string, e *Object) ValidationErrors {
	if t, _ := e.Get("type"); t != "COMMAND" {
		s.sys.Unsimulated("init script of another type than COMMAND")
		return invalidField(schema+".type", "not simulated")
	}
	e.Set("script", "")
	if c, _ := e.Get("command"); c == "" {
		return invalidField(schema+".command", "This field is required")
	}
	return nil
}

func (s *Server) scriptDelete(args []any) (any, error) {
	id, _ := args[0].(int)
	i := find(s.db.scripts, id)
	if i < 0 {
		return nil, notFoundID("Initshutdownscript", id)
	}
	s.db.scripts = append(s.db.scripts[:i:i], s.db.scripts[i+1:]...)
	return true, nil
}

func find(rows []*Object, id int) int {
	for i, r := range rows {
		if have, _ := r.Get("id"); have == id {
			return i
		}
	}
	return -1
}

// RunInitTasks runs the scripts of one phase as a job, in database order.
func (s *Server) RunInitTasks(when string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startJob()
	s.runTasks(when)
}

// runTasks lets go of the lock around each script, because a script may call
// midclt. A failure or a timeout is logged and nothing else.
func (s *Server) runTasks(when string) {
	for _, e := range append([]*Object(nil), s.db.scripts...) {
		at, _ := e.Get("when")
		on, _ := e.Get("enabled")
		if at != when || on != true {
			continue
		}
		cmd, _ := e.Get("command")
		line, _ := cmd.(string)
		secs, _ := e.Get("timeout")
		n, _ := secs.(int)
		s.mu.Unlock()
		err := s.sys.RunScript(line, time.Duration(n)*time.Second)
		s.mu.Lock()
		if err != nil {
			s.sys.Log("[DEBUG] (InitShutdownScriptService.execute_task():1) - Failed to execute " + line + ": " + err.Error())
		}
	}
}
