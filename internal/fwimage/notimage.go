package fwimage

import (
	"bytes"
	"unicode/utf8"
)

// Kinds of files that users take for firmware images.
const (
	KindEmpty       Kind = "an empty file"
	KindTooLarge    Kind = "a file that is too large"
	KindErased      Kind = "erased flash"
	KindInvalidated Kind = "a flash dump or image whose signature was erased"
	KindUnknown     Kind = "something unknown"
	KindMFA         Kind = "an MFA archive"
	KindMFA2        Kind = "an MFA2 archive"
	KindZip         Kind = "a zip archive"
	KindGzip        Kind = "a gzip file"
	KindXz          Kind = "an xz file"
	KindBzip2       Kind = "a bzip2 file"
	KindZstd        Kind = "a zstd file"
	KindTar         Kind = "a tar archive"
	Kind7z          Kind = "a 7z archive"
	KindRAR         Kind = "a RAR archive"
	KindCabinet     Kind = "a Windows cabinet"
	KindDeb         Kind = "a Debian package"
	KindRPM         Kind = "an RPM package"
	KindPLDM        Kind = "a PLDM package"
	KindCable       Kind = "cable firmware"
	KindOptionROM   Kind = "a bare option ROM"
	KindELF         Kind = "a Linux program"
	KindWindows     Kind = "a Windows program"
	KindHTML        Kind = "an HTML or XML page"
	KindGitLFS      Kind = "a Git LFS pointer"
	KindINI         Kind = "a firmware configuration text"
	KindText        Kind = "a text file"
)

const (
	adviceExtract = "extract the .bin file for this PSID with the vendor's tools (mstarchive, mlx_fwmgr)"
	adviceUnpack  = "unpack it first and name the .bin file inside"
	adviceWrong   = "this is the wrong file"
	advicePLDM    = "PLDM packages are for servers' management controllers: fetch the .bin file"
)

// recognizeLen is how much of a file's start recognize looks at; it reaches
// past the tar magic.
const recognizeLen = 512

// knownFiles is looked through in order.
var knownFiles = []struct {
	offset int
	magic  string
	kind   Kind
	advice string
}{
	{0, "MFAR", KindMFA, adviceExtract},
	{0, "MLNX.MFA2.XZ.00!", KindMFA2, adviceExtract},
	{0, "PK\x03\x04", KindZip, adviceUnpack},
	{0, "PK\x05\x06", KindZip, "the archive has no content: fetch it again"},
	{0, "\x1f\x8b", KindGzip, adviceUnpack},
	{0, "\xfd7zXZ\x00", KindXz, adviceUnpack},
	{0, "BZh", KindBzip2, adviceUnpack},
	{0, "\x28\xb5\x2f\xfd", KindZstd, adviceUnpack},
	{0, "\xed\xab\xee\xdb", KindRPM, adviceUnpack},
	{257, "ustar", KindTar, adviceUnpack},
	{0, "7z\xbc\xaf\x27\x1c", Kind7z, adviceUnpack},
	{0, "Rar!\x1a\x07", KindRAR, adviceUnpack},
	{0, "MSCF\x00\x00\x00\x00", KindCabinet, adviceUnpack},
	{0, "!<arch>\n", KindDeb, adviceUnpack},
	// One identifier for each revision of the header, DSP0267 1.0 to 1.3.
	{0, "\xf0\x18\x87\x8c\xcb\x7d\x49\x43\x98\x00\xa0\x2f\x05\x9a\xca\x02", KindPLDM, advicePLDM},
	{0, "\x12\x44\xd2\x64\x8d\x7d\x47\x18\xa0\x30\xfc\x8a\x56\x58\x7d\x5a", KindPLDM, advicePLDM},
	{0, "\x31\x19\xce\x2f\xe8\x0a\x4a\x99\xaf\x6d\x46\xf8\xb1\x21\xf6\xbf", KindPLDM, advicePLDM},
	{0, "\x7b\x29\x1c\x99\x6d\xb6\x42\x08\x80\x1b\x02\x02\x6e\x46\x3c\x78", KindPLDM, advicePLDM},
	{0, "MTCF", KindCable, "it is for a cable's transceiver, not for a card"},
	{0, "\x55\xaa", KindOptionROM, "name a full firmware image; the ROM is only a part of one"},
	{0, "\x7fELF", KindELF, adviceWrong},
	{0, "MZ", KindWindows, "the vendor's Windows updater contains the image: fetch the .bin file instead"},
	{0, "version https://git-lfs", KindGitLFS, "run `git lfs pull` to fetch the content"},
}

// recognize names the file by its first bytes. It returns nil for everything
// that may be an image.
func recognize(head []byte) error {
	for _, k := range knownFiles {
		if len(head) >= k.offset && bytes.HasPrefix(head[k.offset:], []byte(k.magic)) {
			return notAnImage(k.kind, k.advice)
		}
	}
	return recognizeText(head)
}

func recognizeText(head []byte) error {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(text) == 0 || !isText(text) {
		return nil
	}
	switch text[0] {
	case '<':
		return notAnImage(KindHTML, "a server's error page was probably saved in place of the image: fetch it again")
	case ';', '[':
		return notAnImage(KindINI, "`mstflint dc` writes the configuration only; a backup is made with `mstflint ri`")
	}
	return notAnImage(KindText, adviceWrong)
}

// isText tells texts from images, whose first sixteen bytes contain control
// and non-ASCII bytes.
func isText(b []byte) bool {
	// The last rune may be cut.
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			return len(b) < utf8.UTFMax && !utf8.FullRune(b)
		}
		if r < ' ' && r != '\t' && r != '\r' && r != '\n' {
			return false
		}
		b = b[n:]
	}
	return true
}

func allBytes(data []byte, b byte) bool {
	for _, c := range data {
		if c != b {
			return false
		}
	}
	return true
}
