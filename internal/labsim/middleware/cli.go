package middleware

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2

	defaultTimeout = 60 * time.Second
)

const mainUsage = `usage: midclt [-h] [-u URI] [-U USERNAME] [-P PASSWORD] [-K API_KEY]
              [-t TIMEOUT]
              {call,ping,subscribe} ...
`

const callUsage = `usage: midclt call [-h] [-q] [-j] [-jp {progressbar,description}]
                   method [method ...]
`

// CLI is one run of midclt.
type CLI struct {
	Server *Server
	Caller Caller
	Stdout io.Writer
	Stderr io.Writer
}

// Run runs midclt with the arguments after the program's name and returns its
// exit status.
func (c *CLI) Run(args []string) int {
	timeout, rest, rc := c.globals(args)
	if rc != exitOK {
		return rc
	}
	if len(rest) == 0 {
		return c.usage(mainUsage, "midclt", "the following arguments are required: name")
	}
	switch rest[0] {
	case "ping":
		return c.invoke(call{method: "core.ping", timeout: timeout})
	case "call":
		cl, rc := c.parseCall(rest[1:])
		if rc != exitOK {
			return rc
		}
		cl.timeout = timeout
		return c.invoke(cl)
	case "subscribe":
		c.Server.sys.Unsimulated("midclt subscribe")
		return exitError
	}
	return c.usage(mainUsage, "midclt", fmt.Sprintf(
		"argument name: invalid choice: '%s' (choose from 'call', 'ping', 'subscribe')", rest[0]))
}

func (c *CLI) usage(usage, prog, msg string) int {
	fmt.Fprintf(c.Stderr, "%s%s: error: %s\n", usage, prog, msg)
	return exitUsage
}

// globals reads the options before the sub-command. A failing login with -U or
// -K would exit 0, so those are not simulated: nobody should use them.
func (c *CLI) globals(args []string) (time.Duration, []string, int) {
	timeout := defaultTimeout
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, value, hasValue := strings.Cut(args[0], "=")
		args = args[1:]
		if name != "-t" && name != "--timeout" {
			c.Server.sys.Unsimulated("midclt " + name)
			return 0, nil, c.usage(mainUsage, "midclt", "unrecognized arguments: "+name)
		}
		if !hasValue {
			if len(args) == 0 {
				return 0, nil, c.usage(mainUsage, "midclt", "argument -t/--timeout: expected one argument")
			}
			value, args = args[0], args[1:]
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			return 0, nil, c.usage(mainUsage, "midclt", "argument -t/--timeout: invalid int value: '"+value+"'")
		}
		timeout = time.Duration(n) * time.Second
	}
	return timeout, args, exitOK
}

type call struct {
	method  string
	args    []any
	timeout time.Duration
	quiet   bool
	job     bool
}

var negativeNumber = regexp.MustCompile(`^-\d+$|^-\d*\.\d+$`)

// parseCall follows argparse: positional arguments are one contiguous run, an
// argument that looks like an option and is none is unrecognized, "--" ends
// the options.
func (c *CLI) parseCall(args []string) (call, int) {
	var cl call
	var words, unknown []string
	run, literal := 0, false // run: 0 before, 1 inside, 2 after the positionals
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch word := literal || !looksLikeOption(a); {
		case !literal && a == "--":
			literal = true
			continue
		case word && run == 2:
			unknown = append(unknown, a)
			continue
		case word:
			run = 1
			words = append(words, a)
			continue
		}
		if run == 1 {
			run = 2
		}
		n, ok, rc := c.callOption(&cl, args[i:])
		if rc != exitOK {
			return cl, rc
		}
		if !ok {
			unknown = append(unknown, a)
			continue
		}
		i += n
	}
	return c.finishCall(cl, words, unknown)
}

func (c *CLI) finishCall(cl call, words, unknown []string) (call, int) {
	if len(words) == 0 {
		return cl, c.usage(callUsage, "midclt call", "the following arguments are required: method")
	}
	if len(unknown) > 0 {
		return cl, c.usage(mainUsage, "midclt", "unrecognized arguments: "+strings.Join(unknown, " "))
	}
	cl.method = words[0]
	for _, w := range words[1:] {
		cl.args = append(cl.args, decodeArg(w))
	}
	return cl, exitOK
}

func looksLikeOption(a string) bool {
	return len(a) > 1 && a[0] == '-' && !strings.Contains(a, " ") && !negativeNumber.MatchString(a)
}

// callOption reads one option of call and returns how many further arguments
// it took.
func (c *CLI) callOption(cl *call, args []string) (taken int, known bool, rc int) {
	switch args[0] {
	case "-q", "--quiet":
		cl.quiet = true
		return 0, true, exitOK
	case "-j", "--job":
		cl.job = true
		return 0, true, exitOK
	case "-jp", "--job-print":
		if len(args) < 2 {
			return 0, true, c.usage(callUsage, "midclt call", "argument -jp/--job-print: expected one argument")
		}
		if args[1] != "progressbar" && args[1] != "description" {
			return 0, true, c.usage(callUsage, "midclt call", fmt.Sprintf(
				"argument -jp/--job-print: invalid choice: '%s' (choose from 'progressbar', 'description')", args[1]))
		}
		return 1, true, exitOK
	}
	return 0, false, exitOK
}

func (c *CLI) invoke(cl call) int {
	if c.Server.isDown() {
		return c.fail(cl, "Failed to run middleware call. Daemon not running?\n")
	}
	if cl.job && !isJob(cl.method) {
		// The client would wait for ever, or die of a traceback.
		c.Server.sys.Unsimulated("midclt call -j on the plain method " + cl.method)
		return c.fail(cl, "midclt: -j on a method that is not a job\n")
	}
	rep := c.Server.Call(c.Caller, cl.method, cl.args)
	if rep.Wait > cl.timeout && !cl.job {
		c.Server.sys.Sleep(cl.timeout)
		return c.fail(cl, "Call timeout\n")
	}
	if rep.Wait > 0 {
		c.Server.sys.Sleep(rep.Wait)
	}
	if isJob(cl.method) && !cl.job && rep.Job != 0 {
		fmt.Fprintln(c.Stdout, rep.Job) // the failure of a job is not seen without -j
		return exitOK
	}
	if rep.Err != nil {
		return c.fail(cl, errorText(rep.Err))
	}
	fmt.Fprintln(c.Stdout, pythonPrint(rep.Result))
	return exitOK
}

func (c *CLI) fail(cl call, text string) int {
	if !cl.quiet {
		fmt.Fprint(c.Stderr, text)
	}
	return exitError
}

// pythonPrint renders a result as midclt prints it: booleans, integers and
// strings go through Python's print, everything else is one line of JSON.
func pythonPrint(v any) string {
	switch t := v.(type) {
	case bool:
		if t {
			return "True"
		}
		return "False"
	case int:
		return strconv.Itoa(t)
	case string:
		return t
	}
	return encode(v)
}

func (s *Server) isDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}
