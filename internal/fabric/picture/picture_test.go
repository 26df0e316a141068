package picture

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

func node(name string, guid uint64, ports int, isSwitch bool) *fabric.Node {
	return &fabric.Node{GUID: ib.GUID(guid), Name: name, Switch: isSwitch, PortCount: ports,
		LID: map[bool]int{true: int(guid & 0xff), false: 0}[isSwitch]}
}

func port(n *fabric.Node, number int, speed ib.Speed) *fabric.Port {
	for _, p := range n.Ports {
		if p.Number == number {
			return p
		}
	}
	p := &fabric.Port{
		Node: n, Number: number, GUID: n.GUID + ib.GUID(number), LID: int(n.GUID&0xff) + number, State: "Active",
		Physical: "LinkUp", Width: 4, Speed: speed,
		WidthSupported: []int{1, 4}, SpeedsSupported: []ib.Speed{ib.SDR, ib.DDR, ib.QDR,
			ib.FDR}, SpeedsEnabled: []ib.Speed{ib.SDR, ib.DDR, ib.QDR, ib.FDR},
	}
	n.Ports = append(n.Ports, p)
	return p
}

func cable(f *fabric.Fabric, a *fabric.Node, pa int, b *fabric.Node, pb int, speed ib.Speed) *fabric.Link {
	l := &fabric.Link{A: port(a, pa, speed), B: port(b, pb, speed)}
	f.Links = append(f.Links, l)
	return l
}

func master(f *fabric.Fabric, n *fabric.Node, priority int, state string) {
	f.SMs = append(f.SMs, fabric.SM{GUID: n.Ports[0].GUID, LID: 1, Priority: priority, State: state, Node: n})
	n.Ports[0].SM = true
}

// star is n hosts on one switch; the second link is slow and the last one down.
func star(n int) *fabric.Fabric {
	f := &fabric.Fabric{}
	sw := node("SwitchX -  Mellanox Technologies", 0x2c902004a1b02, 36, true)
	for i := range n {
		h := node(fmt.Sprintf("%s mlx4_0",
			[]string{"intel9", "xeon2zfs", "pve3", "pve4", "gpu1", "gpu2", "backup", "router"}[i%8]),
			0xe41d2d0300e44ed0+uint64(i)*16, 2, false)
		if i >= 8 {
			h.Name = fmt.Sprintf("node%02d mlx4_0", i)
		}
		f.Nodes = append(f.Nodes, h)
		l := cable(f, h, 1, sw, i+1, ib.FDR)
		if n > 2 && i == 1 {
			l.A.Speed, l.B.Speed = ib.QDR, ib.QDR
		}
		if n > 2 && i == n-1 {
			l.A.State, l.B.State = "Initializing", "Initializing"
		}
	}
	f.Nodes = append(f.Nodes, sw)
	master(f, f.Nodes[0], 14, "master")
	if n > 1 {
		master(f, f.Nodes[1], 5, "standby")
	}
	return f
}

// leafSpine is n hosts on leaves with 16 each, under four spines.
func leafSpine(n int) *fabric.Fabric {
	f := &fabric.Fabric{}
	var leaves, spines []*fabric.Node
	for i := range (n + 15) / 16 {
		leaves = append(leaves, node(fmt.Sprintf("leaf%02d", i+1), 0x2c90300100000+uint64(i)*16, 36, true))
	}
	for i := range 4 {
		spines = append(spines, node(fmt.Sprintf("spine%d", i+1), 0x2c90300200000+uint64(i)*16, 36, true))
	}
	for i := range n {
		h := node(fmt.Sprintf("node%03d mlx5_0", i+1), 0xe41d2d0300000000+uint64(i)*16, 1, false)
		f.Nodes = append(f.Nodes, h)
		l := cable(f, h, 1, leaves[i/16], i%16+1, ib.FDR)
		switch i {
		case 20:
			l.A.Width, l.B.Width = 1, 1
		case 40:
			l.A.Speed, l.B.Speed = ib.DDR, ib.DDR
		case 50:
			l.A.State, l.B.State = "Down", "Down"
		}
	}
	for i, leaf := range leaves {
		for k, spine := range spines {
			l := cable(f, leaf, 33+k, spine, i+1, ib.FDR)
			if i == 1 && k == 2 {
				l.A.Speed, l.B.Speed = ib.QDR, ib.QDR
			}
		}
	}
	f.Nodes = append(append(f.Nodes, leaves...), spines...)
	master(f, f.Nodes[0], 14, "master")
	return f
}

