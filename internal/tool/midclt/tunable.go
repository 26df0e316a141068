package midclt

import "github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"

// Tunable is one entry of tunable.query; of type UDEV, Var is the stem of a
// rules file and Value is its text.
type Tunable struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Var     string `json:"var"`
	Value   string `json:"value"`
	Comment string `json:"comment"`
	Enabled bool   `json:"enabled"`
}

// ParseTunables reads the answer of tunable.query.
func ParseTunables(out []byte) ([]Tunable, error) {
	var all []Tunable
	err := decode(out, &all)
	return all, err
}

// CreateUdevTunable stores a udev rules file and waits until it is written. The
// middleware removes every other file of /etc/udev/rules.d while it does so.
func CreateUdevTunable(stem, text, comment string) shellcmd.Command {
	return job("tunable.create", map[string]any{
		"type": "UDEV", "var": stem, "value": text, "comment": comment, "enabled": true,
	}).Changes()
}

// UpdateTunable replaces the text of a tunable and enables it.
func UpdateTunable(id int, text string) shellcmd.Command {
	return job("tunable.update", id, map[string]any{"value": text, "enabled": true}).Changes()
}

// DeleteTunable removes a tunable and its file.
func DeleteTunable(id int) shellcmd.Command { return job("tunable.delete", id).Changes() }
