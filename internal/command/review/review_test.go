package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
)

func call(t *testing.T, stdin string) (status int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	status = Command.Run(t.Context(), nil, command.Streams{In: strings.NewReader(stdin), Out: &o, Err: &e})
	return status, o.String(), e.String()
}

// saved is a plan with one resource of a kind, before and after.
func saved(t *testing.T, kind string, change, more map[string]any) string {
	t.Helper()
	resource := map[string]any{"address": kind + ".a", "mode": "managed", "type": kind, "name": "a", "change": change}
	p := map[string]any{"format_version": "1.2", "planned_values": map[string]any{}, "resource_changes": []any{resource}}
	for key, v := range more {
		p[key] = v
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReview_saysFromWhatToWhat(t *testing.T) {
	t.Parallel()
	object := func(pairs ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[fmt.Sprint(pairs[i])] = pairs[i+1]
		}
		return out
	}
	update := object("actions", []string{"update"}, "before", object("id", "pc/0000:01:00.0", "mtu", 9000, "secret", "old", "gone", "x"),
		"after", object("id", "pc/0000:01:00.0", "mtu", 4092, "secret", "new"), "after_unknown", object("lid", true),
		"after_sensitive", object("secret", true), "before_sensitive", object("secret", true))
	for name, c := range map[string]struct {
		kind   string
		change map[string]any
		more   map[string]any
		says   []string
		not    []string
	}{
		"update": {"infiniband_ipoib_interface", update, nil, []string{"**1 changed.**",
			"| `infiniband_ipoib_interface.a` | `gone` | `x` | – |\n|  | `mtu` | `9000` | `4092` |\n"}, []string{"old", "new", "lid"}},
		"create of a card": {"infiniband_firmware", object("actions", []string{"create"}, "after", object(
			"id", "pc/0000:01:00.0", "card_identity", "serial number MT1", "change", "MT_9A 2.40 -> MT_9B 2.42", "activation", "reboot",
			"image_psid", "MT_9B"), "after_unknown", object("backup_path", true)),
			object("configuration", object("root_module", object("resources", []any{object("mode", "managed", "type",
				"infiniband_firmware", "name", "a", "expressions", object("activation", object("constant_value", "reboot"),
					"allow", object("references", []string{"var.older.downgrade", "var.older"})))})),
				"variables", object("older", object("value", object("downgrade", object("from", "2.42", "to", "2.40"))))),
			[]string{"| `pc/0000:01:00.0`<br>`serial number MT1` | `firmware` | `MT_9A 2.40` | `MT_9B 2.42` |\n|  | `firmware activation` | – | `reboot` |\n",
				"| `infiniband_firmware.a` | `allow` | `var.older.downgrade = { from = \"2.42\", to = \"2.40\" }` |"},
			[]string{"image_psid", "backup_path"}},
		"consent of a module": {"infiniband_firmware", object("actions", []string{"create"}, "after", object()), object(
			"resource_changes", []any{object("address", "module.lab.infiniband_firmware.a", "module_address", "module.lab", "mode",
				"managed", "type", "infiniband_firmware", "name", "a", "change", object("actions", []string{"create"}, "after", object()))},
			"configuration", object("root_module", object("module_calls", object("lab", object("module", object("resources",
				[]any{object("mode", "managed", "type", "infiniband_firmware", "name", "a", "expressions", object("allow",
					object("references", []string{"var.older"})))})))))),
			[]string{"Read it in the configuration of: `module.lab.infiniband_firmware.a`.\n"}, nil},
		"consent of a module whose key is a name with dots": {"infiniband_firmware", object("actions", []string{"create"}, "after", object()), object(
			"resource_changes", []any{object("address", `module.host["n1.lab \"a\"]."].infiniband_firmware.a`, "module_address",
				`module.host["n1.lab \"a\"]."]`, "mode", "managed", "type", "infiniband_firmware", "name", "a", "change",
				object("actions", []string{"create"}, "after", object()))},
			"configuration", object("root_module", object("module_calls", object("host", object("module", object("resources",
				[]any{object("mode", "managed", "type", "infiniband_firmware", "name", "a", "expressions", object("allow",
					object("references", []string{"var.older"})))})))))),
			[]string{"Read it in the configuration of: `module.host.infiniband_firmware.a`.\n"}, nil},
		"consent that a module is given": {"infiniband_firmware", object("actions", []string{"create"}, "after", object()), object(
			"resource_changes", []any{object("address", "module.lab.infiniband_firmware.a", "module_address", "module.lab", "mode",
				"managed", "type", "infiniband_firmware", "name", "a", "change", object("actions", []string{"create"}, "after", object()))},
			"variables", object("lab", object("value", object("reinstall", "2.42.5000"))),
			"configuration", object("root_module", object("module_calls", object("lab", object("expressions", object("older",
				object("references", []string{"var.lab"})), "module", object("resources", []any{object("mode", "managed", "type",
				"infiniband_firmware", "name", "a", "expressions", object("allow", object("references", []string{"var.older"})))})))))),
			[]string{"| `module.lab.infiniband_firmware.a` | `allow` | `var.older = { reinstall = \"2.42.5000\" }` |"}, nil},
		"consent that is looked up": {"infiniband_ipoib_interface", object("actions", []string{"create"}, "after", object()), object(
			"variables", object("cards", object("value", object("secret", object("x", "y")))),
			"configuration", object("root_module", object("resources", []any{object("mode", "managed", "type",
				"infiniband_ipoib_interface", "name", "a", "expressions", object("allow", object("references",
					[]string{"var.cards", "each.key"})))}))),
			[]string{"Read it in the configuration of: `infiniband_ipoib_interface.a`.\n"}, []string{"secret"}},
		"consents beside variables, one of which is sensitive": {"infiniband_firmware", object("actions", []string{"create"}, "after", object()),
			object("variables", object("cons", object("value", object("psid_change", object("from", "MT_9A", "to", "MT_9B"))),
				"hidden", object("value", object("reinstall", "s3cret")), "which", object("value", "chosen"),
				"site", object("value", object("reinstall", "2.42", "password", "s3cret"))),
				"configuration", object("root_module", object("variables", object("hidden", object("sensitive", true)), "resources",
					[]any{object("mode", "managed", "type", "infiniband_firmware", "name", "a", "expressions", object("allow", object(
						"references", []string{"var.cons.psid_change", "var.cons", "var.hidden", "var.which", "var.site"})))}))),
			[]string{"| `var.cons.psid_change = { from = \"MT_9A\", to = \"MT_9B\" }` |",
				"The plan does not say all that `allow` has. Read it in the configuration of: `infiniband_firmware.a`.\n"},
			[]string{"s3cret", "hidden", "chosen", "site"}},
		"consent by a function of constants": {"infiniband_firmware", object("actions", []string{"create"}, "after", object()), object(
			"configuration", object("root_module", object("resources", []any{object("mode", "managed", "type",
				"infiniband_firmware", "name", "a", "expressions", object("allow", object()))}))),
			[]string{"Read it in the configuration of: `infiniband_firmware.a`.\n"}, nil},
		"no consent": {"infiniband_firmware", object("actions", []string{"create"}, "after", object()), object(
			"configuration", object("root_module", object("resources", []any{object("mode", "managed", "type",
				"infiniband_firmware", "name", "a", "expressions", object("allow", object("constant_value", nil)))}))),
			nil, []string{"allow"}},
		"values that follow": {"infiniband_firmware", object("actions", []string{"update"}, "before", object("card_identity",
			"serial number MT1, chip ConnectX-3", "id", "pc/1", "flash_version", "2.40", "reboot_required", false), "after",
			object("card_identity", "serial number MT1, chip ConnectX-3", "id", "pc/1", "flash_version", "2.42", "change",
				"MT_9A 2.40 -> MT_9A 2.42", "reboot_required", true)), nil,
			[]string{"| `pc/1`<br>`serial number MT1` | `firmware` | `MT_9A 2.40` | `MT_9A 2.42` |\n",
				"| `firmware reboot_required` | `false` | `true` |"}, []string{"flash_version"}},
		"another card with the same change": {"infiniband_firmware", object("actions", []string{"delete", "create"}, "before", object(
			"id", "pc/1", "card_identity", "serial number MT1", "change", "MT_9A 2.40 -> MT_9B 2.42"), "after", object("id", "pc/1",
			"card_identity", "serial number MT9", "change", "MT_9A 2.40 -> MT_9B 2.42")), nil,
			[]string{"| `firmware` | `MT_9A 2.40` | `MT_9B 2.42` |"}, nil},
		"reset of cards": {"infiniband_activation", object("actions", []string{"update"}, "before", object("id", "pc"), "after",
			object("id", "pc", "change", "activates firmware of 0000:81:00.0", "way", "reset by mstfwreset (level 3): 0000:81:00.0")), nil,
			[]string{"| activates by | `reset by mstfwreset (level 3): 0000:81:00.0` | `infiniband_activation.a` |"}, []string{"| `way`"}},
		"what is done on a host": {"infiniband_opensm", object("actions", []string{"update"}, "before", object("active", false), "after",
			object("active", true, "change", "installs opensm; writes /etc/a, /etc/b; starts x.service", "restarts", "pc")), nil,
			[]string{"| restarts | `pc` | `infiniband_opensm.a` |\n| installs | `opensm` | `infiniband_opensm.a` |\n| writes | `/etc/a, /etc/b` |"},
			[]string{"| `change`"}},
		"types of ports": {"infiniband_link_type", object("actions", []string{"update"}, "before", object("card_identity", "a", "id", "pc/1"),
			"after", object("card_identity", "a", "id", "pc/1", "change", "1: eth -> ib; 2: ib, to be stored")), nil,
			[]string{"| `link_type 1` | `eth` | `ib` |\n|  | `link_type 2` | – | `ib, to be stored` |"}, []string{"What the apply does"}},
		"adoption": {"infiniband_card", object("actions", []string{"no-op"}, "importing", object("id", "pc/1"), "before", object(), "after",
			object("serial_number", "MT1", "id", "pc/1/MT1")), nil, []string{"| `pc/1`<br>`serial number MT1` |", "| `adopted` |"}, nil},
		"removal that restores": {"infiniband_firmware", object("actions", []string{"delete"}, "before", object("id",
			"pc/0000:01:00.0", "card_identity", "serial number MT1", "on_destroy", "restore", "activation", "host", "flash_psid", "MT_9B",
			"flash_version", "2.42", "original_backup_path", "b/1")), nil, []string{"`firmware object` | – | `removed` |",
			"`firmware flash` | `MT_9B 2.42` | `backup b/1` |", "| restarts | `pc` | `infiniband_firmware.a` |"}, nil},
		"removal that leaves the card alone": {"infiniband_firmware", object("actions", []string{"forget"}, "before", object("id",
			"pc/0000:01:00.0", "on_destroy", "restore", "activation", "reboot", "original_backup_path", "b/1")), nil, nil,
			[]string{"firmware flash", "restarts"}},
		"settings that are given back": {"infiniband_nv_config", object("actions", []string{"delete"}, "before", object("id",
			"pc/0000:01:00.0", "on_destroy", "restore")), nil, []string{"| `settings` | – | `those of before` |"}, nil},
		"removal": {"infiniband_opensm", object("actions", []string{"delete"}, "before", object("id", "x")), nil, []string{"| – | `removed` |"}, nil},
		"another provider": {"local_file", object("actions", []string{"create"}, "after", object("content", "x")), nil,
			[]string{"**No changes.**", "1 change of other providers is not shown here."}, []string{"local_file"}},
	} {
		status, out, err := call(t, saved(t, c.kind, c.change, c.more))
		if status != command.OK || err != "" {
			t.Errorf("%s: status %d, %s", name, status, err)
		}
		for _, want := range c.says {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not say %q:\n%s", name, want, out)
			}
		}
		for _, word := range c.not {
			if strings.Contains(out, word) {
				t.Errorf("%s says %q:\n%s", name, word, out)
			}
		}
	}
}

