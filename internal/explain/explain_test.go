package explain

import (
	"errors"
	"fmt"
	"testing"
)

func ExampleFailure() {
	err := &Failure{Summary: "Unable to look at the fabric of intel9", What: "ibnetdiscover ended with status 1.",
		Check: "Run it on the host: sudo ibnetdiscover.", Facts: []Fact{{"Host", "intel9"}, {"Output", ""}},
		Err: errors.New("no port")}
	fmt.Println(err)
	fmt.Println()
	fmt.Println(err.Explain())
	// Output:
	// Unable to look at the fabric of intel9: ibnetdiscover ended with status 1: no port
	//
	// ibnetdiscover ended with status 1.
	//
	// Run it on the host: sudo ibnetdiscover.
	//
	// Host: intel9
	// Error: no port
}

// An error that only adds to its cause has the line and the title of that.
func TestFailure_addsToItsCause(t *testing.T) {
	cause := &Failure{Heading: "The burn of a card goes on", What: "The host was lost."}
	added := &Failure{Check: "Look at the card.", Err: cause}
	if got := added.Error(); got != "The host was lost. Look at the card." {
		t.Errorf("%q", got)
	}
	if got := added.Title(); got != cause.Heading {
		t.Errorf("title %q", got)
	}
	if got := (&Failure{What: "Another thing failed.", Err: cause}).Title(); got != "" {
		t.Errorf("of an error that says what happened, title %q", got)
	}
}
