package control

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// HostAccess is how a client reaches a host of the lab.
type HostAccess struct {
	Address         string   `json:"address"`
	Port            int      `json:"port"`
	User            string   `json:"user"`
	PrivateKeyFile  string   `json:"private_key_file"`
	KnownHostsFiles []string `json:"known_hosts_files"`
}

// VariablesFile has the values that point the example of a lab at it.
const VariablesFile = "lab.tfvars.json"

// SSHConfigFile reaches every host of a lab by its name.
const SSHConfigFile = "ssh_config"

// WriteFiles writes lab.json, for programs that look at the lab, the file of variables and
// the SSH configuration into the lab's directory.
func WriteFiles(l *labs.Lab) error {
	hosts := map[string]HostAccess{}
	for name, s := range l.Servers {
		hosts[name] = HostAccess{Address: s.Addr.IP.String(), Port: s.Addr.Port, User: l.User(name),
			PrivateKeyFile: l.KeyFile(), KnownHostsFiles: []string{l.KnownHostsFile()}}
	}
	vars := map[string]any{"hosts": hosts}
	if l.Machine(labs.Intel9) != nil {
		vpi := l.Images["fw-ConnectX3Pro-vpi.bin"]
		vars["image"], vars["image_sha256"] = vpi.Path, vpi.SHA256
	}
	for name, v := range map[string]any{
		"lab.json":    map[string]any{"hosts": hosts, "images": l.Images, "control": filepath.Join(l.Dir, SocketName)},
		VariablesFile: vars,
	} {
		data, err := json.MarshalIndent(v, "", "  ")
		if err == nil {
			err = os.WriteFile(filepath.Join(l.Dir, name), append(data, '\n'), 0o600)
		}
		if err != nil {
			return fmt.Errorf("control: write %s: %w", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(l.Dir, SSHConfigFile), []byte(l.SSHConfig(nil)), 0o600); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	return nil
}
