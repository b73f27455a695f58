package state

import (
	"bytes"
	"os"
)

// Pending is a marker that is about to be made: a temporary file that already
// holds the room it needs. Use it once, from one goroutine.
type Pending struct {
	d    *Dir
	name Name
	temp string   // "" once it is gone
	file *os.File // nil once it is closed
}

// Prepare makes the marker's temporary file at its full length of size bytes
// (an estimate will do) so that a full disk, a read-only folder or a name that
// is too long shows before the chat's site is touched. ErrExists when the job
// has a marker.
func (d *Dir) Prepare(n Name, size int) (*Pending, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	marker := n.File(KindMarker)
	there, err := d.there(marker) // says ENAMETOOLONG, too
	if err == nil && there {
		err = ErrExists
	}
	if err != nil {
		return nil, d.fail("prepare marker", marker, err)
	}
	temp, f, err := d.temp()
	if err != nil {
		return nil, d.fail("prepare marker", marker, err)
	}
	p := &Pending{d: d, name: n, temp: temp, file: f}
	err = d.do(StepReserve, func() error {
		// White space: should it ever be seen, it reads as "sent".
		if _, err := f.Write(bytes.Repeat([]byte{' '}, max(size, 256))); err != nil {
			return err
		}
		return f.Sync()
	})
	if err != nil {
		p.Discard()
		return nil, d.fail("prepare marker", marker, err)
	}
	return p, nil
}

// Commit makes the marker: whole, durable, and only if nobody else did. The
// prompt may leave the machine when, and only when, it returned nil.
//
// Errors: ErrExists when somebody else has the job; ErrInDoubt when the marker
// may stand although it failed; any other means that no marker was made.
func (p *Pending) Commit(m Marker) error {
	defer p.Discard()
	marker := p.name.File(KindMarker)
	line, err := m.line()
	if err != nil {
		return err
	}
	if p.file == nil {
		return p.d.fail("make marker", marker, os.ErrClosed)
	}
	f := p.file
	p.file = nil
	if err = p.d.finish(f, line); err == nil {
		err = p.d.publish(p.temp, marker, line, func() error {
			p.Discard() // gives its room back to the file that is made now
			return p.d.create(marker, line)
		})
	}
	if err != nil {
		return p.d.fail("make marker", marker, err)
	}
	return nil
}

// Discard removes the temporary file, if it is still there. After Commit it
// does nothing.
func (p *Pending) Discard() {
	if p.file != nil {
		p.file.Close()
		p.file = nil
	}
	if p.temp != "" {
		p.d.unlink(p.temp) // what stays is swept at the next start
		p.temp = ""
	}
}
