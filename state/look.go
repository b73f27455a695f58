package state

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Lookup looks afresh at every name of one job. Only "does not exist" counts
// as absent; with any other error nothing is known and nothing may be sent.
//
// What it does not see may be there all the same (another host's file shows
// up to 30 s late over NFS), so it never replaces [Pending.Commit].
func (d *Dir) Lookup(n Name) (Files, error) {
	if err := n.Check(); err != nil {
		return 0, err
	}
	var files Files
	for k := range kinds {
		there, err := d.has(n, k)
		if err != nil {
			return 0, d.fail("look for", n.File(k), err)
		}
		if there {
			files = files.With(k)
		}
	}
	return files, nil
}

// has reports whether one of a job's files is there. A prompt must be a
// regular file or lead to one; of the others the bare name counts, because a
// folder or a broken link of that name is in the way just the same.
func (d *Dir) has(n Name, k Kind) (bool, error) {
	if k == KindPrompt {
		return d.isPrompt(n.File(k))
	}
	there, err := d.there(n.File(k))
	if errors.Is(err, unix.ENAMETOOLONG) && len(n.File(k)) > len(n.File(KindMarker)) {
		return false, nil // a control file of this length cannot exist
	}
	return there, err
}

func (d *Dir) isPrompt(file string) (bool, error) {
	st, err := d.follow(file)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return false, nil
	}
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG, err
}

// Identity tells whether two looks saw the same file, unchanged. It proves
// nothing about content: git can repeat inode, size and time exactly.
type Identity struct {
	Size       int64
	CtimeNs    int64
	Inode, Dev uint64
}

func identity(st *unix.Stat_t) Identity {
	return Identity{Size: st.Size, CtimeNs: st.Ctim.Nano(), Inode: st.Ino, Dev: uint64(st.Dev)}
}

// Identify stats a job's prompt, following a symbolic link. The error is
// ErrNotRegular for a folder, a FIFO and the like.
func (d *Dir) Identify(n Name) (Identity, error) { return d.identify(n, KindPrompt) }

// IdentifyReady does so with its .prompt.ready.
func (d *Dir) IdentifyReady(n Name) (Identity, error) { return d.identify(n, KindReady) }

func (d *Dir) identify(n Name, k Kind) (Identity, error) {
	if err := n.Check(); err != nil {
		return Identity{}, err
	}
	st, err := d.follow(n.File(k))
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
	}
	if err != nil {
		return Identity{}, d.fail("look at", n.File(k), err)
	}
	return identity(&st), nil
}

// Prompt is a prompt as it was read.
type Prompt struct {
	Text    string   // by the rules of [Dir.ReadPrompt]
	Sum     string   // Fingerprint(Text)
	FileSum string   // sha256 of the file's bytes, 64 hex digits
	ID      Identity // of the file while it was read

	raw string // the file's bytes
}

// maxPrompt is far above what any chat takes; more is somebody's mistake.
const maxPrompt = 16 << 20

// ReadPrompt reads a job's prompt and makes it durable, through its read-only
// descriptor: until then a power cut could take it from under its marker. (Not
// with a Dir that is there to look only: nobody commits anything to that.)
//
// The text must be UTF-8 (a byte order mark is dropped), or UTF-16 with one.
// CRLF and a lone CR become LF, as they do in any web page's text field, and
// newlines at the end are dropped. Nothing else is changed.
//
// Errors: ErrEmpty for a file with nothing but white space (it may still be
// written), ErrChanged when it moved meanwhile, ErrNotRegular, *InvalidError
// for what can never be sent.
func (d *Dir) ReadPrompt(n Name) (Prompt, error) {
	if err := n.Check(); err != nil {
		return Prompt{}, err
	}
	b, id, err := d.readSettled(n.File(KindPrompt))
	if err != nil {
		return Prompt{}, d.fail("read prompt", n.File(KindPrompt), err)
	}
	text, reason := decode(b)
	if len(b) > maxPrompt {
		reason = "it is longer than 16 MiB; shorten it"
	}
	if reason != "" {
		return Prompt{}, &InvalidError{Name: n, Reason: reason}
	}
	if strings.TrimSpace(text) == "" {
		return Prompt{}, d.fail("read prompt", n.File(KindPrompt), ErrEmpty)
	}
	return Prompt{Text: text, Sum: Fingerprint(text), FileSum: sha256Hex(b), ID: id, raw: string(b)}, nil
}

// Behind gives the file's bytes behind its first lines, as they lie on the disk:
// nothing is decoded, and what ends a line (LF, CRLF, CR) is part of it.
func (p Prompt) Behind(lines int) string {
	width, low := 1, 0 // of a character in bytes, and where the low one of two is
	switch {
	case strings.HasPrefix(p.raw, "\xff\xfe"):
		width = 2
	case strings.HasPrefix(p.raw, "\xfe\xff"):
		width, low = 2, 1
	}
	char := func(at int) byte {
		if at+width > len(p.raw) || width == 2 && p.raw[at+1-low] != 0 {
			return 0
		}
		return p.raw[at+low]
	}
	at := 0
	for ; lines > 0 && at < len(p.raw); at += width {
		switch {
		case char(at) == '\r' && char(at+width) == '\n': // ends at the next one
		case char(at) == '\r' || char(at) == '\n':
			lines--
		}
	}
	return p.raw[min(at, len(p.raw)):]
}

// readSettled reads a file that must not change meanwhile, and syncs it.
func (d *Dir) readSettled(file string) (b []byte, id Identity, err error) {
	f, err := d.open(file)
	if err != nil {
		return nil, id, err
	}
	defer f.Close()
	if id, err = fstat(f); err != nil {
		return nil, id, err
	}
	if b, err = d.readAll(f, maxPrompt); err != nil {
		return nil, id, err
	}
	if err = d.believe(f); err != nil {
		return nil, id, err
	}
	again, err := fstat(f)
	if err == nil && (again != id || int64(len(b)) != min(id.Size, maxPrompt+1)) {
		err = ErrChanged
	}
	return b, id, err
}

func fstat(f *os.File) (Identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Identity{}, err
	}
	return identity(&st), nil
}

// Begin reads a prompt's first bytes, at most size, to see what kind it may be.
// It makes nothing durable.
func (d *Dir) Begin(n Name, size int64) ([]byte, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	b, err := d.readNamed(n.File(KindPrompt), size, false)
	if err != nil {
		return nil, d.fail("read", n.File(KindPrompt), err)
	}
	return b[:min(int64(len(b)), size)], nil
}

// Ready reads what a job's .prompt.ready holds: "" or, in lower case, the
// sha256 (see Prompt.FileSum) that the uploader expects of the whole prompt.
func (d *Dir) Ready(n Name) (sum string, err error) {
	b, err := d.readFile(n, KindReady, false)
	if err != nil {
		return "", err
	}
	if word := strings.Fields(string(b)); len(word) > 0 {
		return strings.ToLower(word[0]), nil
	}
	return "", nil
}
