// Package fwimage reads and verifies firmware images of ConnectX cards from an
// io.ReaderAt, without any vendor tool: FS2 (ConnectX-3), FS3 (Connect-IB,
// ConnectX-4) and FS4 (ConnectX-5 to 7).
//
// It must not touch files, hosts or the environment, must not decide whether
// an image may be burnt, and must not change or build images.
//
// The verdict is that of `mstflint -i FILE v`, version 4.21, which a test
// compares on more than a thousand damaged images, with these intended
// differences:
//
//   - image CRC: in FS2 the CRC over the whole image, the only one over the
//     header, must match; mstflint prints a mismatch and calls the image
//     bootable.
//   - PSID text: a PSID that is not printable ASCII, or has bytes behind its
//     end, is refused; mstflint prints it with its escape sequences.
//   - hardware ids: none, or more than 200, are refused; mstflint matches by a
//     weaker number, or writes past the end of its list.
//   - no version: an image without firmware version is refused.
//   - repeated or resized tag: a tag of the info section that comes twice or
//     has another length than its kind is refused; mstflint takes the last one
//     and reads past the end of short ones.
//   - header pointers: the pointers to the info and GUID sections must lead to
//     the sections of that type; mstflint then reads something else as GUIDs.
//   - header length: the length in the header must not exceed the file, and
//     must be that of the image if no image CRC covers it.
//   - necessary sections: exactly one info and one GUID section of FS2, one
//     IMAGE_INFO and MFG_INFO and at most one DEV_INFO of FS3 and FS4 are
//     demanded; mstflint takes the last one, or does without.
//   - section length: an IMAGE_INFO, MFG_INFO, DEV_INFO or signature that is
//     shorter than its content is refused; mstflint reads past its end.
//   - place of the CRC: a section of FS4 whose CRC is at none of the known
//     places is refused; mstflint does not check it.
//   - encrypted code: an FS4 image with sections that only the chip can verify
//     is refused; mstflint ignores their CRC.
//   - address overflow: an address of FS4 that lies in no file is refused;
//     mstflint computes with 32 bits and may read it from somewhere else.
//   - raw dump: the content of a whole flash is refused even if the image in
//     one of its slots can be read like a file.
//   - blank GUIDs: accepted and reported as IdentityBlank; mstflint says that
//     no card can boot from the image, which is so until GUIDs are set.
//
// Section chains that loop are refused; mstflint follows them for ever. Files
// that are no images are named by their first bytes; mstflint finds no valid
// image in them. An image without a table of contents at either of its places
// is refused as Encrypted; mstflint queries it, with an empty PSID, and cannot
// verify it.
//
// Image.Checksum is what `mstflint checksum` prints for all three formats.
package fwimage
