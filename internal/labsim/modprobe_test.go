package labsim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// modprobeCases are files of modprobe.d with what the driver gets at boot.
var modprobeCases = map[string]struct {
	files   map[string]string
	cmdline string
	array   string // empty: the driver is not loaded
}{
	"nothing":        {nil, "", "0,0"},
	"by name":        {map[string]string{"b": "options mlx4_core port_type_array=2,2\n", "a": "options mlx4_core port_type_array=1,1\n"}, "", "2,2"},
	"one port":       {map[string]string{"a": "options mlx4_core port_type_array=1,1\n", "b": "options mlx4-core port-type-array=2\n"}, "", "2,1"},
	"zeros":          {map[string]string{"a": "options mlx4_core port_type_array=1,1\n", "b": "options mlx4_core port_type_array=0,0\n"}, "", "0,0"},
	"quoted":         {map[string]string{"a": "options mlx4_core port_type_array=\"2,2\" debug_level=1\n"}, "", "2,2"},
	"whole quoted":   {map[string]string{"a": "options mlx4_core \"port_type_array=2,2\"\n"}, "", "2,2"},
	"hexadecimal":    {map[string]string{"a": "options mlx4_core port_type_array=0x2,02\n"}, "", "2,2"},
	"goes on":        {map[string]string{"a": "options mlx4_\\\ncore \\\n port_type_array=2,2\n"}, "", "2,2"},
	"comment":        {map[string]string{"a": "# a \\\noptions mlx4_core port_type_array=2,2\n"}, "", "0,0"},
	"too many":       {map[string]string{"a": "options mlx4_core port_type_array=1,2,1\n"}, "", ""},
	"no number":      {map[string]string{"a": "options mlx4_core port_type_array=ib,ib\n"}, "", ""},
	"install":        {map[string]string{"a": "install mlx4_core /sbin/modprobe --ignore-install mlx4_core port_type_array=2,2\n"}, "", "2,2"},
	"first install":  {map[string]string{"a": "install mlx4* /bin/true\ninstall mlx4_core modprobe -i mlx4_core\n"}, "", ""},
	"command line":   {map[string]string{"a": "options mlx4_core port_type_array=1,1\n"}, "mlx4-core.port-type-array=2,2", "2,2"},
	"quoted by grub": {nil, `"mlx4_core.port_type_array=2,2" quiet`, "2,2"},
}

// TestMachine_modprobe holds that the driver is loaded at boot as kmod and the kernel do it.
func TestMachine_modprobe(t *testing.T) {
	t.Parallel()
	for name, tt := range modprobeCases {
		l := New(Options{Speed: 1000})
		config := Config{Name: "host", Cmdline: tt.cmdline, Cards: []CardConfig{{BDF: "0000:01:00.0"}}}
		config.Cards[0].Image, config.Cards[0].Config = testImage("MT_9090111019"), enConfig()
		m, err := l.AddMachine(config)
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range tt.files {
			m.FS.Put("/etc/modprobe.d/"+file+".conf", text, 0o644)
		}
		m.UpdateInitramfs()
		m.PowerCut()
		if err := m.AwaitBoot(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(m.FS.Text("/sys/module/mlx4_core/parameters/port_type_array")); got != tt.array {
			t.Errorf("%s: %q, want %q", name, got, tt.array)
		}
	}
}

// TestModprobe_real compares the options with those that modprobe prints of the same files.
func TestModprobe_real(t *testing.T) {
	t.Parallel()
	program := realtool.Path(t, "modprobe")
	for name, tt := range modprobeCases {
		dir, files := t.TempDir(), map[string]string{}
		for file, text := range tt.files {
			files[file+".conf"] = text
			if err := os.WriteFile(filepath.Join(dir, file+".conf"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		printed, status := realtool.Run(t, program, "-C", dir, "-c")
		if status != 0 {
			t.Fatalf("%s: %s", name, printed)
		}
		printed, _, _ = strings.Cut(printed, "# End of configuration files")
		want, wantLoads := readModprobe(map[string]string{"printed.conf": printed}).of("mlx4_core")
		got, loads := readModprobe(files).of("mlx4_core")
		if strings.TrimSpace(got) != strings.TrimSpace(want) || loads != wantLoads {
			t.Errorf("%s: %q, %t; modprobe gives %q, %t", name, got, loads, want, wantLoads)
		}
	}
}

// TestMachine_modprobeDirectories holds which directories modprobe reads, and which of them
// the initramfs has.
func TestMachine_modprobeDirectories(t *testing.T) {
	t.Parallel()
	_, m, _ := testLab(t)
	for _, parent := range modprobeParents {
		m.FS.Put(parent+"/modprobe.d/zz.conf", "# "+parent+"\n", 0o644)
		m.FS.Put(parent+"/modprobe.d/"+filepath.Base(parent)+".conf", "# "+parent+"\n", 0o644)
	}
	for _, name := range []string{".hidden.conf", "zz.conf.bak"} {
		m.FS.Put("/etc/modprobe.d/"+name, "", 0o644)
	}
	all := m.modprobeFiles(modprobeParents...)
	if all["zz.conf"] != "# /etc\n" || all["run.conf"] == "" || all["lib.conf"] != "# /usr/local/lib\n" || all["zz.conf.bak"] != "" {
		t.Errorf("%q", all)
	}
	m.UpdateInitramfs()
	if m.initramfs["zz.conf"] != "# /etc\n" || m.initramfs["run.conf"] != "" || m.initramfs["lib.conf"] == "# /usr/local/lib\n" {
		t.Errorf("initramfs: %q", m.initramfs)
	}
}
