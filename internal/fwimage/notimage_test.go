package fwimage

import (
	"errors"
	"strings"
	"testing"
)

func TestParse_names_what_is_no_image(t *testing.T) {
	tar := make([]byte, 1024)
	copy(tar, "firmware.bin")
	copy(tar[257:], "ustar\x00")
	for name, c := range map[string]struct {
		data   string
		kind   Kind
		advice string
	}{
		"MFA":            {"MFAR\x00\x00\x00\x02", KindMFA, "extract"},
		"MFA2":           {"MLNX.MFA2.XZ.00!\xfd7zXZ", KindMFA2, "extract"},
		"zip":            {"PK\x03\x04\x14\x00", KindZip, "unpack"},
		"empty zip":      {"PK\x05\x06\x00\x00", KindZip, "no content"},
		"gzip":           {"\x1f\x8b\x08", KindGzip, "unpack"},
		"xz":             {"\xfd7zXZ\x00", KindXz, "unpack"},
		"bzip2":          {"BZh91AY", KindBzip2, "unpack"},
		"zstd":           {"\x28\xb5\x2f\xfd\x00", KindZstd, "unpack"},
		"rpm":            {"\xed\xab\xee\xdb\x03", KindRPM, "unpack"},
		"tar":            {string(tar), KindTar, "unpack"},
		"PLDM":           {"\xf0\x18\x87\x8c\xcb\x7d\x49\x43\x98\x00\xa0\x2f\x05\x9a\xca\x02", KindPLDM, "management"},
		"PLDM 1.1":       {"\x12\x44\xd2\x64\x8d\x7d\x47\x18\xa0\x30\xfc\x8a\x56\x58\x7d\x5a\x02", KindPLDM, "management"},
		"PLDM 1.2":       {"\x31\x19\xce\x2f\xe8\x0a\x4a\x99\xaf\x6d\x46\xf8\xb1\x21\xf6\xbf\x03", KindPLDM, "management"},
		"PLDM 1.3":       {"\x7b\x29\x1c\x99\x6d\xb6\x42\x08\x80\x1b\x02\x02\x6e\x46\x3c\x78\x04", KindPLDM, "management"},
		"7z":             {"7z\xbc\xaf\x27\x1c\x00\x04", Kind7z, "unpack"},
		"RAR":            {"Rar!\x1a\x07\x01\x00", KindRAR, "unpack"},
		"cabinet":        {"MSCF\x00\x00\x00\x00\x01", KindCabinet, "unpack"},
		"deb":            {"!<arch>\ndebian-binary   1", KindDeb, "unpack"},
		"cable":          {"MTCF\x00\x00", KindCable, "transceiver"},
		"option ROM":     {"\x55\xaa\x40\x00", KindOptionROM, "full firmware image"},
		"ELF":            {"\x7fELF\x02\x01", KindELF, "wrong file"},
		"Windows":        {"MZ\x90\x00", KindWindows, "updater"},
		"HTML":           {"\n <!DOCTYPE html><html>", KindHTML, "error page"},
		"HTML with BOM":  {"\xef\xbb\xbf<html>", KindHTML, "error page"},
		"Git LFS":        {"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", KindGitLFS, "git lfs pull"},
		"ini":            {"[ADAPTER]\nPSID = x\n", KindINI, "mstflint ri"},
		"ini comment":    {";; Generated\n", KindINI, "mstflint ri"},
		"text":           {"Not found\n", KindText, "wrong file"},
		"text, cut rune": {strings.Repeat("a", 511) + "\u00fc and more", KindText, "wrong file"},
		"erased":         {strings.Repeat("\xff", 256), KindErased, "no firmware"},
		"zeros":          {strings.Repeat("\x00", 256), KindErased, "no firmware"},
		"something":      {"\x01\x02\x03\x04\x05\x06\x07\x08", KindUnknown, "no signature"},
		"erased FS4": {"\x00\x00\x00\x00" + magicFS4[4:] + strings.Repeat("\x01", 64), KindInvalidated,
			"another backup"},
		"erased in a row": {"\x00\x00\x00\x00" + magicFS23[4:] + strings.Repeat("\x01", 64), KindInvalidated,
			"another backup"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse([]byte(c.data))
			var not *Error
			if !errors.As(err, &not) || not.Kind != c.kind || !strings.Contains(not.Advice, c.advice) {
				t.Fatalf("got %v", err)
			}
			if !strings.HasPrefix(err.Error(), "not a firmware image but "+string(c.kind)) {
				t.Errorf("message %q", err)
			}
		})
	}
}
