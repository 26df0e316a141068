package ipoib

import "github.com/ibfabric/terraform-provider-infiniband/internal/finding"

// outside reports whether an interface of a partition is up and gets no carrier, although the
// subnet manager serves its port.
func (o Observation) outside() bool {
	return o.Parent != "" && o.idle() && o.PortState == "Active"
}

func (o Observation) withoutPartition(d Request, host string) finding.Finding {
	return finding.PKeyWithoutCarrier.Find("%s of %s is up and has no carrier, and port %s is Active. The P_Key is "+
		"0x%04x.", o.Name, host, d.PortGUID, d.PKey)
}
