package inventory

// Mount is a file system that holds what is written to the host.
type Mount struct {
	Path     string // "/", "/etc"
	Kind     string // "ext4", "overlay", "tmpfs"
	ReadOnly bool
	// Fleeting says what of it a restart makes anew, "a tmpfs"; empty if nothing is known to be.
	Fleeting string
	Sure     bool // it does so; else it may
}
