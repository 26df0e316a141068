// Package opensm has the values of a subnet manager on one port of a host: what a configuration asks
// for, what a state keeps, and the words of opensm's own files. The floors above are found, judge and
// change, in this order.
//
// It must not read a host, or know Terraform.
package opensm
