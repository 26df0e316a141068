package unix

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// sum is sha256sum and md5sum, with -c.
func sum(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "c", "b", "check", "status", "quiet")
	if !good {
		return 2
	}
	digest := func(b []byte) string {
		if strings.HasPrefix(p.Name(), "md5") {
			d := md5.Sum(b)
			return hex.EncodeToString(d[:])
		}
		d := sha256.Sum256(b)
		return hex.EncodeToString(d[:])
	}
	if f.Has("c") || f.Has("check") {
		return checkSums(p, f, digest)
	}
	return inputs(p, f.Args, func(name string, r io.Reader) {
		b, _ := io.ReadAll(r)
		p.Printf("%s  %s\n", digest(b), name)
	})
}

func checkSums(p *labsim.Proc, f *labsim.Flags, digest func([]byte) string) int {
	status := 0
	failed := inputs(p, f.Args, func(_ string, r io.Reader) {
		for _, l := range lines(r) {
			want, name, ok := strings.Cut(l, " ")
			name = strings.TrimLeft(name, " *")
			data, err := p.ReadFile(name)
			verdict := "OK"
			if !ok || err != nil || digest(data) != want {
				verdict, status = "FAILED", 1
			}
			if !f.Has("status") && (verdict != "OK" || !f.Has("quiet")) {
				p.Printf("%s: %s\n", name, verdict)
			}
		}
	})
	return max(status, failed)
}

func base64Program(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "d", "w=")
	if !good {
		return 2
	}
	status := 0
	failed := inputs(p, f.Args, func(_ string, r io.Reader) {
		data, _ := io.ReadAll(r)
		if f.Has("d") {
			out, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(data)), ""))
			if err != nil {
				status = p.Fail(1, "invalid input")
				return
			}
			_, _ = p.Stdout.Write(out)
			return
		}
		width := 76
		if f.Has("w") {
			width, _ = strconv.Atoi(f.Get("w"))
		}
		s := base64.StdEncoding.EncodeToString(data)
		for width > 0 && len(s) > width {
			p.Printf("%s\n", s[:width])
			s = s[width:]
		}
		p.Printf("%s", s)
		if width > 0 {
			p.Printf("\n")
		}
	})
	return max(status, failed)
}

// od knows od -An -tx1 [-N bytes] [-v].
func od(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "A=", "t=", "N=", "v", "j=")
	if !good {
		return 2
	}
	if f.Get("A") != "n" || f.Get("t") != "x1" {
		return p.Unknown("od without -An -tx1")
	}
	return inputs(p, f.Args, func(_ string, r io.Reader) {
		data, _ := io.ReadAll(r)
		if skip, err := strconv.Atoi(f.Get("j")); err == nil {
			data = data[min(skip, len(data)):]
		}
		if n, err := strconv.Atoi(f.Get("N")); err == nil {
			data = data[:min(n, len(data))]
		}
		for i := 0; i < len(data); i += 16 {
			for _, b := range data[i:min(i+16, len(data))] {
				p.Printf(" %02x", b)
			}
			p.Printf("\n")
		}
	})
}

func cmp(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "s")
	if !good || len(f.Args) != 2 {
		return 2
	}
	var data [2][]byte
	for i, name := range f.Args {
		b, err := io.ReadAll(source(p, name))
		if err != nil {
			return p.Fail(2, "%s: %s", name, reason(err))
		}
		data[i] = b
	}
	if bytes.Equal(data[0], data[1]) {
		return 0
	}
	if !f.Has("s") {
		n := 0
		for n < len(data[0]) && n < len(data[1]) && data[0][n] == data[1][n] {
			n++
		}
		p.Printf("%s %s differ: byte %d, line %d\n", f.Args[0], f.Args[1], n+1, bytes.Count(data[0][:n], []byte("\n"))+1)
	}
	return 1
}

// dd knows if=, of=, bs=, count=, skip=, status=none, conv=fsync and oflag=.
func dd(_ context.Context, p *labsim.Proc) int {
	opt := map[string]string{}
	for _, a := range p.Args[1:] {
		k, v, ok := strings.Cut(a, "=")
		if !ok || !strings.Contains(" if of bs count skip status conv oflag iflag ", " "+k+" ") {
			return p.Unknown("operand " + a)
		}
		opt[k] = v
	}
	bs := 512
	if opt["bs"] != "" {
		v, err := size(opt["bs"])
		if err != nil {
			return p.Unknown("bs=" + opt["bs"])
		}
		bs = v
	}
	in, out := p.Stdin, p.Stdout
	if opt["if"] != "" {
		in = source(p, opt["if"])
	}
	if n, err := strconv.Atoi(opt["skip"]); err == nil {
		_, _ = io.CopyN(io.Discard, in, int64(n*bs))
	}
	if n, err := strconv.Atoi(opt["count"]); err == nil {
		in = io.LimitReader(in, int64(n*bs))
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return p.Fail(1, "failed to open '%s': %s", opt["if"], reason(err))
	}
	if opt["of"] != "" {
		h, err := p.Open(opt["of"], os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
		if err != nil {
			return p.Fail(1, "failed to open '%s': %s", opt["of"], reason(err))
		}
		out = h
	}
	if _, err := out.Write(data); err != nil {
		return p.Fail(1, "error writing '%s': %s", opt["of"], reason(err))
	}
	if opt["status"] != "none" {
		_, _ = fmt.Fprintf(p.Stderr, "%d+0 records in\n%d+0 records out\n", len(data)/bs, len(data)/bs)
	}
	return 0
}

func size(s string) (int, error) {
	unit := 1
	switch {
	case strings.HasSuffix(s, "k"), strings.HasSuffix(s, "K"):
		unit = 1 << 10
	case strings.HasSuffix(s, "M"):
		unit = 1 << 20
	}
	v, err := strconv.Atoi(strings.TrimRight(s, "kKM"))
	return v * unit, err
}
