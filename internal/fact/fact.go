// Package fact holds what is known of a host or card, or why it is not known.
// What could not be read must not be taken for "no": that is how a second subnet
// manager is started beside a first one that did not answer in time.
//
// It must not read anything, decide anything, or import another package of
// this module.
package fact

// Of is a value of type T that was read, or the reason why it was not.
// The zero value is unknown.
type Of[T any] struct {
	value T
	known bool
	why   string
}

// Bool is a question with three answers: yes, no, and unknown.
type Bool = Of[bool]

// Known returns v as a value that was read.
func Known[T any](v T) Of[T] { return Of[T]{value: v, known: true} }

// Unknown returns a value that could not be read. why is a sentence without a full
// stop for the user, such as "sminfo ended with status 1: no response".
func Unknown[T any](why string) Of[T] { return Of[T]{why: why} }

// Get returns the value, and whether it is known.
func (f Of[T]) Get() (T, bool) { return f.value, f.known }

// Known reports whether the value was read.
func (f Of[T]) Known() bool { return f.known }

// Or returns the value, or other if it is unknown. Use it only to show a value:
// a check must look at Known.
func (f Of[T]) Or(other T) T {
	if f.known {
		return f.value
	}
	return other
}

// Why says why the value is unknown. It is empty for a known value and never
// empty for an unknown one.
func (f Of[T]) Why() string {
	switch {
	case f.known:
		return ""
	case f.why == "":
		return "it was not read"
	}
	return f.why
}

// Yes reports whether the answer is known to be yes.
func Yes(f Bool) bool { return f.known && f.value }

// No reports whether the answer is known to be no.
func No(f Bool) bool { return f.known && !f.value }

// Any answers whether one of several answers is yes.
func Any(answers ...Bool) Bool {
	one := Known(false)
	for _, f := range answers {
		switch {
		case Yes(f):
			return f
		case !f.known:
			one = f
		}
	}
	return one
}
