package state

import "errors"

// WitnessFile is empty and lies beside a watcher.paused that only a person may
// take away: a tool that mirrors or cleans the folder takes both, a person the
// notice alone. Like every name that begins with a dot it is no job's.
const WitnessFile = ".watcher-paused"

// WritePaused puts up the folder's watcher.paused, the notice why nothing is
// sent, in the place of an older one.
func (d *Dir) WritePaused(text string) error {
	if err := d.replace(PausedFile, []byte(text)); err != nil {
		return d.fail("write", PausedFile, err)
	}
	return nil
}

// ReadPaused gives the notice's text; fs.ErrNotExist when there is none.
func (d *Dir) ReadPaused() (string, error) {
	b, err := d.readNamed(PausedFile, maxSmall, false)
	if err != nil {
		return "", d.fail("read", PausedFile, err)
	}
	return string(b), nil
}

// ClearPaused takes the notice down. It is no error when there is none.
func (d *Dir) ClearPaused() error { return d.removeFile(PausedFile) }

// WriteWitness puts the notice's witness into the folder; call it before
// WritePaused.
func (d *Dir) WriteWitness() error {
	err := d.writeUnlessThere(WitnessFile, nil)
	if err != nil && !errors.Is(err, ErrExists) {
		return d.fail("write", WitnessFile, err)
	}
	return nil
}

// Witnessed reports whether the witness is there.
func (d *Dir) Witnessed() (bool, error) {
	there, err := d.there(WitnessFile)
	if err != nil {
		return false, d.fail("look for", WitnessFile, err)
	}
	return there, nil
}

// ClearWitness takes the witness away. It is no error when there is none.
func (d *Dir) ClearWitness() error { return d.removeFile(WitnessFile) }
