package state

// lost gives the jobs that lost their marker. It changes nothing: after an
// error the next scan tells them.
func (s *scan) lost(names map[uint64]Name) (lost []Name, err error) {
	for hash, n := range names {
		if !s.jobs.find(hash).lost() {
			continue
		}
		gone, err := s.bereft(n)
		if err != nil {
			return nil, err
		}
		if gone {
			lost = append(lost, n)
		}
	}
	return lost, nil
}

// bereft looks closer at a job that seems to have lost its marker: whoever
// retires one keeps it beside the prompt.
func (d *Dir) bereft(n Name) (bool, error) {
	files, err := d.Lookup(n)
	if err != nil || files.Phase() != New {
		return false, err
	}
	kept, err := d.there(n.Archive(KindMarker, 1))
	return !kept, err
}

// Look is [Dir.Lookup] between two scans, for a job that something happened
// to. As a scan does, it remembers that there is a marker, and tells once when
// one that was there is lost.
func (d *Dir) Look(n Name) (files Files, lost bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if files, err = d.Lookup(n); err != nil {
		return 0, false, err
	}
	hash := d.jobs.hash([]byte(n))
	now := slot(hash<<low) | slot(files) | *d.jobs.find(hash)&slot(marked)
	if now.lost() {
		if lost, err = d.bereft(n); err != nil {
			return 0, false, err
		}
	}
	d.jobs.mark(hash, now.remark().has(marked))
	return files, lost, nil
}
