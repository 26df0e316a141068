package ipoib

// Stack names what configures the network of a host. It is read from the host: each
// distribution comes with several.
type Stack string

// The network stacks that are understood.
const (
	StackUnknown    Stack = ""
	StackNetplan    Stack = "netplan with systemd-networkd"
	StackNetplanNM  Stack = "netplan with NetworkManager"
	StackNM         Stack = "NetworkManager"
	StackNetworkd   Stack = "systemd-networkd"
	StackIfupdown   Stack = "ifupdown"
	StackIfupdown2  Stack = "ifupdown2"
	StackMiddleware Stack = "TrueNAS middleware"
)

// Units of systemd behind the stacks.
const (
	NetworkdUnit   = "systemd-networkd.service"
	NMUnit         = "NetworkManager.service"
	NetworkingUnit = "networking.service"
)

// Service is the daemon behind a stack: systemd-networkd, NetworkManager, or
// none for ifupdown.
func (k Stack) Service() string {
	switch k {
	case StackNetplan, StackNetworkd:
		return NetworkdUnit
	case StackNetplanNM, StackNM:
		return NMUnit
	case StackIfupdown, StackIfupdown2, StackMiddleware, StackUnknown:
	}
	return ""
}

// IsIfupdown reports whether ifup takes the interfaces up.
func (k Stack) IsIfupdown() bool { return k == StackIfupdown || k == StackIfupdown2 }

// WorksThrough reports whether a stack works through the service of another.
func (k Stack) WorksThrough(other Stack) bool {
	if k.Service() == "" {
		return other.IsIfupdown()
	}
	return k.Service() == other.Service()
}
