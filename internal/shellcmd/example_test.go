package shellcmd_test

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// A command is an argument vector. What a host or a person wrote cannot leave its place in the script.
func ExampleCommand_String() {
	fmt.Println(shellcmd.New("ip", "link", "show", "ib0; reboot").AsRoot())
	// Output: ip link show 'ib0; reboot'
}
