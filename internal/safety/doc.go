// Package safety decides what may be done to a card. It is given facts and a
// request, and answers with a Verdict: the action, the findings for and
// against it, and what activates it. Plan and apply ask it the same question,
// and nothing that writes flash can be called without its answer.
//
// It must not do I/O, know how a fact was obtained, or depend on a host, a
// tool's output or Terraform.
package safety
