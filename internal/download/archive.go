package download

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// named is how many members are listed of an archive that lacks the one that is asked for.
const named = 10

// extract writes one member of a zip, tar or tar.gz archive.
func extract(to io.Writer, archive *os.File, member string) error {
	head := make([]byte, 4)
	if _, err := io.ReadFull(archive, head); err != nil {
		return errors.New("it is no archive: it is empty or very short")
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	switch {
	case string(head) == "PK\x03\x04":
		return extractZip(to, archive, member)
	case head[0] == 0x1f && head[1] == 0x8b:
		unpacked, err := gzip.NewReader(bufio.NewReader(archive))
		if err != nil {
			return fmt.Errorf("it is no archive: %w", err)
		}
		return extractTar(to, unpacked, member, largestArchive)
	}
	err := extractTar(to, bufio.NewReader(archive), member, largestArchive)
	if errors.Is(err, tar.ErrHeader) {
		return fmt.Errorf("it is neither a zip nor a tar archive%s", looksLike(archive.Name()))
	}
	return err
}

func extractZip(to io.Writer, archive *os.File, member string) error {
	info, err := archive.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(archive, info.Size())
	if err != nil {
		return fmt.Errorf("the zip archive is damaged: %w", err)
	}
	var found *zip.File
	var others []string
	for _, f := range z.File {
		switch {
		case f.Name != member:
			others = append(others, f.Name)
		case found != nil:
			return fmt.Errorf("the archive has %s twice", member)
		default:
			found = f
		}
	}
	if found == nil {
		return missing(member, others)
	}
	if err = regular(member, found.Mode()); err != nil {
		return err
	}
	if found.UncompressedSize64 > largestFile {
		return fmt.Errorf("%s of the archive has %d MiB; no firmware image is that large", member,
			found.UncompressedSize64>>20)
	}
	content, err := found.Open()
	if err != nil {
		return fmt.Errorf("%s of the archive cannot be unpacked: %w", member, err)
	}
	defer content.Close() //nolint:errcheck // only read
	return copyLimited(to, content, largestFile)
}

func extractTar(to io.Writer, stream io.Reader, member string, most int64) error {
	// What is passed over counts as well: a few bytes may unpack to terabytes.
	limited := &io.LimitedReader{R: stream, N: most}
	t := tar.NewReader(limited)
	var others []string
	done := false
	for {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF) && limited.N > 0:
			if !done {
				return missing(member, others)
			}
			return nil
		case err != nil || limited.N <= 0:
			return tarFault(err, limited.N <= 0, most, len(others) == 0 && !done)
		case strings.TrimPrefix(h.Name, "./") != strings.TrimPrefix(member, "./"):
			others = append(others, h.Name)
		case done:
			return fmt.Errorf("the archive has %s twice", member)
		default:
			if err := takeTar(to, t, h, member); err != nil {
				return err
			}
			done = true
		}
	}
}

// tarFault says why a stream is read no further.
func tarFault(err error, tooLong bool, most int64, first bool) error {
	switch {
	case tooLong:
		return fmt.Errorf("the archive unpacks to more than %d MiB", most>>20)
	case errors.Is(err, io.ErrUnexpectedEOF) && first:
		return tar.ErrHeader // shorter than one header
	}
	return fmt.Errorf("the tar archive is damaged: %w", err)
}

func takeTar(to io.Writer, from *tar.Reader, h *tar.Header, member string) error {
	if err := regular(member, h.FileInfo().Mode()); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeLink {
		return fmt.Errorf("%s of the archive is a link to %s", member, h.Linkname)
	}
	return copyLimited(to, from, largestFile)
}

// regular refuses a member that leads elsewhere.
func regular(member string, mode fs.FileMode) error {
	if !mode.IsRegular() {
		return fmt.Errorf("%s of the archive is a link, a directory or a special file (%s)", member, mode)
	}
	return nil
}

func missing(member string, others []string) error {
	if len(others) == 0 {
		return errors.New("the archive is empty")
	}
	more := ""
	if len(others) > named {
		others, more = others[:named], ", …"
	}
	return fmt.Errorf("the archive has no member %s. It has: %s%s", member, strings.Join(others, ", "), more)
}
