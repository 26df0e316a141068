package unix

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

func lines(r io.Reader) []string {
	data, _ := io.ReadAll(r)
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

func head(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	n, err := strconv.Atoi(f.Or("n", "10"))
	if err != nil || n < 0 {
		return p.Unknown("count " + f.Get("n"))
	}
	return inputs(p, f.Args, func(_ string, r io.Reader) {
		br := bufio.NewReader(r)
		for range n {
			l, err := br.ReadString('\n')
			p.Printf("%s", l)
			if err != nil {
				return
			}
		}
	})
}

func tail(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	n, err := strconv.Atoi(f.Or("n", f.Or("c", "10")))
	if err != nil || n < 0 {
		return p.Unknown("count " + f.Get("n") + f.Get("c"))
	}
	return inputs(p, f.Args, func(_ string, r io.Reader) {
		data, _ := io.ReadAll(r)
		if !f.Has("c") {
			all := slices.Collect(bytes.Lines(data))
			data, n = bytes.Join(all[max(len(all)-n, 0):], nil), len(data)
		}
		_, _ = p.Stdout.Write(data[max(len(data)-n, 0):])
	})
}

// wc knows wc -c of standard input.
func wc(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if !f.Has("c") || len(f.Args) > 0 {
		return p.Unknown("form of wc")
	}
	data, _ := io.ReadAll(p.Stdin)
	p.Printf("%d\n", len(data))
	return 0
}

// cut knows one field or characters of each line: -d CHAR -f N, or -c N-M.
func cut(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	spec := f.Get("f") + f.Get("c")
	a, b, ranged := strings.Cut(spec, "-")
	from, err := strconv.Atoi(a)
	to, toErr := strconv.Atoi(b)
	if !ranged {
		to, toErr = from, nil
	}
	if err != nil || toErr != nil || from < 1 || to < from || f.Has("c") == f.Has("d") {
		return p.Unknown("list " + spec)
	}
	return inputs(p, f.Args, func(_ string, r io.Reader) {
		for _, l := range lines(r) {
			if parts := strings.Split(l, f.Get("d")); f.Has("c") || len(parts) > 1 { // a line without the character stays whole
				l = strings.Join(parts[min(from-1, len(parts)):min(to, len(parts))], f.Get("d"))
			}
			p.Printf("%s\n", l)
		}
	})
}

// tr knows two sets of single characters, with \n and \000.
func tr(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	escapes := strings.NewReplacer(`\n`, "\n", `\000`, "\x00")
	if f.Has("d") && len(f.Args) == 1 && !strings.ContainsAny(f.Args[0], `-\[`) {
		data, _ := io.ReadAll(p.Stdin)
		drop := func(r rune) rune {
			if strings.ContainsRune(f.Args[0], r) {
				return -1
			}
			return r
		}
		_, _ = p.Stdout.Write(bytes.Map(drop, data))
		return 0
	}
	if len(f.Args) != 2 || f.Has("d") {
		return p.Unknown("tr operands")
	}
	from, to := escapes.Replace(f.Args[0]), escapes.Replace(f.Args[1])
	if strings.ContainsAny(from+to, `-\[`) || len(from) != len(to) {
		return p.Unknown("sets of tr")
	}
	data, _ := io.ReadAll(p.Stdin)
	for i, c := range data {
		if at := strings.IndexByte(from, c); at >= 0 {
			data[i] = to[at]
		}
	}
	_, _ = p.Stdout.Write(data)
	return 0
}

func sortLines(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	var all []string
	status := inputs(p, f.Args, func(_ string, r io.Reader) { all = append(all, lines(r)...) })
	slices.SortStableFunc(all, func(a, b string) int {
		if f.Has("n") {
			x, _ := strconv.Atoi(strings.TrimSpace(a))
			y, _ := strconv.Atoi(strings.TrimSpace(b))
			return cmp.Compare(x, y)
		}
		return cmp.Compare(a, b)
	})
	for _, l := range all {
		p.Printf("%s\n", l)
	}
	return status
}

// sum is sha256sum.
func sum(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	return inputs(p, f.Args, func(name string, r io.Reader) {
		b, _ := io.ReadAll(r)
		p.Printf("%x  %s\n", sha256.Sum256(b), name)
	})
}
