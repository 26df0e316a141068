package adopt

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/ibfabric/terraform-provider-infiniband/internal/boards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/adoption"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

const initHelp = `Reads the hosts and writes a configuration that begins with them: how they are reached,
their host keys, and each InfiniBand card with its place, its serial number, its PSID, its
MAC addresses and its cabled port. Fill in firmware and addresses, and plan. For a lab that
works already there is adopt. Nothing is changed on a host, and no file is overwritten.

` + target.Help + `

Exit status: 0 if it is written, 1 if it is not, 3 if a host cannot be reached or logged
in to, 2 if the command line is wrong.`

// moduleSource is where the module of the examples is.
const moduleSource = "github.com/ibfabric/terraform-provider-infiniband//examples/modules/lab?ref=v0.1.0"

// Init is the command "init".
var Init = command.Command{Name: "init", Summary: "write a configuration that begins with the cards of hosts",
	Run: func(ctx context.Context, args []string, std command.Streams) int {
		fs := command.NewFlags("init [options] HOST…", initHelp)
		o := order{flags: fs, std: std}
		fs.StringVar(&o.folder, "out", ".", "`FOLDER` to write into")
		module := fs.String("module", moduleSource, "`SOURCE` of the module of a lab")
		return o.Run(fs, args, std, func(targets []*target.Target) int {
			err := checkVacant(o.folder, "main.tf")
			if err == nil {
				err = o.begin(ctx, targets, *module)
			}
			var gone *unreachedError
			switch {
			case errors.As(err, &gone):
				fmt.Fprintf(std.Err, "init: %v\n", err)
				return command.Unreachable
			case err != nil:
				fmt.Fprintf(std.Err, "init: %v\n", err)
				return command.Failed
			}
			return command.OK
		})
	}}

// unreachedError says that a host gave no facts.
type unreachedError struct {
	host string
	err  error
}

func (e *unreachedError) Error() string {
	return fmt.Sprintf("host %s: %s Nothing was written.", e.host, diagnostic.Detail(e.err))
}

// start is what the template takes.
type start struct {
	Terraform, Provider, Module string
	Cards                       []card
	Ports                       int  // of the card with the most
	Manager                     card // that serves the fabric
}

// card is one card of a host. Says is for the reader. MAC is empty if the card has GUIDs, which it keeps, or if Unread
// says why its flash was not read. Ports are those whose type can be set.
type card struct {
	Name, Host, PCI, Serial, MAC, Says, Unread string
	Port, Number, Ports                        int
	Appliance                                  bool // its host takes no subnet manager
}

//go:embed init.tf.tmpl
var initTemplate string

var initPage = template.Must(template.New("init").Funcs(template.FuncMap{
	"text": adoption.Text, "key": adoption.Key}).Parse(initTemplate))

// begin reads the hosts and writes the file.
func (o *order) begin(ctx context.Context, targets []*target.Target, module string) error {
	s := start{Terraform: terraformBlock, Module: module}
	for _, t := range targets {
		snap, err := look(ctx, t)
		if err != nil {
			return &unreachedError{t.Name, err}
		}
		if len(t.Config.HostKeys) == 0 {
			t.Config.HostKeys = shownKey(ctx, t)
		}
		for i := range snap.Cards {
			if c := &snap.Cards[i]; !c.Virtual && c.PCI.Function() == 0 {
				s.Cards = append(s.Cards, cardOf(t.Name, snap, c, len(s.Cards)+1))
				s.Ports = max(s.Ports, s.Cards[len(s.Cards)-1].Ports)
			}
		}
	}
	if len(s.Cards) == 0 {
		return errors.New("no host has an InfiniBand card; nothing was written")
	}
	s.Manager = s.Cards[max(0, slices.IndexFunc(s.Cards, func(c card) bool { return !c.Appliance }))]
	s.Provider = o.block(targets).paragraphs()
	var text bytes.Buffer
	if err := initPage.Execute(&text, s); err != nil {
		return err
	}
	files := map[string][]byte{"main.tf": adoption.Format(text.String()), ignored: []byte(notCommitted)}
	written, err := write(o.folder, []string{"main.tf"}, files)
	if err == nil {
		fmt.Fprintf(o.std.Out, "Cards: %d. Written: %s. Fill in the firmware and the addresses, then run terraform init && "+
			"terraform plan.\n", len(s.Cards), strings.Join(written, ", "))
	}
	return err
}

// shownKey is the key that a host has shown, as host_keys takes it: everybody who uses the
// configuration then knows the host.
func shownKey(ctx context.Context, t *target.Target) []string {
	stops := t.SSH.Route(ctx)
	if t.SSH.Prove(ctx, stops) != nil || len(stops) == 0 {
		return nil
	}
	words := strings.Fields(stops[len(stops)-1].HostKey) // kind and fingerprint
	return words[max(0, len(words)-1):]
}

// portsOf is how many ports a card has, by its model or by what the kernel shows. Without either it
// is taken for one of two ports: the plan says if it is not.
func portsOf(c *inventory.Card) int {
	if a, _ := c.Adapter(); a.Firmware != "" {
		return 0 // nobody sets anything of such a card
	}
	if model := boards.Model(c.PartNumber); model != "" {
		return boards.PortsOfModel(model)
	}
	if len(c.Ports) > 0 {
		return len(c.Ports)
	}
	return 2
}

// cardOf is what a card shows. Its cabled port is the first with a link, or else port 1.
func cardOf(host string, s *inventory.Snapshot, c *inventory.Card, number int) card {
	out := card{Name: host, Host: host, PCI: c.PCI.String(), Serial: s.Identity(c).Serial, Port: 1, Number: number,
		Ports: portsOf(c), Unread: diagnostic.Line(c.FlashError), Appliance: s.TrueNAS != nil}
	if len(s.Cards) > 1 {
		out.Name += "-" + strings.NewReplacer(":", "-", ".", "-").Replace(out.PCI)
	}
	for _, p := range c.Ports {
		if p.Physical == "LinkUp" {
			out.Port = p.Number
			break
		}
	}
	says, psid, fw := []string{c.Model(), c.PartNumber}, string(c.RunningPSID), c.RunningFW
	if f := c.Flash; f != nil {
		psid, fw = string(f.PSID), f.FW.String()
	}
	if psid != "" {
		says = append(says, "PSID "+psid, "firmware "+fw)
	}
	if f := c.Flash; f != nil {
		if mac := f.GUIDs.MAC1.String(); f.GUIDs.Node.IsNone() {
			out.MAC = mac
		} else {
			says = append(says, "MAC of port 1 "+mac)
		}
	}
	out.Says = diagnostic.Line(strings.Join(says, ", "))
	return out
}