func backToBack() *fabric.Fabric {
	f := &fabric.Fabric{}
	a, b := node("intel9 mlx4_0", 0xe41d2d0300e44ed0, 2, false), node("xeon2zfs mlx4_0", 0xe41d2d0300e44ee0, 2, false)
	f.Nodes = []*fabric.Node{a, b}
	cable(f, a, 1, b, 1, ib.FDR)
	cable(f, a, 2, b, 2, ib.FDR)
	master(f, a, 14, "master")
	return f
}

// hostile has descriptions that would break out of any format.
func hostile() *fabric.Fabric {
	f := star(2)
	f.Nodes[0].Name = "a\"]; evil [label=\"<script>alert(1)</script>\x00\x1b[31m\n%%{init}%% `x` #quot; \\"
	f.Nodes[2].Name = "]]></title><!-- \u202e &amp;"
	return f
}

func samples() map[string]*fabric.Fabric {
	dual := star(2)
	cable(dual, dual.Nodes[0], 2, dual.Nodes[2], 3, ib.FDR)
	cable(dual, dual.Nodes[1], 2, dual.Nodes[2], 4, ib.FDR)
	return map[string]*fabric.Fabric{
		"2": star(2), "2-dual": dual, "2-back-to-back": backToBack(), "8": star(8), "30": star(30), "64": leafSpine(64),
		"512": leafSpine(512), "hostile": hostile(), "1": star(1),
	}
}

// Nothing that a description holds leaves its label, and no control character
// reaches a terminal or a browser.
func TestPictures_hostileDescriptions(t *testing.T) {
	f := hostile()
	svg, mermaid, dot := SVG(f, nil), Mermaid(f, nil), DOT(f, nil)
	for _, bad := range []string{"<script", "<!--", "\x1b", "\x00", "\u202e"} {
		if strings.Contains(svg+mermaid, bad) {
			t.Errorf("%q got through", bad)
		}
	}
	for _, text := range []string{svg, mermaid, dot} {
		if strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 && r != '\n' || r == 0x202e }) {
			t.Errorf("a control character in:\n%s", text)
		}
	}
	if want := `h0 [label="a\"];\nevil [label=\"<script>alert(1)</script>\\u0000\\u001b[31m\\u000a%%{init}%% ` + "`x`" +
		` #quot; \\\nSM", fillcolor`; !strings.Contains(dot, want) {
		t.Errorf("want %s in\n%s", want, dot)
	}
	if want := `h0("a#34;#93;#59;<br/>evil #91;label=#34;#60;script#62;alert(1)#60;/script#62;#92;u0000#92;u001b#91;31m#92;u000a%%#123;init#125;%% #96;x#96; #35;quot#59; #92;<br/>SM"):::master`; !strings.Contains(mermaid, want) {
		t.Errorf("want %s in\n%s", want, mermaid)
	}
}

var absent = []fabric.AbsentCable{{A: "pve9", B: "SwitchX -  Mellanox Technologies/9"}}

