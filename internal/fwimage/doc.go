// Package fwimage reads and verifies firmware images of ConnectX cards from an
// io.ReaderAt, without any vendor tool.
//
// It must not touch files, hosts or the environment, must not decide whether
// an image may be burnt, and must not change or build images.
package fwimage
