package sminfo

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
)

func TestParse_reads_captures(t *testing.T) {
	for _, c := range capture.Load(t, os.DirFS("testdata"), "sminfo") {
		t.Run(c.Name, func(t *testing.T) {
			got, err := Parse(c.Text)
			if _, failed := c.Expected["errors"]; failed {
				if err == nil || NoManager(c.Text) {
					t.Errorf("got %v, %v of a tool that could not ask", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			fields := map[string]any{
				"sm_lid": got.LID, "sm_guid_normalised": got.GUID.Hex(), "activity_count": got.Activity, "priority": got.Priority,
				"state": got.State, "state_name": got.StateName, "sm_guid": c.Expected["sm_guid"],
			}
			if diff := cmp.Diff(any(c.Expected), capture.Plain(t, fields)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParse_without_a_manager(t *testing.T) {
	for _, warning := range []string{
		"_do_madrpc failed; dport (DR path slid 0; dlid 0; 0)", "MAD completed with error status 0xc; dport (Lid 3)",
	} {
		output := "ibwarn: [1234] mad_rpc: " + warning + "\nsminfo: iberror: failed: query\n"
		if got, err := Parse(output); err == nil || !NoManager(output) {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

func TestQuery(t *testing.T) {
	if got := Query("mlx4_0", 2); got.String() != "sminfo -e -C mlx4_0 -P 2" || got.Changing() || !got.Root() {
		t.Errorf("got %s", got)
	}
}

// Only two answers prove that there is no subnet manager; each other failure says what it is.
func TestFailure_is_no_proof(t *testing.T) {
	for _, c := range []struct {
		status       int
		output, want string
	}{
		{255, "ibwarn: [12] mad_rpc: _do_madrpc failed; dport (Lid 7)\nsminfo: iberror: failed: query\n",
			"nobody answers sminfo at the SM LID of the port"},
		{255, "ibwarn: [12] mad_rpc_open_port: can't open UMAD port (mlx4_0:1)\nsminfo: iberror: failed: Failed to open 'mlx4_0' port '1'\n",
			"sminfo ended with status 255: sminfo: iberror: failed: Failed to open 'mlx4_0' port '1'"},
		{255, "ibwarn: [12] mad_rpc: MAD completed with error status 0x1c; dport (Lid 7)\nsminfo: iberror: failed: query\n",
			"the port at the SM LID answers sminfo with the error 0x1c"},
		{255, "sminfo: iberror: failed: query\n", "sminfo ended with status 255: sminfo: iberror: failed: query"},
		{1, "sudo: a password is required\n", "sminfo ended with status 1: sudo: a password is required"},
		{127, "/bin/sh: 1: sminfo: not found\n", "sminfo is not on the PATH of the host"},
		{137, "", "sminfo ended with status 137 and said nothing"},
	} {
		if NoManager(c.output) {
			t.Errorf("%q is taken for a fabric without a subnet manager", c.output)
		}
		if got := Failure(c.status, c.output); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}
