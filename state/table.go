package state

import (
	"encoding/binary"
	"hash/maphash"
)

// table joins the names of a folder by job. It is made for folders with a
// million finished jobs: sixteen bytes for each, and the name only of a job
// that was unfinished at the moment it was seen.
//
// Jobs are told apart by a 64-bit hash of their name, seeded afresh for each
// [Dir], so that two scans can be compared. Two jobs of one hash would be taken
// for one (once in 10^7 folders of a million jobs) until the folder is opened
// again.
type table struct {
	seed  maphash.Seed
	slots []slot // a power of two of them, at most three quarters in use
	used  int
	names [][]byte // chunks, each name behind its length in two bytes
}

type slot struct {
	hash  uint64 // 0: free
	where uint32 // of the name: chunk<<chunkBits | offset; 0: not kept
	files Files
}

const chunkBits = 16

func newTable(seed maphash.Seed) *table {
	t := &table{seed: seed, slots: make([]slot, 64)}
	t.grow()
	t.names[0] = append(t.names[0], 0) // so that no name is at 0
	return t
}

func (t *table) grow() { t.names = append(t.names, make([]byte, 0, 1<<chunkBits)) }

// add says that these files of a job exist.
func (t *table) add(stem []byte, files Files) {
	if files == 0 {
		return
	}
	if t.used >= len(t.slots)/4*3 {
		t.double()
	}
	h := max(maphash.Bytes(t.seed, stem), 1)
	s := t.find(h)
	if s.hash == 0 {
		s.hash = h
		t.used++
	}
	s.files |= files
	if s.where == 0 && wanted(s.files&^unsure) {
		s.where = t.keep(stem)
	}
}

// find is the slot of a hash, or the free one where it belongs.
func (t *table) find(h uint64) *slot {
	mask := uint64(len(t.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.hash == h || s.hash == 0 {
			return s
		}
	}
}

func (t *table) double() {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.hash != 0 {
			*t.find(s.hash) = s
		}
	}
}

// keep copies a name into the last chunk. It can be longer than 255 bytes on
// file systems that count characters; such a job is refused later, in words.
func (t *table) keep(stem []byte) uint32 {
	if last := t.names[len(t.names)-1]; len(last)+2+len(stem) > cap(last) {
		t.grow()
	}
	i := len(t.names) - 1
	at := len(t.names[i])
	t.names[i] = append(binary.LittleEndian.AppendUint16(t.names[i], uint16(len(stem))), stem...)
	return uint32(i<<chunkBits | at)
}

func (t *table) name(s slot) string {
	chunk, at := t.names[s.where>>chunkBits], int(s.where&(1<<chunkBits-1))
	size := int(binary.LittleEndian.Uint16(chunk[at:]))
	return string(chunk[at+2 : at+2+size])
}
