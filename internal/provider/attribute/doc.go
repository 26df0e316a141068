// Package attribute holds what the schemas of the provider are made of: value types
// that treat two spellings of one GUID as equal, the ids of cards, ports and images,
// and arguments that several resources have.
//
// It must not know the provider's configuration, and never reaches a host.
package attribute
