package midclt

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// commitTimeout is for calls that reconfigure all interfaces or the boot loader.
// Without it the client gives up after 60 seconds while the middleware goes on.
const commitTimeout = 180 * time.Second

// argument encodes a value as the JSON that midclt decodes; a bare word would be
// taken as JSON if it looks like it ("true", "123").
func argument(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		// Only values of this package's own types come here; none of them fails.
		panic("midclt: " + err.Error())
	}
	return string(b)
}

func call(method string, args ...any) shellcmd.Command {
	argv := []string{"call", method}
	for _, a := range args {
		argv = append(argv, argument(a))
	}
	return shellcmd.New("midclt", argv...).AsRoot()
}

// slow is a call with a longer timeout. -t is an option of midclt and stands before
// "call".
func slow(method string, args ...any) shellcmd.Command {
	argv := []string{"-t", strconv.Itoa(int(commitTimeout.Seconds())), "call", method}
	for _, a := range args {
		argv = append(argv, argument(a))
	}
	return shellcmd.New("midclt", argv...).AsRoot().WithTimeout(commitTimeout + 10*time.Second)
}

// job waits for the end of a job method and prints its result. The client has
// no timeout of its own for it.
func job(method string, args ...any) shellcmd.Command {
	argv := []string{"call", "-j", "-jp", "description", method}
	for _, a := range args {
		argv = append(argv, argument(a))
	}
	return shellcmd.New("midclt", argv...).AsRoot().WithTimeout(commitTimeout)
}

// Reboot asks for a restart after delay. It does not wait for the job: the
// connection would die under it.
func Reboot(reason string, delay time.Duration) shellcmd.Command {
	return call("system.reboot", reason, map[string]int{"delay": int(delay.Seconds())}).Changes()
}

// SystemState prints BOOTING, READY or SHUTTING_DOWN.
func SystemState() shellcmd.Command { return call("system.state") }

// SetKernelOptions replaces the kernel_extra_options string.
func SetKernelOptions(text string) shellcmd.Command {
	return slow("system.advanced.update", map[string]string{"kernel_extra_options": text}).Changes()
}

// AdvancedConfig is the part of system.advanced.config that matters here.
type AdvancedConfig struct {
	KernelExtraOptions string `json:"kernel_extra_options"`
}

// ParseAdvancedConfig reads the answer of system.advanced.config.
func ParseAdvancedConfig(out []byte) (AdvancedConfig, error) {
	var c AdvancedConfig
	if err := decode(out, &c); err != nil {
		return AdvancedConfig{}, err
	}
	return c, nil
}
