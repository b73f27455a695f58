package state

import (
	"errors"
	"fmt"
)

// Exchange puts a marker of another engine in the place of the one that is
// there, of which a copy stays under the archive name that it gives. The name is
// never free on the way, so that the job is never New: what the first engine has,
// it must not get again. from is what Believe knows the marker to be, in every
// field. Only the owner may call it, holding the profile's lock, and only when
// nothing can leave by the first engine any more; so it refuses a chat's marker
// whose stage is StageReleased.
//
// ErrNotExpected when another marker is there, or nothing of this may be; ErrInDoubt
// when to may stand although it failed.
func (d *Dir) Exchange(n Name, from, to Marker) (archive string, err error) {
	marker := n.File(KindMarker)
	line, err := to.line()
	if err != nil {
		return "", err
	}
	b, err := d.readFile(n, KindMarker, true)
	if err != nil {
		return "", err
	}
	if ParseMarker(b) != from || from.Engine == to.Engine || from.Engine == "" && from.Stage != StageSent {
		return "", d.fail("exchange marker", marker, ErrNotExpected)
	}
	if archive, err = d.keep(n, KindMarker, b); err == nil {
		err = d.replace(marker, line)
	}
	if err != nil {
		return "", d.fail("exchange marker", marker, err)
	}
	return archive, nil
}

// keep writes a copy of one of a job's files to its first free archive name,
// durably.
func (d *Dir) keep(n Name, k Kind, content []byte) (string, error) {
	for i := 1; i <= maxArchives; i++ {
		to := n.Archive(k, i)
		there, err := d.there(to)
		if err == nil && !there {
			err = d.writeUnlessThere(to, content)
		}
		switch {
		case err == nil && there, errors.Is(err, ErrExists):
			continue
		case err != nil:
			return "", err
		}
		return to, nil
	}
	return "", fmt.Errorf("%d older ones are kept; remove some", maxArchives)
}
