// Package acctest is the harness of the provider's scenario tests: a simulated
// lab behind real SSH servers, the configuration that points at it, a small core
// that plays Terraform's protocol in process, and what the real engines need.
//
// It must not be linked into the provider, look into its packages to decide what
// is right, or hold expectations of one scenario; those are in its test files.
package acctest