func TestReview_readsNothingElse(t *testing.T) {
	t.Parallel()
	const none = `{"format_version":"1.2","planned_values":{}}`
	for in, want := range map[string]string{
		"":                                     "no plan was given",
		"{}":                                   "no plan was given",
		"PK\x03\x04":                           "is not the JSON of a plan",
		`{"format_version":"1.0","values":{}}`: "is a state, not a plan",
		`{"format_version":"2.0","planned_values":{}}`: "has format 2.0",
		none + none: "is a second plan",
	} {
		if status, out, err := call(t, in); status != command.Failed || out != "" || !strings.Contains(err, want) {
			t.Errorf("%q: status %d, %q, %q, want %q", in, status, out, err, want)
		}
	}
}

// Whatever a host or a person has named, the tables keep their cells, and nothing becomes markup.
func TestReview_hostileNames(t *testing.T) {
	t.Parallel()
	for _, evil := range []string{"a|b", `a\|b|c`, "a`b", "``` `", "x\n\n# big\n| a | b |", "<img src=x onerror=alert(1)>", "</code></details>",
		"@octocat", "[click](javascript:alert(1))", "![](http://evil.example/x.png)", "\x1b]0;x\x07", "\u202etxt", `\`, "`|\\", "&#64;octocat",
		strings.Repeat("x|", 5000)} {
		log, err := json.Marshal(map[string]any{"@level": "error", "diagnostic": map[string]string{"severity": "error", "summary": evil,
			"detail": evil + "\n```\n" + evil + "\n\n    " + evil + "\n\n Finding: FW023, https://x", "address": evil}})
		if err != nil {
			t.Fatal(err)
		}
		change := map[string]any{"actions": []string{"update"}, "before": map[string]any{"id": evil + "/" + evil, evil: evil, "a": "1"},
			"after": map[string]any{"id": evil + "/" + evil, evil: evil + "2", "card_identity": evil, "a": evil}}
		_, out, _ := call(t, saved(t, "infiniband_firmware", change, nil)+string(log))
		// In a code span everything but its end is text; a span of ours has no backtick, bar or backslash inside.
		left := regexp.MustCompile("`[^`|\\\\]*`|<code>[^<|`@\\\\]*</code>").ReplaceAllString(withoutFences(t, out), "V")
		left = regexp.MustCompile(`</?(br|details|summary)>`).ReplaceAllString(left, "")
		left = strings.ReplaceAll(left, "](https://registry.terraform.io/providers/ibfabric/infiniband/latest/docs/guides/findings#", "")
		if bad := regexp.MustCompile("[<>@!`\\\\\x00-\x09\x0b-\x1f\u202e]|\\]\\(|octocat|big").FindString(left); bad != "" {
			t.Errorf("%q leaves %q outside of code:\n%s", evil, bad, out)
		}
		for line := range strings.Lines(left) {
			if n := strings.Count(line, "|"); strings.HasPrefix(line, "|") && n != 5 && n != 4 {
				t.Errorf("%q makes a row of %d bars: %s", evil, n, line)
			}
		}
	}
}

