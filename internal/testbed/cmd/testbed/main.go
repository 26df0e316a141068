//go:build testbed && linux

// Command testbed says whether this machine can run the testbed, and installs
// what its hosts run. It must not run tests.
//
//	testbed check     exit status 3 if the machine cannot, with the reasons; and
//	                  what it lacks to run the lab of real kernels (package reallab)
//	testbed prepare   check, and install
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
	"github.com/ibfabric/terraform-provider-infiniband/internal/testbed"
)

// exitLacking tells a machine that cannot from a machine on which it failed.
const exitLacking = 3

func main() {
	testbed.CheckInside()
	if len(os.Args) != 2 || os.Args[1] != "check" && os.Args[1] != "prepare" {
		fmt.Fprintln(os.Stderr, "usage: testbed check|prepare")
		os.Exit(2)
	}
	err := testbed.Check()
	switch {
	case os.Args[1] == "check":
		if other := machine.Check(machine.Need{Machines: 2}); other != nil {
			fmt.Fprintln(os.Stderr, other)
		}
	case err == nil:
		err = testbed.Prepare()
	}
	var lacks testbed.LackingError
	switch {
	case errors.As(err, &lacks):
		fmt.Fprintln(os.Stderr, lacks)
		os.Exit(exitLacking)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
