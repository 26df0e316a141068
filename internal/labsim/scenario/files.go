package scenario

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// HostAccess is how a client reaches a machine.
type HostAccess struct {
	Address        string `json:"address"`
	Port           int    `json:"port"`
	User           string `json:"user"`
	PrivateKeyFile string `json:"private_key_file"`
	KnownHostsFile string `json:"known_hosts_file"`
}

// Access describes every machine for a client.
func (r *Running) Access() map[string]HostAccess {
	out := map[string]HostAccess{}
	for name, s := range r.Servers {
		out[name] = HostAccess{Address: "127.0.0.1", Port: s.Addr.Port, User: r.User(name), PrivateKeyFile: r.KeyFile, KnownHostsFile: r.KnownHosts}
	}
	return out
}

// variables are the values of the example configuration for this lab.
func (r *Running) variables() map[string]any {
	vpi := r.Images["fw-ConnectX3Pro-vpi.bin"]
	return map[string]any{
		"hosts": r.Access(), "image": vpi.Path, "image_sha256": vpi.SHA256, "psid_from": card.PSIDEN, "psid_to": card.PSIDVPI,
	}
}

// writeFiles writes known_hosts, lab.json and terraform.tfvars.json.
func (r *Running) writeFiles() error {
	if err := os.WriteFile(r.KnownHosts, []byte(r.knownHosts()), 0o600); err != nil {
		return fmt.Errorf("scenario: %w", err)
	}
	lab := map[string]any{"hosts": r.Access(), "images": r.Images, "control": filepath.Join(r.Dir, SocketName)}
	if err := writeJSON(filepath.Join(r.Dir, "lab.json"), lab); err != nil {
		return err
	}
	if r.Images == nil {
		return nil
	}
	return writeJSON(filepath.Join(r.Dir, "terraform.tfvars.json"), r.variables())
}

// SocketName is the control socket in the lab's directory.
const SocketName = "control.sock"

func writeJSON(file string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("scenario: write %s: %w", file, err)
	}
	return nil
}