// withoutFences drops fenced blocks as Markdown ends them: by as many signs at least as they began with.
func withoutFences(t *testing.T, text string) string {
	var out strings.Builder
	open := ""
	for line := range strings.Lines(text) {
		signs := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch rest := strings.TrimSpace(line[len(signs):]); {
		case open == "" && len(signs) > 2 && rest == "text":
			open = signs
		case open != "" && len(signs) >= len(open) && rest == "":
			open = ""
		case open == "":
			out.WriteString(line)
		}
	}
	if open != "" || out.Len() == len(text) {
		t.Errorf("fences: %q is open", open)
	}
	return out.String()
}

func TestReview_withHostsThatDidNotAnswer(t *testing.T) {
	t.Parallel()
	plan := saved(t, "infiniband_opensm", map[string]any{"actions": []string{"no-op"}}, nil)
	for log, want := range map[string]string{
		`{"@level":"info"}`: "**No changes.** What the plan looked at",
		`{"@level":"warn","diagnostic":{"severity":"warning","summary":"Not seen: host a"}}`: "**No changes.** Not all hosts were seen",
	} {
		if _, out, _ := call(t, plan+log); !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

func TestReview_fitsIntoAComment(t *testing.T) {
	t.Parallel()
	before, after := map[string]any{}, map[string]any{}
	for i := range 3000 {
		before[fmt.Sprintf("a%04d", i)], after[fmt.Sprintf("a%04d", i)] = "1", "2"
	}
	change := map[string]any{"actions": []string{"update"}, "before": before, "after": after}
	status, out, _ := call(t, saved(t, "infiniband_opensm", change, nil))
	if status != command.OK || len(out) > 65_000 || !strings.Contains(out, "Not shown: 2800 of fabric and network.") ||
		!strings.Contains(out, "`a0100`") || strings.Contains(out, "`a2999`") {
		t.Errorf("status %d, %d bytes: %s", status, len(out), out[:200])
	}
	whole := manyHosts(t, 300)
	if _, out, _ = call(t, whole); !strings.Contains(out, "Not shown: 400 of cards, 100 of what the apply does.") {
		t.Errorf("%d bytes: %s", len(out), out[:300])
	}
	if n := strings.Count(out, "| `infiniband_firmware.a` | `allow` |"); n != 1 {
		t.Errorf("the consent of all cards is in %d rows", n)
	}
	for i := range 300 {
		if want := fmt.Sprintf("| restarts | `host%d` |", i); !strings.Contains(out, want) {
			t.Fatalf("no %q in:\n%s", want, out)
		}
	}
	if _, out, _ = call(t, manyHosts(t, 3000)); !strings.HasPrefix(out, "**This review is cut:") || len(out) > 65_000 {
		t.Errorf("%d bytes: %s", len(out), out[:300])
	}
	var logs strings.Builder
	for i := range 200 {
		fmt.Fprintf(&logs, `{"@level":"warn","diagnostic":{"severity":"warning","summary":"w%d","detail":%q}}`, i, strings.Repeat("d", 400))
	}
	if _, out, _ = call(t, logs.String()); strings.Contains(out, "ddd") || !strings.Contains(out, "`w199`") || !strings.HasSuffix(out, "\n") {
		t.Errorf("%d bytes: %s", len(out), out[:300])
	}
}

// manyHosts is a plan that burns a card of each host, with a consent for each.
func manyHosts(t *testing.T, hosts int) string {
	t.Helper()
	var all []any
	for i := range hosts {
		after := map[string]any{"id": fmt.Sprintf("host%d/0000:01:00.0", i), "card_identity": "serial number MT1",
			"change": "MT_9A 2.40 -> MT_9B 2.42", "activation": "reboot", "restarts": fmt.Sprintf("host%d", i), "stored_in": []any{"/etc/" + strings.Repeat("x", 60)}}
		all = append(all, map[string]any{"address": fmt.Sprintf("infiniband_firmware.a[%d]", i), "mode": "managed", "type": "infiniband_firmware",
			"name": "a", "change": map[string]any{"actions": []string{"create"}, "after": after}})
	}
	written := map[string]any{"allow": map[string]any{"constant_value": map[string]any{"reinstall": "2.42"}},
		"activation": map[string]any{"constant_value": "reboot"}}
	return saved(t, "infiniband_firmware", nil, map[string]any{"resource_changes": all, "configuration": map[string]any{
		"root_module": map[string]any{"resources": []any{map[string]any{"mode": "managed", "type": "infiniband_firmware", "name": "a",
			"expressions": written}}}}})
}
