package finding

// Rules of benchmarks.
var (
	BenchmarkUnavailable = &Rule{Code: "BM001", Severity: Refuse,
		Title: "Refusing a benchmark: the host cannot get its program", Attribute: "test",
		Meaning: "The program is not installed. The distribution has no package of it, or the system accepts no packages. " +
			"TrueNAS has iperf3, but neither qperf nor perftest.",
		WayOut: "Use the test \"iperf3\", or measure between other hosts. For the latency of TCP, half of small.rtt_avg_us " +
			"of infiniband_connectivity is near to what qperf prints."}
	BenchmarkMissed = &Rule{Code: "BM004", Severity: Refuse, Title: "Refusing a benchmark result that misses its limit",
		Meaning: "The link works, but is slower than the configuration asks for. " +
			"With on_miss = \"warn\" this is a warning.",
		WayOut: "Look at the likely causes. If these cards cannot do better, change the limit or write on_miss = \"warn\"."}
)
