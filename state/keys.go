package state

// keys is a set of jobs, by the hash of their name: those that had a marker at
// the last scan. Eight bytes for each, at most half of the slots in use.
type keys struct {
	slots []uint64 // 0: free
}

func newKeys(n int) *keys {
	size := 64
	for size < 2*n {
		size *= 2
	}
	return &keys{slots: make([]uint64, size)}
}

// at is the slot of a hash, or the free one where it belongs.
func (k *keys) at(hash uint64) *uint64 {
	mask := uint64(len(k.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if s := &k.slots[i]; *s == hash || *s == 0 {
			return s
		}
	}
}

func (k *keys) add(hash uint64)      { *k.at(hash) = hash }
func (k *keys) has(hash uint64) bool { return k != nil && *k.at(hash) == hash }

// compare gives the jobs that lost their marker since the last scan, and
// remembers those that have one now.
func (d *Dir) compare(t *table) (lost []Name, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := newKeys(t.used)
	for _, s := range t.slots {
		files := s.files &^ unsure
		switch {
		case files.Has(KindMarker):
			now.add(s.hash)
		case !files.Has(KindPrompt) || !d.keys.has(s.hash):
		case files.Phase() != New:
			now.add(s.hash) // its answer may go next
		default:
			n := Name(t.name(s))
			gone, err := d.lost(n)
			if err != nil {
				return nil, err
			}
			if gone {
				lost = append(lost, n)
			}
		}
	}
	d.keys = now
	return lost, nil
}

// lost looks closer at a job that seems to have lost its marker: whoever
// retires one keeps it beside the prompt.
func (d *Dir) lost(n Name) (bool, error) {
	files, err := d.Lookup(n)
	if err != nil || files.Phase() != New {
		return false, err
	}
	kept, err := d.there(n.Archive(KindMarker, 1))
	return !kept, err
}
