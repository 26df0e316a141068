// Package synth builds synthetic FS2, FS3 and FS4 firmware images and flashes
// for tests and the simulated lab.
//
// What it builds has the structure, checksums and hardware ids of the real
// thing and arithmetic filler in place of code: a card that it were burnt into
// would not boot. Only the PSID stands between such an image and a real card,
// so nothing is built whose PSID does not begin with MT_9, HP_9 or DEL9, ranges
// that no real board is known to use. mstflint takes an image without PSID for
// any board; such an image is built for chips only that do not exist.
//
// The package must be imported by tests and the simulated lab only, and must not
// import fwimage: two readers, of the provider and of the lab's cards, and this one
// builder are three readings of the format that check each other.
package synth
