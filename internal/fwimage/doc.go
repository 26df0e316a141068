// Package fwimage reads and verifies firmware images of ConnectX cards from an
// io.ReaderAt, without any vendor tool.
//
// It must not touch files, hosts or the environment, must not decide whether
// an image may be burnt, and must not change or build images.
//
// The verdict is that of `mstflint -i FILE v`, version 4.21, which a test
// compares on several hundred damaged images, with these intended differences:
//
//   - image CRC: the CRC over the whole image, the only one over the header,
//     must match; mstflint prints a mismatch and calls the image bootable.
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
//   - necessary sections: exactly one info and one GUID section are demanded.
//   - raw dump: the content of a whole flash is refused even if the image in
//     its first slot can be read like a file.
//   - blank GUIDs: accepted and reported as IdentityBlank; mstflint says that
//     no card can boot from the image, which is so until GUIDs are set.
//
// Section chains that loop are refused; mstflint follows them for ever. Files
// that are no images are named by their first bytes; mstflint finds no valid
// image in them.
package fwimage
