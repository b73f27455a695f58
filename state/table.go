package state

import (
	"encoding/binary"
	"hash/maphash"
)

// table joins the names of a folder by job, and remembers from one scan to the
// next which jobs had a marker. It is made for folders with a million finished
// jobs: one word for each, and no name.
//
// Jobs are told apart by 53 bits of a hash of their name, seeded afresh for
// each [Dir]. A prompt that shares them with a finished job would not be seen
// until the folder is opened again: once in 10^10 prompts that are dropped into
// a folder of a million.
type table struct {
	seed  maphash.Seed
	slots []slot // a power of two of them, at most three quarters in use
	used  int
}

// slot is one job: its hash above the bits of its files and those below. Zero
// is a free slot.
type slot uint64

const (
	unsure  Files = 1 << kinds       // its prompt may be no regular file: that needs a stat
	marked  Files = 1 << (kinds + 1) // it had a marker when it was looked at before
	kept    Files = 1 << (kinds + 2) // its name is in the scan's notes
	low           = int(kinds) + 3
	present Files = 1<<kinds - 1
)

func (s slot) hash() uint64 { return uint64(s) >> low }
func (s slot) files() Files { return Files(s) & present }

func (s slot) has(bit Files) bool { return Files(s)&bit != 0 }
func (s *slot) set(bit Files)     { *s |= slot(bit) }

// forget takes back what this scan saw of a job. The mark stays until the next.
func (s *slot) forget() { *s = *s&^slot(present) | slot(kept) }

// pending reports a job whose name a scan has to give: it asks for something,
// or it lost its marker.
func (s slot) pending() bool { return wanted(s.files()) }

func newTable(seed maphash.Seed) *table {
	return &table{seed: seed, slots: make([]slot, 64)}
}

// hash is never 0.
func (t *table) hash(stem []byte) uint64 { return max(maphash.Bytes(t.seed, stem)>>low, 1) }

// add says that these files of a job exist, and gives its slot, which is good
// until the next add.
func (t *table) add(hash uint64, files Files) *slot {
	if t.used >= len(t.slots)/4*3 {
		t.resize(2 * len(t.slots))
	}
	s := t.find(hash)
	if *s == 0 {
		*s = slot(hash << low)
		t.used++
	}
	*s |= slot(files)
	return s
}

// find is the slot of a hash, or the free one where it belongs.
func (t *table) find(hash uint64) *slot {
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; *s == 0 || s.hash() == hash {
			return s
		}
	}
}

func (t *table) resize(size int) {
	old := t.slots
	t.slots, t.used = make([]slot, size), 0
	for _, s := range old {
		if s != 0 {
			*t.find(s.hash()) = s
			t.used++
		}
	}
}

// begin makes ready for a new scan: of what the last one saw only the marks
// stay. A table that has become much too large is made anew.
func (t *table) begin() {
	live := 0
	for i, s := range t.slots {
		if s.files() != 0 || s.has(marked) {
			live++
		}
		t.slots[i] &^= slot(present | unsure | kept)
	}
	if size := len(t.slots) / 4; size >= 64 && live < size/2 {
		old := t.slots
		t.slots, t.used = make([]slot, size), 0
		for _, s := range old {
			if s.has(marked) {
				*t.find(s.hash()) = s
				t.used++
			}
		}
	}
}

// lost reports a job that had a marker and has nothing but its prompt now.
func (s slot) lost() bool {
	return s.has(marked) && s.files().Has(KindPrompt) && s.files().Phase() == New
}

// end sets the marks for the next scan. An answer that outlives its marker may
// go next, so its job keeps the mark.
func (t *table) end() {
	for i := range t.slots {
		t.slots[i] = t.slots[i].remark()
	}
}

func (s slot) remark() slot {
	files := s.files()
	if files == 0 && s.has(kept) { // forgotten
		return s
	}
	keeps := files.Has(KindPrompt) && files.Phase() != New && s.has(marked)
	if files.Has(KindMarker) || keeps {
		return s | slot(marked)
	}
	return s &^ slot(marked)
}

// notes are the names of jobs that were unfinished when a scan came across
// them: of hash, length and name each. There is an end to them, since in a
// large folder most jobs look unfinished for a while. The bytes are used again.
type notes struct {
	b    []byte
	full bool
}

const notesLimit = 1 << 20

// keep notes a name. It can be longer than 255 bytes on file systems that count
// characters; such a job is refused later, in words.
func (n *notes) keep(hash uint64, stem []byte) bool {
	if n.full = n.full || len(n.b)+10+len(stem) > notesLimit; n.full {
		return false
	}
	n.b = binary.LittleEndian.AppendUint64(n.b, hash)
	n.b = binary.LittleEndian.AppendUint16(n.b, uint16(len(stem)))
	n.b = append(n.b, stem...)
	return true
}

// each calls f with all of them.
func (n *notes) each(f func(hash uint64, stem []byte)) {
	for b := n.b; len(b) > 0; {
		size := 10 + int(binary.LittleEndian.Uint16(b[8:]))
		f(binary.LittleEndian.Uint64(b), b[10:size])
		b = b[size:]
	}
}

// mark sets or clears a job's mark between two scans.
func (t *table) mark(hash uint64, on bool) {
	if s := t.find(hash); *s != 0 {
		*s &^= slot(marked)
	}
	if on {
		t.add(hash, marked)
	}
}
