package watch

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"watcher/state"
)

// pack copies what goes with a prompt to where nobody else writes, so that what
// is uploaded is what was looked at. Each copy has its file's name, which the
// chat shows. clean removes them.
//
// Errors: state.ErrChanged when a file is not the one that had settled.
func (c *courier) pack(o *order, p Prompt) (files []string, clean func(), err error) {
	if len(p.Options.Attach) == 0 {
		return nil, func() {}, nil
	}
	if c.cfg.Scratch != "" {
		if err := os.MkdirAll(c.cfg.Scratch, 0o700); err != nil {
			return nil, func() {}, err
		}
	}
	root, err := os.MkdirTemp(c.cfg.Scratch, "watcher-outgoing-")
	if err != nil {
		return nil, func() {}, err
	}
	clean = func() { _ = os.RemoveAll(root) } // what stays is swept at the next start
	for i, path := range p.Options.Attach {
		file := filepath.Join(root, strconv.Itoa(i+1), filepath.Base(path))
		if err := copyOut(o.dir, path, o.enclosed[i], file); err != nil {
			return nil, clean, err
		}
		files = append(files, file)
	}
	return files, clean, nil
}

func copyOut(dir *state.Dir, path string, seen state.Identity, to string) error {
	if err := os.Mkdir(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = dir.CopyBeneath(path, seen, f)
	return errors.Join(err, f.Close())
}
