package finding

// Rules of benchmarks.
var (
	BenchmarkUnavailable = &Rule{Code: "BM001", Severity: Refuse, Title: "Refusing a benchmark whose program the system cannot have", Attribute: "test",
		Meaning: "The program is not there, and the distribution's repositories do not have it or the system takes no packages. TrueNAS has iperf3 in its image, and neither qperf nor perftest.",
		WayOut:  "Use the test \"iperf3\", or measure between other hosts."}
	BenchmarkInstalled = &Rule{Code: "BM002", Severity: Warn, Title: "The package of the benchmark will be installed",
		Meaning: "It comes from the distribution, and stays when the resource is destroyed."}
	BenchmarkSingleStream = &Rule{Code: "BM003", Severity: Warn, Title: "A single stream in datagram mode is slow", Attribute: "streams",
		Meaning: "Datagram mode sends packets of at most 4092 bytes, each through one CPU core: what a single stream reaches says more about the core than about the link.",
		WayOut:  "Use several streams, or mode = \"connected\" of infiniband_ipoib_interface where the card can do it, or a limit that fits."}
	BenchmarkMissed = &Rule{Code: "BM004", Severity: Refuse, Title: "Refusing a result beyond its limit",
		Meaning: "The link works and carries less, or answers later, than the configuration asks for. Nothing was kept in state: the next apply measures again.",
		WayOut:  "Look at the likely causes; change the limit, or say on_miss = \"warn\", if the result is what these cards can do."}
	BenchmarkMissedAllowed = &Rule{Code: "BM005", Severity: Warn, Title: "Benchmark missed its limit, as agreed only a warning",
		Meaning: "The link works and carries less, or answers later, than the configuration asks for.",
		WayOut:  "Look at the likely causes."}
)
