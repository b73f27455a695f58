package state

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Retire takes a marker away so that its job is New again, and gives the name
// under which it is kept: its chat may still get a late prompt. expect is what
// Believe or Commit's caller knows it to be, in every field. Only the owner
// may call it, and only when nothing can leave any more.
//
// With any error nothing may be sent. ErrNotExpected when the marker is, or
// became meanwhile, another one; it is then put back.
func (d *Dir) Retire(n Name, expect Marker) (archive string, err error) {
	marker := n.File(KindMarker)
	b, err := d.readFile(n, KindMarker, true)
	if err != nil {
		return "", err
	}
	if ParseMarker(b) != expect {
		return "", d.fail("retire marker", marker, ErrNotExpected)
	}
	// Straight to its archive name: under a temporary one a crash would leave
	// it to be swept. What was moved is known only by reading it there.
	if archive, err = d.archive(n, KindMarker); err == nil {
		b, err = d.readNamed(archive, maxSmall, false)
	}
	if err == nil && ParseMarker(b) != expect {
		err = ErrNotExpected
		if back := d.putBack(archive, marker); back != nil {
			err = fmt.Errorf("%w; it is kept as %q and must be put back: %w", err, archive, back)
		}
	}
	if err != nil {
		return "", d.fail("retire marker", marker, err)
	}
	return archive, nil
}

// putBack gives a marker its name again, beside its archive name. When the
// name is taken, the job has a marker, which is all that is wanted.
func (d *Dir) putBack(archive, marker string) error {
	err := d.link(archive, marker)
	if noLinks(err) {
		if there, lookErr := d.there(marker); there || lookErr != nil {
			return lookErr
		}
		err = d.move(archive, marker)
		if noMove(err) {
			err = d.rename(archive, marker)
		}
	}
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return d.syncFolder()
}

// ArchiveError renames a .md.err that is void to .md.err.N and gives that name.
func (d *Dir) ArchiveError(n Name) (string, error) { return d.retireFile(n, KindError) }

// ArchiveAnswer renames an answer to .md.N, for a retry, and gives that name.
func (d *Dir) ArchiveAnswer(n Name) (string, error) { return d.retireFile(n, KindAnswer) }

// RestoreError gives a .md.err that was set aside its name again; ErrExists when
// there is one by now.
func (d *Dir) RestoreError(n Name, archive string) error {
	if err := n.Check(); err != nil {
		return err
	}
	err := d.moveAside(archive, n.File(KindError))
	if err == nil {
		err = d.syncFolder()
	}
	if err != nil {
		return d.fail("restore", n.File(KindError), err)
	}
	return nil
}

func (d *Dir) retireFile(n Name, k Kind) (string, error) {
	if err := n.Check(); err != nil {
		return "", err
	}
	archive, err := d.archive(n, k)
	if err != nil {
		return "", d.fail("archive", n.File(k), err)
	}
	return archive, nil
}

// maxArchives bounds the search for a free number.
const maxArchives = 10_000

// archive renames a file to its first free archive name, durably.
func (d *Dir) archive(n Name, k Kind) (string, error) {
	for i := 1; i <= maxArchives; i++ {
		to := n.Archive(k, i)
		there, err := d.there(to)
		if err != nil {
			return "", err
		}
		if there {
			continue
		}
		err = d.moveAside(n.File(k), to)
		if errors.Is(err, ErrExists) {
			continue
		}
		if err == nil {
			err = d.syncFolder()
		}
		return to, err
	}
	return "", fmt.Errorf("%d older ones are kept; remove some", maxArchives)
}

// moveAside renames to a name that was free a moment ago. An error proves
// nothing here either: what counts is whether the old name is gone and the new
// one there.
func (d *Dir) moveAside(from, to string) error {
	err := d.move(from, to)
	if noMove(err) {
		there, lookErr := d.there(to)
		switch {
		case lookErr != nil:
			return lookErr
		case there:
			return ErrExists
		}
		err = d.rename(from, to)
	}
	if err == nil {
		return nil
	}
	old, oldErr := d.there(from)
	new, newErr := d.there(to)
	switch {
	case oldErr != nil || newErr != nil:
		return doubt(err)
	case !old && new:
		return nil
	case old && new:
		return ErrExists
	}
	return err
}
