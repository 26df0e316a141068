// Package adoption says what of a lab that exists can be adopted, and writes its
// configuration. It asks the provider by the engine's own protocol.
//
// It must not change a host, judge what can be imported, which the provider does, or write
// a file.
package adoption
