// Package journal knows what a job that writes a flash leaves on its host: what was
// asked for, the states it came to, and how it ended. It writes requests and reads them
// again, and says what is known of a job and what it took from its card.
//
// It must not reach a host or a card, start or settle a job, or decide what
// follows from one.
package journal
