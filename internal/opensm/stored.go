package opensm

import (
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Stored is what a state keeps of an instance beside its attributes: what an apply overwrites or starts,
// and nothing that changes by itself. The names of its fields are those of states that exist.
type Stored struct {
	Settings map[string]string // by the key of the file, and the partitions; nil without a file of ours
	Lines    []string          // what our text of the same settings does not have, without secrets
	Runs     bool              // it is known to run
	Stopped  bool              // systemd has it as inactive, neither as failed nor as one that it starts again
	Enabled  bool              // it is known to start at boot
	Boot     string            // the boot of the host in which it was read
	// What an apply has to do depends on these. Nothing of them is compared.
	Managed bool     // our drop-in is there
	Edited  []string // files of ours that hold something else than we write
	Sound   bool     // it runs with its files, so that it may read them again on a signal
	Shared  []string // files that it shares with others and that a change writes
	Modules string   // the one of them that lacks a module of its own
}

// SettingKeys are the keys of Settings, in the order in which differences are told.
var SettingKeys = []string{"sm_priority", "sminfo_polling_timeout", "polling_retry_number", "log_max_size", "log_flags",
	"routing_engine", "subnet_prefix", "partitions", "keys_version", "m_key_protection_level",
	"m_key_lease_period"}

// Settings are priority, options, partitions and what a plan shows of the keys, in the words of the files. A setting
// that is left to opensm is empty.
func Settings(priority int, t Tuning, all []Partition, keys FabricKeys) map[string]string {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	settings := map[string]string{
		"sm_priority": strconv.Itoa(priority), "sminfo_polling_timeout": number(t.PollingTimeout),
		"polling_retry_number": number(t.PollingRetries), "log_max_size": number(t.LogMaxSize),
		"log_flags": opensm.LogLevels[t.LogLevel], "routing_engine": t.RoutingEngine,
		"partitions": strings.Join(strings.Fields(PartitionText(all)), " "), "keys_version": number(keys.Version),
		"m_key_protection_level": number(keys.Protection), "m_key_lease_period": number(keys.Lease),
	}
	if t.SubnetPrefix != 0 {
		settings["subnet_prefix"] = t.SubnetPrefix.String()
	}
	return settings
}
