package state

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// maxSmall bounds what is read of a file that should hold a line or two.
const maxSmall = 1 << 20

// readFile reads one of a job's small files, after a sync of it if asked.
func (d *Dir) readFile(n Name, k Kind, sync bool) ([]byte, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	b, err := d.readNamed(n.File(k), maxSmall, sync)
	if err != nil {
		return nil, d.fail("read", n.File(k), err)
	}
	return b, nil
}

func (d *Dir) readNamed(file string, limit int64, sync bool) ([]byte, error) {
	f, err := d.open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if sync {
		if err := d.believe(f); err != nil {
			return nil, err
		}
	}
	return d.readAll(f, limit)
}

// WriteAnswer makes the answer: whole, durable, and never over a file that is
// there (ErrExists).
func (d *Dir) WriteAnswer(n Name, text string) error {
	return d.writeNew(n, KindAnswer, text)
}

// WriteError makes the .md.err; ErrExists when there is one.
func (d *Dir) WriteError(n Name, f Failure) error {
	return d.writeNew(n, KindError, f.String())
}

func (d *Dir) writeNew(n Name, k Kind, content string) error {
	if err := n.Check(); err != nil {
		return err
	}
	there, err := d.there(n.File(k)) // saves the work; publish decides
	if err == nil && there {
		err = ErrExists
	}
	if err == nil {
		err = d.writeUnlessThere(n.File(k), []byte(content))
	}
	if err != nil {
		return d.fail("write", n.File(k), err)
	}
	return nil
}

func (d *Dir) writeUnlessThere(target string, content []byte) error {
	temp, err := d.write(content)
	if err != nil {
		return err
	}
	defer d.unlink(temp)
	return d.publish(temp, target, content, func() error {
		return d.replaceNothing(temp, target, content)
	})
}

// ReadError reads a job's .md.err.
func (d *Dir) ReadError(n Name) (Failure, error) {
	b, err := d.readFile(n, KindError, false)
	if err != nil {
		return Failure{}, err
	}
	return ParseFailure(b), nil
}

// Hold makes an empty .prompt.hold, so that the job is not sent until a person
// removes it. It is no error when there is one.
func (d *Dir) Hold(n Name) error { return d.Ask(n, KindHold) }

// Ask makes an empty control file (.hold, .cancel, .retry), as a user's touch
// does; other kinds it refuses. It is no error when there is one.
func (d *Dir) Ask(n Name, k Kind) error {
	if k != KindHold && k != KindCancel && k != KindRetry {
		return d.fail("write", n.File(k), errors.New("only a .hold, .cancel or .retry asks for something"))
	}
	if err := d.writeNew(n, k, ""); !errors.Is(err, ErrExists) {
		return err
	}
	return nil
}

// Remove takes a .cancel or a .retry away, to acknowledge it; other kinds it
// refuses. It is no error when the file is gone. The removal is durable before
// it returns: a .retry that came back would send once more.
func (d *Dir) Remove(n Name, k Kind) error {
	if err := n.Check(); err != nil {
		return err
	}
	if k != KindCancel && k != KindRetry {
		return d.fail("remove", n.File(k), errors.New("only a .cancel or a .retry may be removed"))
	}
	return d.removeFile(n.File(k))
}

func (d *Dir) removeFile(file string) error {
	err := d.unlink(file)
	if err == nil || isAny(err, unix.ENOENT, unix.ENAMETOOLONG) { // too long to be there
		err = d.syncFolder()
	}
	if err != nil {
		return d.fail("remove", file, err)
	}
	return nil
}

// Sweep removes the temporary files that this owner left behind, and only
// those; it tells how many. Call it at start-up, holding the profile's lock:
// a write that is under way would lose its temporary file, and fail.
func (d *Dir) Sweep() (int, error) {
	if d.owner == "" {
		return 0, fmt.Errorf("sweep %s: the folder was opened to look only", d.path)
	}
	var found []string
	err := d.list(make([]byte, 64<<10), func(base []byte, _ uint8) error {
		if d.ownTemp(string(base)) {
			found = append(found, string(base))
		}
		return nil
	})
	if err != nil {
		return 0, d.fail("list", ".", err)
	}
	swept := 0
	for _, file := range found {
		switch e := d.unlink(file); {
		case e == nil:
			swept++
		case !errors.Is(e, unix.ENOENT):
			err = errors.Join(err, d.fail("remove", file, e))
		}
	}
	return swept, err
}

// ownTemp reports the names that temp gives.
func (d *Dir) ownTemp(base string) bool {
	rest, ours := strings.CutPrefix(base, ".watcher-"+d.owner+"-")
	random, tmp := strings.CutSuffix(rest, ".tmp")
	return ours && tmp && len(random) == 8 && strings.Trim(random, "0123456789abcdef") == ""
}