func TestPictures_areWellFormedAndAlwaysTheSame(t *testing.T) {
	for name, f := range samples() {
		var missing []fabric.AbsentCable
		if name == "8" {
			missing = []fabric.AbsentCable{{A: absent[0].A, B: absent[0].B, NodeB: f.Nodes[8]}}
		}
		all := func() string { return SVG(f, missing) + Mermaid(f, missing) + DOT(f, missing) }
		svg, first := SVG(f, missing), all()
		if again := all(); again != first {
			t.Errorf("%s: two drawings of one fabric differ", name)
		}
		for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if dir := os.Getenv("PICTURES"); dir != "" {
			for ending, text := range map[string]string{"svg": svg, "mmd": Mermaid(f, missing), "dot": DOT(f, missing)} {
				if err := os.WriteFile(filepath.Join(dir, name+"."+ending), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// The numbers of a leaf's uplinks are there, and left out where there is no room.
func TestSVG_numbersThePortsOfUplinks(t *testing.T) {
	numbers := func(n int) int { return strings.Count(SVG(leafSpine(n), nil), `r="8.5"`) }
	if got := numbers(64); got != 32 {
		t.Errorf("64 hosts: %d numbers at 16 uplinks", got)
	}
	if got := numbers(512); got != 128 {
		t.Errorf("512 hosts: %d numbers; the 128 of the leaves have room, those of the spines have not", got)
	}
}

// Labels are drawn where they cover neither another label nor a box, also those of cables that are missing.
func TestSVG_labelsCoverNothing(t *testing.T) {
	badge := regexp.MustCompile(`<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="18" rx="9"( fill="[^"]*")`)
	circle := regexp.MustCompile(`<circle cx="([\d.-]+)" cy="([\d.-]+)" r="8.5"`)
	box := regexp.MustCompile(`<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)" rx="8"`)
	number := func(text string) float64 {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, f := range crowded() {
		var missing []fabric.AbsentCable
		for i, n := range f.Nodes {
			if !n.Switch && len(missing) < 6 {
				missing = append(missing, fabric.AbsentCable{A: n.Name, B: fmt.Sprintf("gone%d", i), NodeA: n},
					fabric.AbsentCable{A: n.Name, B: "switch", NodeA: n, NodeB: f.Nodes[len(f.Nodes)-1]})
			}
		}
		svg := SVG(f, missing)
		if dir := os.Getenv("PICTURES"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, "crowded-"+name+".svg"), []byte(svg), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var labels, boxes []area
		marks := map[int]bool{}
		for _, m := range badge.FindAllStringSubmatch(svg, -1) {
			labels = append(labels, area{number(m[1]), number(m[2]), number(m[1]) + number(m[3]), number(m[2]) + 18})
			marks[len(labels)-1] = strings.Contains(m[0]+m[4], `fill="#059669"`) || strings.Contains(m[4], `fill="#d1fae5"`)
		}
		badges := len(labels)
		for _, m := range circle.FindAllStringSubmatch(svg, -1) {
			labels = append(labels, around(point{number(m[1]), number(m[2])}, 17, 17))
		}
		for _, m := range box.FindAllStringSubmatch(svg, -1) {
			boxes = append(boxes, area{number(m[1]), number(m[2]), number(m[1]) + number(m[3]), number(m[2]) + number(m[4])})
		}
		if len(labels) == 0 || len(boxes) == 0 || badges == len(labels) {
			t.Fatalf("%s: %d labels, %d boxes", name, len(labels), len(boxes))
		}
		const rounded = 0.11 // of what is written
		for i, a := range labels {
			a = area{a.x1 + rounded, a.y1 + rounded, a.x2 - rounded, a.y2 - rounded}
			for _, b := range labels[:i] {
				if a.meets(b) {
					t.Errorf("%s: the labels at %v and %v cover each other", name, a, b)
				}
			}
			// The mark of a subnet manager is on the edge of its own box, and the number of a port may be.
			for _, b := range boxes {
				if i < badges && !marks[i] && a.meets(b) {
					t.Errorf("%s: the label at %v covers the box at %v", name, a, b)
				}
			}
		}
	}
}

// crowded are fabrics with many labels in a small room.
func crowded() map[string]*fabric.Fabric {
	dual := samples()["2-dual"]
	for i := range 6 {
		cable(dual, dual.Nodes[0], 3+i, dual.Nodes[2], 5+i, ib.QDR)
	}
	silent := star(4)
	for i := 2; i < 5; i++ {
		silent.Links = append(silent.Links, &fabric.Link{A: port(silent.Nodes[0], i, ib.FDR)})
	}
	return map[string]*fabric.Fabric{"dual": dual, "8": star(8), "silent": silent, "64": leafSpine(64), "2": star(2),
		"back-to-back": backToBack()}
}

// A link that is slower than expected is amber, also if its ends support no more.
func TestPictures_slowerThanExpected(t *testing.T) {
	f := star(2)
	f.AbsentCables([]fabric.ExpectedCable{{A: "intel9", B: f.Nodes[2].GUID.String(), MinSpeed: ib.EDR}})
	for name, text := range map[string]string{"svg": SVG(f, nil), "mermaid": Mermaid(f, nil), "dot": DOT(f, nil)} {
		want := map[string]int{"svg": 4, "mermaid": 1, "dot": 1}[name] // line, frame and text of the label, legend
		if got := strings.Count(text, colourSlow); got != want {
			t.Errorf("%s: %d times amber, expected %d", name, got, want)
		}
	}
}
