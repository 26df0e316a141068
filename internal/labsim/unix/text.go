package unix

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"sort"
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

func head(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "n=", "c=")
	if !good {
		return 2
	}
	n, ok := count(p, f, 10)
	if !ok {
		return 2
	}
	return inputs(p, f.Args, func(_ string, r io.Reader) {
		if f.Has("c") {
			_, _ = io.CopyN(p.Stdout, r, int64(n))
			return
		}
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

func count(p *labsim.Proc, f *labsim.Flags, n int) (int, bool) {
	text := f.Get("n") + f.Get("c")
	if text == "" {
		return n, true
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < 0 {
		p.Unknown("count " + text)
		return 0, false
	}
	return v, true
}

func tail(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "n=", "c=")
	if !good {
		return 2
	}
	from := strings.HasPrefix(f.Get("n")+f.Get("c"), "+")
	n, err := strconv.Atoi(strings.TrimPrefix(f.Get("n")+f.Get("c")+"", "+"))
	if f.Get("n")+f.Get("c") == "" {
		n, err = 10, nil
	}
	if err != nil {
		return p.Unknown("count " + f.Get("n") + f.Get("c"))
	}
	return inputs(p, f.Args, func(_ string, r io.Reader) {
		data, _ := io.ReadAll(r)
		if f.Has("c") {
			at := max(len(data)-n, 0)
			if from {
				at = min(max(n-1, 0), len(data))
			}
			_, _ = p.Stdout.Write(data[at:])
			return
		}
		all := bytes.SplitAfter(data, []byte("\n"))
		if len(all) > 0 && len(all[len(all)-1]) == 0 {
			all = all[:len(all)-1]
		}
		at := max(len(all)-n, 0)
		if from {
			at = min(max(n-1, 0), len(all))
		}
		_, _ = p.Stdout.Write(bytes.Join(all[at:], nil))
	})
}

func wc(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "l", "c", "w")
	if !good {
		return 2
	}
	return inputs(p, f.Args, func(name string, r io.Reader) {
		data, _ := io.ReadAll(r)
		var out []string
		all := !f.Has("l") && !f.Has("c") && !f.Has("w")
		if f.Has("l") || all {
			out = append(out, strconv.Itoa(bytes.Count(data, []byte("\n"))))
		}
		if f.Has("w") || all {
			out = append(out, strconv.Itoa(len(bytes.Fields(data))))
		}
		if f.Has("c") || all {
			out = append(out, strconv.Itoa(len(data)))
		}
		if name != "-" {
			out = append(out, name)
		}
		p.Printf("%s\n", strings.Join(out, " "))
	})
}

func cut(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "d=", "f=", "c=", "s")
	if !good {
		return 2
	}
	spec := f.Get("f") + f.Get("c")
	pick, err := fieldSet(spec)
	if err != nil {
		return p.Unknown("list " + spec)
	}
	sep := "\t"
	if f.Has("d") {
		sep = f.Get("d")
	}
	return inputs(p, f.Args, func(_ string, r io.Reader) {
		for _, l := range lines(r) {
			if f.Has("c") {
				sep = ""
			} else if !strings.Contains(l, sep) {
				if !f.Has("s") {
					p.Printf("%s\n", l)
				}
				continue
			}
			var out []string
			for i, part := range strings.Split(l, sep) {
				if pick(i + 1) {
					out = append(out, part)
				}
			}
			p.Printf("%s\n", strings.Join(out, sep))
		}
	})
}

func fieldSet(spec string) (func(int) bool, error) {
	type span struct{ from, to int }
	var spans []span
	for _, part := range strings.Split(spec, ",") {
		a, b, ranged := strings.Cut(part, "-")
		s := span{1, 1 << 30}
		var err error
		if a != "" {
			if s.from, err = strconv.Atoi(a); err != nil {
				return nil, err
			}
		}
		if !ranged {
			s.to = s.from
		} else if b != "" {
			if s.to, err = strconv.Atoi(b); err != nil {
				return nil, err
			}
		}
		spans = append(spans, s)
	}
	return func(n int) bool {
		for _, s := range spans {
			if n >= s.from && n <= s.to {
				return true
			}
		}
		return false
	}, nil
}

func tr(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(true, "d", "s")
	if !good {
		return 2
	}
	if len(f.Args) == 0 || !f.Has("d") && !f.Has("s") && len(f.Args) != 2 {
		return p.Unknown("tr operands")
	}
	from := []rune(expandSet(f.Args[0]))
	var to []rune
	if len(f.Args) > 1 {
		to = []rune(expandSet(f.Args[1]))
	}
	data, _ := io.ReadAll(p.Stdin)
	var b strings.Builder
	var last rune = -1
	for _, c := range string(data) {
		at := strings.IndexRune(string(from), c)
		in := at >= 0
		switch {
		case in && f.Has("d"):
			continue
		case in && len(to) > 0:
			c = to[min(indexRune(from, c), len(to)-1)]
		}
		if f.Has("s") && in && c == last {
			continue
		}
		last = c
		b.WriteRune(c)
	}
	p.Printf("%s", b.String())
	return 0
}

func indexRune(set []rune, c rune) int {
	for i, r := range set {
		if r == c {
			return i
		}
	}
	return -1
}

func expandSet(s string) string {
	s = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\000`, "\x00", `\0`, "\x00", `\\`, `\`,
		"[:lower:]", "a-z", "[:upper:]", "A-Z", "[:digit:]", "0-9", "[:space:]", " \t\n\r").Replace(s)
	var b strings.Builder
	r := []rune(s)
	for i := 0; i < len(r); i++ {
		if i+2 < len(r) && r[i+1] == '-' {
			for c := r[i]; c <= r[i+2]; c++ {
				b.WriteRune(c)
			}
			i += 2
			continue
		}
		b.WriteRune(r[i])
	}
	return b.String()
}

func sortLines(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "u", "n", "r")
	if !good {
		return 2
	}
	var all []string
	status := inputs(p, f.Args, func(_ string, r io.Reader) { all = append(all, lines(r)...) })
	sort.SliceStable(all, func(i, j int) bool {
		if f.Has("n") {
			a, _ := strconv.Atoi(strings.TrimSpace(all[i]))
			b, _ := strconv.Atoi(strings.TrimSpace(all[j]))
			return a < b != f.Has("r") && a != b
		}
		return all[i] != all[j] && all[i] < all[j] != f.Has("r")
	})
	for i, l := range all {
		if !f.Has("u") || i == 0 || l != all[i-1] {
			p.Printf("%s\n", l)
		}
	}
	return status
}
