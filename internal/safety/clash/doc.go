// Package clash finds what two have and one should: GUIDs and MACs of two cards, or of a card
// and a node of the fabric, and two resources of the provider for one object.
//
// It must not know what is to be done to a card, or give a verdict.
package clash
