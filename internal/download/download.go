// Package download brings a file that is declared by its SHA-256 to the machine that runs
// Terraform: over https, out of an archive, or both. Nothing of it is used before its hash is
// the declared one, and nothing stays of a file that has another.
//
// It must not know what an image is.
package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Limits of what is read. No firmware image is larger; a release of a vendor has images of many
// boards in one archive.
const (
	largestFile    = 256 << 20
	largestArchive = 1 << 30
	tries          = 3 // of a transfer that breaks; each goes on where the one before ended
	patience       = 30 * time.Second
)

// Source says where a file is.
type Source struct {
	Address string // an https address, or the path of an archive
	Member  string // the file in the archive; empty: the address is the file itself
	SHA256  string // of the file, not of the archive
}

// IsRemote reports whether an address is one of the network.
func IsRemote(address string) bool {
	scheme, _, is := strings.Cut(address, "://")
	return is && !strings.ContainsAny(scheme, `/\.`) // a path may hold it behind a slash
}

// Folder keeps files by their hash. Two processes that fetch one address at once may spoil each
// other's transfer: the hash tells, and the next run fetches it again.
type Folder struct {
	Dir    string       // default: a folder in the cache of the user
	Client *http.Client // nil: the default one

	mu sync.Mutex
}

// Get gives the path of the file, which has the declared hash.
func (f *Folder) Get(ctx context.Context, s Source) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.SHA256 = strings.ToLower(s.SHA256)
	if len(s.SHA256) != hex.EncodedLen(sha256.Size) {
		return "", errors.New("a file from the network or out of an archive needs its sha256. It is that of the image, " +
			"not of the archive")
	}
	if !IsRemote(s.Address) { // an archive that others have as well, and not this machine alone
		if _, err := os.Stat(s.Address); err != nil {
			return "", err
		}
	}
	dir, err := f.dir()
	if err != nil {
		return "", err
	}
	kept := filepath.Join(dir, s.SHA256+".bin")
	if sum, err := hashOf(kept); err == nil && sum == s.SHA256 {
		return kept, nil
	}
	archive := s.Address
	if IsRemote(s.Address) {
		name := sha256.Sum256([]byte(s.Address))
		archive = filepath.Join(dir, hex.EncodeToString(name[:])+".part")
		if err := f.fetch(ctx, s.Address, archive); err != nil {
			return "", err
		}
		defer os.Remove(archive) //nolint:errcheck // it is complete: the file is kept under its hash, or is another one
	}
	return kept, keep(archive, s, kept)
}

