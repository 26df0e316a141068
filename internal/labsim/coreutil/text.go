package coreutil

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // md5sum
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"regexp"
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

// sum is sha256sum and md5sum, with -c.
func sum(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "c", "b", "check", "status", "quiet")
	if !good {
		return 2
	}
	digest := func(b []byte) string {
		if strings.HasPrefix(p.Name(), "md5") {
			d := md5.Sum(b) //nolint:gosec // the program's purpose
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

// grep uses Go's regular expressions: -E patterns of scripts mean the same; a
// basic pattern with a backslash is refused, since it would not.
func grep(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "q", "E", "F", "v", "i", "c", "n", "h", "H", "o", "s", "x", "l", "w", "e=", "m=", "a")
	if !good {
		return 2
	}
	patterns, files := f.All("e"), f.Args
	if len(patterns) == 0 {
		if len(files) == 0 {
			return p.Unknown("grep without a pattern")
		}
		patterns, files = files[:1], files[1:]
	}
	re, bad := grepPattern(f, patterns)
	if bad != "" {
		return p.Unknown(bad)
	}
	found := false
	status := inputs(quiet(p, f.Has("s")), files, func(name string, r io.Reader) {
		matches := 0
		for i, l := range lines(r) {
			if re.MatchString(l) == f.Has("v") {
				continue
			}
			found = true
			matches++
			if f.Has("q") || f.Has("c") || f.Has("l") {
				continue
			}
			if f.Has("m") && strconv.Itoa(matches-1) == f.Get("m") {
				break
			}
			grepPrint(p, f, re, name, i, l, len(files) > 1)
		}
		switch {
		case f.Has("c"):
			p.Printf("%d\n", matches)
		case f.Has("l") && matches > 0:
			p.Printf("%s\n", name)
		}
	})
	switch {
	case found && (status == 0 || f.Has("q")):
		return 0
	case status != 0:
		return 2
	}
	return 1
}

func grepPrint(p *labsim.Proc, f *labsim.Flags, re *regexp.Regexp, name string, i int, l string, many bool) {
	prefix := ""
	if many && !f.Has("h") || f.Has("H") {
		prefix = name + ":"
	}
	if f.Has("n") {
		prefix += strconv.Itoa(i+1) + ":"
	}
	if f.Has("o") {
		for _, m := range re.FindAllString(l, -1) {
			p.Printf("%s%s\n", prefix, m)
		}
		return
	}
	p.Printf("%s%s\n", prefix, l)
}

func grepPattern(f *labsim.Flags, patterns []string) (re *regexp.Regexp, bad string) {
	var parts []string
	for _, s := range patterns {
		switch {
		case f.Has("F"):
			s = regexp.QuoteMeta(s)
		case !f.Has("E"):
			if strings.Contains(strings.ReplaceAll(s, `\.`, ""), `\`) {
				return nil, "basic regular expression with a backslash: " + s
			}
			s = escapeBasic(s)
		}
		parts = append(parts, "(?:"+s+")")
	}
	s := strings.Join(parts, "|")
	if f.Has("x") {
		s = "^(?:" + s + ")$"
	}
	if f.Has("w") {
		s = `\b(?:` + s + `)\b`
	}
	if f.Has("i") {
		s = "(?i)" + s
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, "pattern " + s
	}
	return re, ""
}

// escapeBasic escapes what is literal in a basic regular expression.
func escapeBasic(s string) string {
	var b strings.Builder
	for _, c := range s {
		if strings.ContainsRune("+?(){}|", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// quiet drops the messages about unreadable files.
func quiet(p *labsim.Proc, on bool) *labsim.Proc {
	if !on {
		return p
	}
	c := p.Child(p.Args...)
	c.Stderr = io.Discard
	return c
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
	s = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\0`, "\x00", `\\`, `\`,
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
	printUnique(p, all, f.Has("u"))
	return status
}

func uniq(_ context.Context, p *labsim.Proc) int {
	if len(p.Args) > 1 {
		return p.Unknown("uniq with arguments")
	}
	printUnique(p, lines(p.Stdin), true)
	return 0
}

func printUnique(p *labsim.Proc, all []string, unique bool) {
	for i, l := range all {
		if !unique || i == 0 || l != all[i-1] {
			p.Printf("%s\n", l)
		}
	}
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
