package fwimage_test

import (
	"bytes"
	"fmt"
	"os"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
)

// A file is read and verified as a whole. What is no image, or is damaged, is an error that says what
// it is.
func ExampleParse() {
	data, err := os.ReadFile("testdata/fs2-cx3pro-vpi.bin")
	if err != nil {
		panic(err)
	}
	file, size := bytes.NewReader(data), int64(len(data))
	img, err := fwimage.Parse(file, size)
	if err != nil {
		panic(err)
	}
	fmt.Println(img.Format, img.PSID, img.FWVersion, img.HWIDs[0].Describe())

	_, err = fwimage.Parse(file, size/2)
	fmt.Println(err)
	// Output:
	// FS2 MT_9090111019 2.42.5000 ConnectX-3 Pro (0x1f7 rev 0)
	// truncated image: Image Info at 0x3f4 ends at 0x580, but only 0x53c bytes are there
}
