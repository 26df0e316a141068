package target

import (
	"flag"
	"iter"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
)

// Run is the frame of a command whose arguments are hosts. fs has the flags of the command's
// own; Run adds those of Options, reads the command line, and opens the hosts for do, which
// returns the exit status.
func (o *Options) Run(fs *flag.FlagSet, args []string, std command.Streams, do func([]*Target) int) int {
	o.define(fs)
	specs, status, done := command.Parse(fs, args, std)
	if done {
		return status
	}
	set, err := o.open(specs, std)
	if err != nil {
		return command.WrongUsage(fs, err, std)
	}
	defer set.close()
	return do(set.targets)
}

// AtOnce bounds the hosts that a command reads at the same time.
const AtOnce = 8

// Each calls one for all targets, limit of them at the same time. It yields what one
// returned in the order of the targets, each as soon as those before it are there.
func Each[T any](targets []*Target, limit int, one func(*Target) T) iter.Seq[T] {
	return func(yield func(T) bool) {
		results := make([]chan T, len(targets))
		for i := range results {
			results[i] = make(chan T, 1)
		}
		free := make(chan struct{}, limit)
		go func() {
			for i, t := range targets {
				free <- struct{}{}
				go func() {
					results[i] <- one(t)
					<-free
				}()
			}
		}()
		for _, result := range results {
			if !yield(<-result) {
				return
			}
		}
	}
}
