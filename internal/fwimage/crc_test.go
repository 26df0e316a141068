package fwimage

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

func TestSectionCRC_vectors(t *testing.T) {
	words := func(ws ...uint32) (p []byte) {
		for _, w := range ws {
			p = binary.BigEndian.AppendUint32(p, w)
		}
		return p
	}
	for _, c := range []struct {
		in   []byte
		want uint32
	}{
		{nil, 0x0955},
		{words(0), 0x0009},
		{words(1), 0x1002},
		{words(0x12345678), 0x025e},
		{words(0xdeadbeef, 1), 0xe2c6},
		{[]byte(magicFS23), 0xd3d0},
		{words(0x49544f43, 0x04081516, 0x2342cafa, 0xbacafe00, 1, 0, 0), 0x6a70},
		{words(0x44544f43, 0x04081516, 0x2342cafa, 0xbacafe00, 1, 0, 0), 0x761d},
		{words(6, 12, 0, 0x3f4, 0x0002c900, 0x0100d050, 0x0002c900, 0x0100d051, 0x0002c900, 0x0100d052, 0x0002c900,
			0x0100d050,
			2, 0xc9000001, 2, 0xc9000002), 0xe5c8},
	} {
		if got := sectionCRC(c.in); got != c.want {
			t.Errorf("sectionCRC(%x) = %04x, want %04x", c.in, got, c.want)
		}
	}
}

func TestAppendCRC_equals_one_pass(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 5000)
	for i := range data {
		data[i] = byte(rnd.Uint32())
	}
	for range 200 {
		cut := rnd.IntN(len(data) + 1)
		a, b := updateCRC(crcInit, data[:cut]), updateCRC(crcInit, data[cut:])
		if got, want := appendCRC(a, b, int64(len(data)-cut)), updateCRC(crcInit, data); got != want {
			t.Fatalf("cut at %d: %04x, want %04x", cut, got, want)
		}
	}
}
