package sshconfig

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
)

// notUnderstood says which line of an SSH client configuration is not understood.
func notUnderstood(file string, line int, text string) error {
	return fmt.Errorf("%s:%d: this provider does not understand `%s` of the SSH client configuration. "+
		"It reads `Host`, `Include`, `Match all` and `Match host` with one pattern. "+matchAdvice, file, line, text)
}

const matchAdvice = "Set config_file = \"none\" in the provider's ssh block and write there what the hosts need " +
	"(user, private_key_file, jump_hosts), or name a file in config_file that has only such lines"

// maxConfig bounds one file of the SSH client configuration.
const maxConfig = 16 << 20

// maxIncludes bounds how deep files include each other, as ssh does.
const maxIncludes = 16

// checkMatches looks for Match lines that the library refuses without naming the file,
// or takes for others: of `Match host X exec …` and of `host A,B` it would read a
// pattern that is not meant, and the settings below would hold for the wrong hosts.
func checkMatches(file, home string, depth int) error {
	data, err := knownhosts.ReadFile(file, maxConfig)
	if err != nil || depth > maxIncludes {
		return nil //nolint:nilerr // the library says what is wrong
	}
	for n, line := range bytes.Split(data, []byte("\n")) {
		text := strings.TrimSpace(string(line))
		words := strings.Fields(strings.Replace(text, "=", " ", 1))
		if len(words) < 2 {
			continue
		}
		switch strings.ToLower(words[0]) {
		case "match":
			if !plainMatch(words[1:]) {
				return notUnderstood(file, n+1, text)
			}
		case "include":
			for _, pattern := range fields(strings.Join(words[1:], " ")) {
				if err := checkIncluded(pattern, home, depth); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func checkIncluded(pattern, home string, depth int) error {
	if pattern = tilde(home, pattern); !filepath.IsAbs(pattern) {
		pattern = filepath.Join(home, ".ssh", pattern)
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil //nolint:nilerr // the library says so
	}
	for _, f := range files {
		if err := checkMatches(f, home, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// plainMatch reports whether the library reads these criteria as ssh does.
// kevinburke/ssh_config 1.6.0 refuses user, localuser, originalhost and final, and takes
// `Match host X exec …` as if the program had said yes. Fedora and RHEL ship `Match final all` in
// /etc/ssh/ssh_config.d, so that this way is only for machines without ssh.
func plainMatch(criteria []string) bool {
	if i := slices.IndexFunc(criteria, func(w string) bool { return strings.HasPrefix(w, "#") }); i >= 0 {
		criteria = criteria[:i]
	}
	switch {
	case len(criteria) == 1:
		return strings.EqualFold(criteria[0], "all")
	case len(criteria) == 2:
		return strings.EqualFold(criteria[0], "host") && !strings.ContainsAny(criteria[1], `,"`)
	}
	return false
}
