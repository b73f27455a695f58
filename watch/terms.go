package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"watcher/state"
	"watcher/watch/frontmatter"
)

// terms are what a new prompt's options come to, as the files stand now.
type terms struct {
	bad   string           // why it can never be sent
	wait  string           // why it cannot be sent yet
	until time.Time        // when that ends by itself; zero: when a file changes
	chat  string           // the address to continue
	by    string           // the owner of that chat; "" where nobody knows
	from  string           // the job that it was learned from, for messages
	files []state.Identity // of what is attached
	soon  bool             // it waits for a file that is there already, and on its way
}

// Outlook says why a new prompt cannot be sent yet, for all that its options
// and the files say: "" when nothing is in the way. until is when that ends by
// itself, if a time is what it waits for. never says that it can never be sent.
// owns says whether an owner's id in a marker is the caller's, answering which
// job waits for its answer in a chat; nil: not known.
func (c *Config) Outlook(dir *state.Dir, name state.Name, p Prompt, owns func(by string) bool, answering func(address string) string,
	now time.Time) (wait string, until time.Time, never string) {
	t := c.terms(dir, name, p, now, nil)
	if t.bad != "" || t.wait != "" || t.chat == "" {
		return t.wait, t.until, t.bad
	}
	if owns != nil && t.by != "" && !owns(t.by) {
		return t.theirs("somebody else"), time.Time{}, ""
	}
	if answering != nil {
		if other := answering(t.chat); other != "" {
			return answeringFor("", other), time.Time{}, ""
		}
	}
	return "", time.Time{}, ""
}

// terms looks at all that the options speak of. It only reads. What known has of
// a parent is not looked at again; nil: all is.
func (c *Config) terms(dir *state.Dir, name state.Name, p Prompt, now time.Time, known parents) terms {
	o := p.Options
	if p.Short != "" {
		return terms{wait: p.Short} // then nothing that it says is sure
	}
	router := o.Engine == frontmatter.EngineRouter
	if router && (o.Chat != "" || len(o.Attach) > 0) {
		return terms{bad: "engine: another engine continues no chat and takes no attachments"}
	}
	t := c.follow(dir, name, o.Chat, known)
	if t.bad != "" {
		return t
	}
	files, bad, missing, soon := c.enclosed(dir, o.Attach)
	switch {
	case bad != "":
		return terms{bad: bad}
	case now.Before(o.NotBefore):
		return terms{wait: "not before " + o.NotBefore.Local().Format(time.DateTime), until: o.NotBefore}
	case router && c.Fallback.Engine == nil:
		return terms{wait: reasonRouter}
	case missing != "":
		return terms{wait: missing, soon: soon}
	}
	t.files = files
	return t
}

const reasonRouter = "it asks for the engine router, and none is set up (--fallback-model)"

// parents remembers what was found of parents, by how they were named: many
// prompts can wait for one.
type parents map[named]terms

type named struct {
	parent
	ref string
}

// follow finds the chat that a prompt continues; "" is none.
func (c *Config) follow(dir *state.Dir, name state.Name, ref string, known parents) terms {
	if ref == "" {
		return terms{}
	}
	if strings.Contains(ref, "://") {
		address, _, _ := strings.Cut(ref, "#") // a marker's line will do
		return terms{chat: address, from: "its front matter"}
	}
	at := parent{dir: dir.Path(), name: name}
	next, bad := c.parent(at, ref)
	switch {
	case bad != "":
		return terms{bad: "chat: " + bad}
	case next == at:
		return terms{bad: "chat: it names the prompt itself"}
	}
	if t, ok := known[named{next, ref}]; ok {
		return t
	}
	d, closeDir, err := next.open(dir)
	if err != nil {
		return terms{wait: fmt.Sprintf("waits for %s, whose folder cannot be looked at: %v", ref, err)}
	}
	defer closeDir()
	files, err := d.Lookup(next.name)
	if err != nil {
		return terms{wait: fmt.Sprintf("waits for %s: %v", ref, err)}
	}
	if files.Phase() == state.New && c.circle(dir, at, next) {
		return terms{bad: fmt.Sprintf("chat: it waits for %s, which waits for it", ref)}
	}
	t := next.terms(d, files, ref)
	if known != nil && files.Phase() != state.New {
		known[named{next, ref}] = t
	}
	return t
}

// parent is the job whose chat another one continues.
type parent struct {
	dir  string
	name state.Name
}

// parent finds the job that a prompt names: in its own folder, or by a path
// from there, which must lead to a folder that is watched or lies below its
// own. A call for single files watches nothing; then the caller chose.
func (c *Config) parent(of parent, ref string) (p parent, bad string) {
	ref = strings.TrimSuffix(ref, ".prompt")
	if filepath.IsAbs(ref) {
		return p, fmt.Sprintf("%q is an absolute path; name the job relative to the prompt's folder", ref)
	}
	path := filepath.Join(of.dir, ref)
	p = parent{filepath.Dir(path), state.Name(filepath.Base(path))}
	if strings.HasSuffix(ref, "/") || p.name.Check() != nil {
		return p, fmt.Sprintf("%q is not the name of a job", ref)
	}
	if len(c.Roots) > 0 && !under(p.dir, of.dir) && !c.watches(p.dir) {
		return p, fmt.Sprintf("%q lies outside the folders that are watched", ref)
	}
	return p, ""
}

