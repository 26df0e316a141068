package record

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/recording"
	"github.com/ibfabric/terraform-provider-infiniband/internal/recording/pseudonym"
	"github.com/ibfabric/terraform-provider-infiniband/internal/recording/secret"
)

// lab is a recording that is not written yet.
type lab struct {
	recording.Manifest
	files   map[string]string
	table   *pseudonym.Table
	secrets int
}

// clean makes a recording of what hosts have answered, without secrets and with what names somebody
// replaced. Its error says what could not be taken out; nothing may be written then.
func clean(all []asked) (*lab, error) {
	l := &lab{files: map[string]string{}, table: pseudonym.New()}
	remover := secret.New()
	for i := range all {
		all[i].each(func(text string) string { return withoutCommands(remover.Learn(withoutComments(text))) })
	}
	var names []string
	for _, a := range all {
		names = append(names, a.name)
	}
	l.table.Names("host", names...)
	for i := range all {
		l.table.More("machine", append(all[i].names, all[i].hostname)...)
		all[i].each(func(text string) string {
			text = remover.Clean(text)
			l.table.Learn(text)
			return text
		})
	}
	for i := range all {
		all[i].each(l.table.Replace)
		l.add(all[i], l.table.Replace(all[i].name))
	}
	l.secrets = remover.Count
	for name, text := range l.files {
		if err := remover.Check(name, text); err != nil {
			return nil, err
		}
		if err := l.table.Check(name, text); err != nil {
			return nil, err
		}
	}
	for i := range all { // nothing can be taken out of them
		for _, f := range all[i].flashes {
			name := fmt.Sprintf("%s/%s.bin", folder(l.Hosts[i].Name), strings.NewReplacer(":", "-").Replace(f.card))
			l.Hosts[i].Flashes = append(l.Hosts[i].Flashes, recording.Flash{Card: f.card, File: name})
			l.files[name] = string(f.data)
		}
	}
	return l, nil
}

// each changes all texts of a host.
func (a *asked) each(change func(string) string) {
	a.problem = change(a.problem)
	for i := range a.replies {
		r := &a.replies[i]
		for _, text := range []*string{&r.command, &r.problem, &r.output, &r.errorOutput} {
			*text = change(*text)
		}
	}
}

// folder is where the files of a host are.
func folder(host string) string { return "hosts/" + notInPaths.ReplaceAllString(host, "-") }

var notInPaths = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// add puts what a host has answered into the recording.
func (l *lab) add(a asked, name string) {
	h := recording.Host{Name: name, Problem: a.problem, Answers: []recording.Answer{}}
	for i, r := range a.replies {
		answer := recording.Answer{Command: r.command, Status: r.status, Problem: r.problem}
		for end, of := range map[string]struct {
			text string
			to   *string
		}{"output": {r.output, &answer.Output}, "errors": {r.errorOutput, &answer.Errors}} {
			if of.text != "" {
				*of.to = fmt.Sprintf("%s/%02d.%s", folder(name), i+1, end)
				l.files[*of.to] = of.text
			}
		}
		h.Answers = append(h.Answers, answer)
	}
	l.Hosts = append(l.Hosts, h)
}
