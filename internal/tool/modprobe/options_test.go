package modprobe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// optionFiles are files of modprobe.d, with what they give to port_type_array of mlx4_core.
var optionFiles = []struct {
	name, text string
	values     []string
	unclear    int
}{
	{"plain", "options mlx4_core port_type_array=1,1\n", []string{"1,1"}, 0},
	{"no newline", "options mlx4_core port_type_array=1,1", []string{"1,1"}, 0},
	{"comment", "# options mlx4_core port_type_array=1,1\n", nil, 0},
	{"comment that goes on", "# old \\\noptions mlx4_core port_type_array=1,1\n", nil, 0},
	{"dashes", "options mlx4-core log_num_mgm_entry_size=-1 port-type-array=2\n", []string{"2"}, 0},
	{"indented, with tabs", " \toptions\tmlx4_core\tport_type_array=2,2\n", []string{"2,2"}, 0},
	{"goes on", "options mlx4_core \\\n  port_type_array=1,2\n", []string{"1,2"}, 0},
	{"goes on in a word", "options mlx4_\\\ncore port_type_\\\narray=1,2\n", []string{"1,2"}, 0},
	{"escaped", "options mlx4\\_core port_type_array=1,2\n", []string{"1,2"}, 0},
	{"twice", "options mlx4_core port_type_array=1,1\noptions mlx4_core port_type_array=2\n", []string{"1,1", "2"}, 0},
	{"twice in a line", "options mlx4_core port_type_array=1,1 port_type_array=2\n", []string{"1,1", "2"}, 0},
	{"quoted value", "options mlx4_core port_type_array=\"2,2\" debug_level=1\n", []string{"2,2"}, 0},
	{"quoted", "options mlx4_core \"port_type_array=2,2\"\n", []string{"2,2"}, 0},
	{"quote inside", "options mlx4_core port_type_array=2\",2\"\n", []string{"2\",2\""}, 0},
	{"open quote", "options mlx4_core debug_level=\"1 port_type_array=2,2\n", nil, 1},
	{"end of the options", "options mlx4_core -- port_type_array=2,2\n", []string{"2,2"}, 1},
	{"no value", "options mlx4_core port_type_array\n", nil, 1},
	{"no options", "options mlx4_core\n", nil, 0},
	{"capitals", "OPTIONS mlx4_core port_type_array=2,2\n", nil, 0},
	{"of another module", "options mlx4_en port_type_array=1,1\n", nil, 0},
	{"of the device", "options pci:v000015B3d00001003sv*sd*bc*sc*i* port_type_array=2,2\n", nil, 1},
	{"carriage return", "options mlx4_core port_type_array=2,2\r\n", []string{"2,2"}, 0},
	{"install", "install mlx4_core /sbin/modprobe --ignore-install mlx4_core port_type_array=2,2\n", nil, 1},
	{"install by dash", "install mlx4-core /usr/local/sbin/load-mlx4\n", nil, 1},
	{"install by pattern", "install mlx[!5]* /usr/local/sbin/load-mlx4\n", nil, 1},
	{"install by range", "install mlx[0-9]-core /usr/local/sbin/load-mlx4\n", nil, 1},
	{"install that only loads", "install mlx4_core /sbin/modprobe -i mlx4_core $CMDLINE_OPTS; modprobe known\n", nil, 0},
	{"install that does more", "install mlx4_core /sbin/modprobe -i mlx4_core && modprobe other\n", nil, 1},
	{"install that loads nothing", "install mlx4_core /bin/true\n", nil, 1},
	{"install of another module", "install cramfs /bin/true\ninstall mlx[5]_core /bin/true\n", nil, 0},
	{"install of another that sets it", "install mlx4_en modprobe mlx4_core port_type_array=2,2; modprobe -i mlx4_en\n", nil, 1},
	{"remove", "remove mlx4_core /bin/true\n", nil, 0},
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	for _, tt := range optionFiles {
		got := ReadFile(tt.text, "mlx4_core", "port_type_array", "known")
		if !slices.Equal(got.Values, tt.values) || len(got.Unclear) != tt.unclear {
			t.Errorf("%s: %q, unclear %q", tt.name, got.Values, got.Unclear)
		}
	}
}

// TestReadFile_real compares with what modprobe makes of the same files: it prints its whole
// configuration, line by line.
func TestReadFile_real(t *testing.T) {
	t.Parallel()
	program := realtool.Path(t, "modprobe")
	for _, tt := range optionFiles {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.conf"), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		printed, status := realtool.Run(t, program, "-C", dir, "-c")
		if status != 0 {
			t.Fatalf("%s: %s", tt.name, printed)
		}
		want := ReadFile(configured(printed), "mlx4_core", "port_type_array", "known")
		got := ReadFile(tt.text, "mlx4_core", "port_type_array", "known")
		if !slices.Equal(got.Values, want.Values) || len(got.Unclear) != len(want.Unclear) {
			t.Errorf("%s: got %+v, modprobe gives %+v:\n%s", tt.name, got, want, configured(printed))
		}
	}
}

// configured are the lines of files in what modprobe prints.
func configured(printed string) string {
	printed, _, _ = strings.Cut(printed, "# End of configuration files")
	return printed
}

func TestReadCommandLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Options{
		"quiet mlx4_core.port_type_array=2,2":                        {Values: []string{"2,2"}},
		"mlx4-core.port-type-array=2,2\n":                            {Values: []string{"2,2"}},
		`mlx4_core.port_type_array="2,2" quiet`:                      {Values: []string{"2,2"}},
		`"mlx4_core.port_type_array=2,2" quiet`:                      {Values: []string{"2,2"}},
		`dyndbg="a mlx4_core.port_type_array=2,2"`:                   {},
		"mlx4_core.port_type_array=1 -- mlx4_core.port_type_array=2": {Values: []string{"1", "2"}},
		"mlx4_core.port_type_array":                                  {Unclear: []string{"mlx4_core.port_type_array"}},
		`mlx4_core.port_type_array="2,2 quiet`:                       {Unclear: []string{`mlx4_core.port_type_array="2,2 quiet`}, Values: []string{"2,2 quiet"}},
		"mlx4_en.port_type_array=2 root=mlx4_core.port":              {},
		"": {},
	} {
		got := ReadCommandLine(text, "mlx4_core", "port_type_array")
		if !slices.Equal(got.Values, want.Values) || !slices.Equal(got.Unclear, want.Unclear) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
