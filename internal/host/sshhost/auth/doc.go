// Package auth lets a user in at one machine: it gathers the keys of the
// configuration, of the files and of the agent, and answers what the server asks
// for, one key at a time and the password once.
//
// It must not read where keys are configured, judge a host's own key, or ask a person.
package auth