// dir gives the folder, which only its user may read.
func (f *Folder) dir() (string, error) {
	dir := f.Dir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("this machine has no folder for what is fetched: %w", err)
		}
		dir = filepath.Join(cache, "terraform-provider-infiniband", "images")
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// keep puts the file in its place if it has the declared hash.
func keep(from string, s Source, to string) error {
	unpacked, err := os.CreateTemp(filepath.Dir(to), "image-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(unpacked.Name()) //nolint:errcheck // after the rename there is none
	err = copyFile(unpacked, from, s.Member)
	if err = errors.Join(err, unpacked.Close()); err != nil {
		return err
	}
	sum, err := hashOf(unpacked.Name())
	switch {
	case err != nil:
		return err
	case sum != s.SHA256:
		return fmt.Errorf("it has SHA-256 %s, and sha256 declares %s%s. Nothing of it was kept", sum, s.SHA256,
			looksLike(unpacked.Name()))
	}
	return os.Rename(unpacked.Name(), to)
}

func copyFile(to io.Writer, from, member string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	if member != "" {
		return extract(to, in, member)
	}
	return copyLimited(to, in, largestFile)
}

// copyLimited refuses to copy more than most bytes.
func copyLimited(to io.Writer, from io.Reader, most int64) error {
	n, err := io.Copy(to, io.LimitReader(from, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("it has more than %d MiB; no firmware image is that large", most>>20)
	}
	return err
}

// looksLike names what servers send in the place of a file.
func looksLike(path string) string {
	in, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer in.Close() //nolint:errcheck // only read
	head := make([]byte, 512)
	n, _ := io.ReadFull(in, head)
	if strings.HasPrefix(http.DetectContentType(head[:n]), "text/html") {
		return ". It is a web page, not a file: the address may need a login, or lead to a list"
	}
	return ""
}

func hashOf(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // only read
	sum := sha256.New()
	_, err = io.Copy(sum, in)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// fetch completes the file at path.
func (f *Folder) fetch(ctx context.Context, address, path string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fmt.Errorf("invalid address: %w", err)
	case u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%s is no https address", u.Redacted())
	case u.User != nil:
		return errors.New("the address has a name or a password in it, which would be stored in the state: leave them out")
	}
	for try := 1; ; try++ {
		err = f.transfer(ctx, u, path)
		var broken *brokenError
		if !errors.As(err, &broken) || try == tries || ctx.Err() != nil {
			return err
		}
	}
}

// brokenError is a transfer that may go on.
type brokenError struct{ err error }

func (e *brokenError) Error() string {
	return "the transfer broke: " + e.err.Error() + ". What has come is kept, and the next run goes on from there"
}
func (e *brokenError) Unwrap() error { return e.err }

// transfer asks for what is missing of the file.
func (f *Folder) transfer(ctx context.Context, u *url.URL, path string) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close() //nolint:errcheck // what has come is told by its hash
	have, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	answer, err := f.ask(ctx, u, have)
	switch {
	case err != nil && have == 0:
		return errors.Join(err, os.Remove(path))
	case err != nil:
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	if have, err = begins(answer, u.Host, have); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	if err = out.Truncate(have); err == nil {
		_, err = out.Seek(have, io.SeekStart)
	}
	if err != nil {
		return err
	}
	return receive(out, answer, have)
}

// begins is where in the file an answer begins.
func begins(answer *http.Response, host string, have int64) (int64, error) {
	switch {
	case answer.StatusCode == http.StatusPartialContent &&
		strings.HasPrefix(answer.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)):
		return have, nil
	case answer.StatusCode == http.StatusOK:
		return 0, nil
	case answer.StatusCode == http.StatusRequestedRangeNotSatisfiable, answer.StatusCode == http.StatusPartialContent:
		// What is kept does not fit what the server has now.
		return 0, &brokenError{errors.New(answer.Status)}
	}
	return 0, fmt.Errorf("%s answered %s", host, answer.Status)
}

func receive(out *os.File, answer *http.Response, have int64) error {
	if have+max(answer.ContentLength, 0) > largestArchive {
		return errors.Join(fmt.Errorf("it has %d MiB; at most %d are fetched", (have+answer.ContentLength)>>20,
			largestArchive>>20), os.Remove(out.Name()))
	}
	n, err := io.Copy(out, io.LimitReader(answer.Body, largestArchive-have+1))
	switch {
	case err != nil:
		return &brokenError{err}
	case have+n > largestArchive:
		return errors.Join(fmt.Errorf("it has more than %d MiB", largestArchive>>20), os.Remove(out.Name()))
	}
	return nil
}

// ask sends the request. A server that leads to another host leads to somebody whom the
// configuration does not name.
func (f *Folder) ask(ctx context.Context, u *url.URL, from int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // bytes are counted
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: patience,
		ResponseHeaderTimeout: patience}}
	if f.Client != nil {
		client = *f.Client
	}
	client.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		if next.URL.Scheme != "https" || next.URL.Host != u.Host {
			return &redirectError{"the server redirects to another host, " + next.URL.Redacted() + ". If you trust that, " +
				"write its address"}
		}
		if len(before) > tries {
			return &redirectError{"the server redirects again and again"}
		}
		return nil
	}
	answer, err := client.Do(req)
	var elsewhere *redirectError
	switch {
	case errors.As(err, &elsewhere):
		return nil, elsewhere
	case err != nil:
		return nil, &brokenError{err}
	}
	return answer, nil
}

type redirectError struct{ text string }

func (e *redirectError) Error() string { return e.text }
