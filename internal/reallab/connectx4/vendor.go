//go:build linux

package connectx4

func (f *Function) readVendor(at uint32) uint32 {
	if v, ok := f.tools.Read(at); ok {
		return v
	}
	return f.space.Word(capVendor + int(at))
}

// writeVendor passes on what a tool writes. A flash whose hook has cut the power is the
// machine's end; its owner ends it.
func (f *Function) writeVendor(at, v uint32) { _ = f.tools.Write(at, v) }
