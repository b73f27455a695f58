package state

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Abilities is what a folder's file system was seen to do.
type Abilities struct {
	Links bool          // link(2) works, and refuses a name that is taken
	Moves bool          // so does an exclusive rename; looked at only without Links
	Sync  time.Duration // how long it took to make a small file and its name durable
}

// Probe tries on temporary files what a marker needs: to write one, make it
// durable, and give it a name that nobody else can take. It leaves nothing
// behind; what a kill leaves, [Dir.Sweep] removes. An error means that the
// folder can't be written, or breaks a promise: then it must not be used.
func (d *Dir) Probe() (Abilities, error) {
	var a Abilities
	begin := time.Now()
	mine, err := d.write([]byte("a probe\n"))
	if err != nil {
		return a, d.fail("write", "a temporary file", err)
	}
	defer d.unlink(mine)
	if err := d.syncFolder(); err != nil {
		return a, d.fail("sync", "the folder", err)
	}
	a.Sync = time.Since(begin)
	other, err := d.write([]byte("another\n"))
	if err != nil {
		return a, d.fail("write", "a temporary file", err)
	}
	defer d.unlink(other)
	name := mine[:len(mine)-len(".tmp")-8] + "00000000.tmp" // a temporary name too, so a kill leaves what is swept
	defer d.unlink(name)
	for _, give := range []struct {
		works *bool
		call  func(old, new string) error
	}{{&a.Links, d.link}, {&a.Moves, d.move}} {
		err := give.call(mine, name)
		if noLinks(err) || noMove(err) {
			continue
		}
		if err != nil {
			return a, d.fail("name", "a temporary file", err)
		}
		err = give.call(other, name)
		switch {
		case errors.Is(err, unix.EEXIST):
			*give.works = true
			return a, nil
		case err == nil:
			err = errors.New("a name that is taken can be taken again")
		}
		return a, d.fail("name", "a temporary file", fmt.Errorf("twice: %w", err))
	}
	return a, nil
}
