package state

import "errors"

// Believe reads a marker that was found, after making it durable: its writer
// may have died before that, and what is built on it must not outlive it. A Dir
// that is there to look only builds nothing on it, and spares the disk.
func (d *Dir) Believe(n Name) (Marker, error) {
	b, err := d.readFile(n, KindMarker, true)
	if err != nil {
		return Marker{}, err
	}
	if d.looksOnly() {
		return ParseMarker(b), nil
	}
	if err := d.syncFolder(); err != nil {
		return Marker{}, d.fail("believe marker", n.File(KindMarker), err)
	}
	return ParseMarker(b), nil
}

// Advance replaces a marker by what is known now: that the prompt was sent, or
// where. It reads the marker again first and gives ErrNotExpected unless it
// still has from's address, owner and after. The stage only ever becomes StageSent, a
// known address never changes. Only the owner may call it, holding the
// profile's lock.
func (d *Dir) Advance(n Name, from, to Marker) error {
	marker := n.File(KindMarker)
	line, err := to.line()
	if err != nil {
		return err
	}
	if to.Stage != StageSent || from.Address != "" && to.Address != from.Address || from.By != "" && to.By != from.By || to.After != from.After {
		return d.fail("advance marker", marker, ErrNotExpected)
	}
	b, err := d.readFile(n, KindMarker, false)
	if err != nil {
		return err
	}
	if now := ParseMarker(b); now.Address != from.Address || now.By != from.By || now.After != from.After {
		return d.fail("advance marker", marker, ErrNotExpected)
	}
	if err := d.replace(marker, line); err != nil {
		return d.fail("advance marker", marker, err)
	}
	return nil
}

// replace puts a new content in a file's place, whole and durable.
func (d *Dir) replace(target string, content []byte) error {
	temp, err := d.write(content)
	if err != nil {
		return err
	}
	if err = d.rename(temp, target); err != nil {
		if now := d.despite(err, temp, target, content); now != nil {
			d.unlink(temp)
			if errors.Is(now, ErrExists) {
				return err // the old file is still there
			}
			return now
		}
	}
	return d.syncFolder()
}