// watches reports whether a folder is one of the roots, or below one.
func (c *Config) watches(dir string) bool {
	for _, root := range c.Roots {
		if under(dir, root) {
			return true
		}
	}
	return false
}

// under reports whether a folder is another one or below it, wherever symbolic
// links lead. One that is not there yet is taken by its name.
func under(dir, root string) bool {
	for _, path := range []*string{&dir, &root} {
		if real, err := filepath.EvalSymlinks(*path); err == nil {
			*path = real
		}
	}
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// open opens the parent's folder to look only; a folder that is open is used.
func (p parent) open(have *state.Dir) (*state.Dir, func(), error) {
	if have != nil && have.Path() == p.dir {
		return have, func() {}, nil
	}
	d, err := state.OpenDir(p.dir, "")
	if err != nil {
		return nil, nil, err
	}
	return d, func() { _ = d.Close() }, nil // it was only read through
}

// longestChain bounds how far a row of new prompts is looked through.
const longestChain = 1000

// circle reports whether a new parent, by way of its own, waits for the prompt.
func (c *Config) circle(dir *state.Dir, prompt, next parent) bool {
	seen := map[parent]bool{}
	for len(seen) < longestChain && !seen[next] {
		seen[next] = true
		d, closeDir, err := next.open(dir)
		if err != nil {
			return false
		}
		files, err := d.Lookup(next.name)
		var p Prompt
		if err == nil && files.Phase() == state.New {
			p, err = ReadPrompt(d, next.name, c.PlainText)
		}
		closeDir()
		ref := p.Options.Chat
		if err != nil || ref == "" || strings.Contains(ref, "://") {
			return false
		}
		var bad string
		if next, bad = c.parent(next, ref); bad != "" {
			return false
		}
		if next == prompt {
			return true
		}
	}
	return false
}

// terms are what the parent's files say about its chat.
func (p parent) terms(d *state.Dir, files state.Files, ref string) terms {
	wait := func(format string, a ...any) terms {
		return terms{wait: "waits for " + ref + fmt.Sprintf(format, a...)}
	}
	switch phase := files.Phase(); {
	case phase == state.Absent:
		return wait(": there is no such prompt")
	case files.Has(state.KindRetry):
		return wait(", which is to be sent again")
	case phase == state.New && files.Has(state.KindHold):
		return wait(", which is held by its .prompt.hold")
	case phase == state.New:
		return wait(", which is not sent yet")
	case phase == state.Sent:
		return wait(", whose answer is not there yet")
	case phase == state.Failed:
		f, _ := d.ReadError(p.name) // what cannot be read says nothing
		return wait(", which failed: %s (%s)", f.Sentence, f.Class)
	case !files.Has(state.KindMarker):
		return wait(": it is done, and its chat is not known, as there is no %s", strconv.Quote(p.name.File(state.KindMarker)))
	}
	m, err := d.Believe(p.name)
	switch {
	case err != nil:
		return wait(": %v", err)
	case m.Engine != "":
		return wait(": it was answered by another engine, so there is no chat to continue")
	case m.Address == "":
		return wait(": it is done, and its %s holds no address", strconv.Quote(p.name.File(state.KindMarker)))
	}
	return terms{chat: m.Address, by: m.By, from: ref}
}

// theirs says that the chat was made by another owner than this one; "" when it
// was not, or nobody can tell.
func (t terms) theirs(owner string) string {
	if t.by == "" || owner == "" || t.by == owner {
		return ""
	}
	return fmt.Sprintf("waits for a login: the chat of %s belongs to another account or program", t.from)
}

// enclosed looks at the files that go with a prompt.
func (c *Config) enclosed(dir *state.Dir, paths []string) (ids []state.Identity, bad, missing string, soon bool) {
	for _, path := range paths {
		id, err := dir.IdentifyBeneath(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = firstOf(missing, fmt.Sprintf("waits for its attachment %q, which is not there", path))
			continue
		case errors.Is(err, state.ErrOutside), errors.Is(err, state.ErrNotRegular):
			return nil, fmt.Sprintf("attach: %v", err), "", false
		case err != nil:
			missing = firstOf(missing, fmt.Sprintf("waits for its attachment: %v", err))
			continue
		case id.Size == 0:
			missing = firstOf(missing, fmt.Sprintf("waits for its attachment %q, which is empty so far", path))
			soon = true
			continue
		}
		if c.CheckFile != nil {
			if err := c.CheckFile(filepath.Base(path), id.Size); err != nil {
				return nil, fmt.Sprintf("attach: %q: %v", path, err), "", false
			}
		}
		ids = append(ids, id)
	}
	return ids, "", missing, soon
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
