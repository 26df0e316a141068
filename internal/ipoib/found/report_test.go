package found

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
)

// Before its group is joined the kernel shows an MTU that nobody has set.
func TestReport_imports_no_MTU_of_the_port(t *testing.T) {
	file := func(mtu int) []Unmanaged { return []Unmanaged{{Path: "/a", Config: ipoib.Config{MTU: mtu}}} }
	for name, c := range map[string]struct {
		o    Look
		want int
	}{
		"joined":              {Look{Live: Live{Carrier: true, Config: ipoib.Config{Mode: "datagram", MTU: 4092}}}, 4092},
		"not joined":          {Look{Live: Live{Config: ipoib.Config{Mode: "datagram", MTU: 4092}}}, 2044},
		"not joined, set":     {Look{Live: Live{Config: ipoib.Config{Mode: "datagram", MTU: 2000}}}, 2000},
		"connected":           {Look{Live: Live{Config: ipoib.Config{Mode: "connected", MTU: 65520}}}, 65520},
		"a file says so":      {Look{Live: Live{Config: ipoib.Config{Mode: "datagram", MTU: 4092}}, Unmanaged: file(4092)}, 4092},
		"a file says nothing": {Look{Live: Live{Config: ipoib.Config{Mode: "datagram", MTU: 4092}}, Unmanaged: file(0)}, 2044},
		"ours": {Look{Live: Live{Config: ipoib.Config{Mode: "datagram", MTU: 4092}}, Persisted: StoredConfig{Found: true,
			Config: ipoib.Config{MTU: 4092}}}, 4092},
	} {
		c.o.Present = true
		if got := c.o.Report(nil).MTU; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
