package state

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Name is a job's name: its prompt's file name without ".prompt". The bytes
// are exactly those of the file system; they need not be UTF-8.
type Name string

// Kind says which of a job's files a file is.
type Kind uint8

// The kinds. The first is the user's text, the next three are the program's
// own, the others are how a user steers one job by touching a file.
const (
	KindPrompt Kind = iota // NAME.prompt
	KindMarker             // NAME.md.url
	KindAnswer             // NAME.md
	KindError              // NAME.md.err
	KindHold               // NAME.prompt.hold
	KindCancel             // NAME.prompt.cancel
	KindRetry              // NAME.prompt.retry
	KindReady              // NAME.prompt.ready
	kinds                  // how many there are
)

// suffixes holds what follows the name. No suffix is the end of another one,
// hence a file belongs to one job only, and no two jobs share a file.
var suffixes = [kinds]string{
	KindPrompt: ".prompt",
	KindMarker: ".md.url",
	KindAnswer: ".md",
	KindError:  ".md.err",
	KindHold:   ".prompt.hold",
	KindCancel: ".prompt.cancel",
	KindRetry:  ".prompt.retry",
	KindReady:  ".prompt.ready",
}

// The two files that concern a whole folder. Neither is a file of any job.
const (
	HoldFile   = "watcher.hold"   // made by a person: this folder sends nothing
	PausedFile = "watcher.paused" // the program's notice that sending is paused
)

// maxName is the longest file name, in bytes, that Linux file systems take.
const maxName = 255

// Parse tells which job a file belongs to and which of its files it is. It is
// false for everything else: names that begin with a dot (this program's
// temporary files among them), editors' and transfer tools' temporary names,
// sync-conflict copies, archived files, the folder's control files, and plain
// other files. Letter case counts: X.PROMPT is no prompt.
func Parse(base string) (Name, Kind, bool) {
	stem, k, ok := split([]byte(base))
	if !ok || conflicted(stem) {
		return "", 0, false
	}
	return Name(stem), k, true
}

// split is Parse before sync-conflict copies are sorted out, on bytes so that
// a scan of a million names makes no strings.
func split(base []byte) (stem []byte, k Kind, ok bool) {
	if foreign(base) {
		return nil, 0, false
	}
	for _, k := range byLast[base[len(base)-1]] {
		suffix := suffixes[k]
		if n := len(base) - len(suffix); n > 0 && string(base[n:]) == suffix {
			return base[:n], k, true
		}
	}
	return nil, 0, false
}

// byLast gives the kinds whose suffix ends in a byte: one or two.
var byLast = func() (kinds [256][]Kind) {
	for k, suffix := range suffixes {
		last := suffix[len(suffix)-1]
		kinds[last] = append(kinds[last], Kind(k))
	}
	return kinds
}()

// foreign reports names that are never a job's, whatever they end in.
func foreign(base []byte) bool {
	return len(base) == 0 || base[0] == '.' ||
		base[0] == '~' && (bytes.HasPrefix(base, []byte("~$")) || bytes.HasPrefix(base, []byte("~syncthing~")))
}

// conflictMark is what sync tools and file managers add to a name, before its
// last extension, when they keep a second copy of a file.
var conflictMark = regexp.MustCompile(`(\.sync-conflict-\d{8}-\d{6}(-[A-Z0-9]{7})?` +
	`|_conflict-\d{8}-\d{6}` +
	`|\((?s:.*)(conflicted copy|[Cc]ase [Cc]onflict|SFConflict)(?s:.*)\)` +
	`| \(\d{1,3}\))$`)

// conflicted reports whether a stem ends like a sync-conflict copy's. The
// cheap look comes first, since nearly every name fails it.
func conflicted(stem []byte) bool {
	return mayConflict(stem) && conflictMark.Match(stem)
}

// mayConflict sees a closing bracket, or a date and a time.
func mayConflict(b []byte) bool {
	n := len(b)
	return n > 0 && b[n-1] == ')' || n > 16 && dated(b[n-16:]) ||
		n > 24 && b[n-8] == '-' && dated(b[n-24:n-8]) // and seven letters of a device
}

// dated reports -20260101-120000.
func dated(b []byte) bool {
	if b[0] != '-' || b[9] != '-' {
		return false
	}
	for i, c := range b {
		if i != 0 && i != 9 && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Conflict reports whether a file is a sync tool's second copy of a prompt or
// of a marker ("x.sync-conflict-20260101-120000-ABCDEFG.prompt", "x (1).prompt",
// "x (conflicted copy 2026-01-01).prompt"). Such a copy is never considered;
// the caller warns once about each.
func Conflict(base string) bool {
	if stem, k, ok := split([]byte(base)); ok && (k == KindPrompt || k == KindMarker) {
		return conflicted(stem)
	}
	// x.md.url's second copy has the mark before the last extension.
	stem, ok := strings.CutSuffix(base, ".url")
	if !ok || foreign([]byte(stem)) {
		return false
	}
	mark := conflictMark.FindStringIndex(stem)
	return mark != nil && strings.HasSuffix(stem[:mark[0]], ".md")
}

// File is the name of one of the job's files, the inverse of [Parse].
func (n Name) File(k Kind) string { return string(n) + suffixes[k] }

// Archive is the name that the i-th retired file of a kind gets: NAME.md.url.1
// and so on. Where that would be longer than a file name can be, it is
// .watcher-<16 hex digits of the name's sha256>.1, shared by all kinds.
func (n Name) Archive(k Kind, i int) string {
	end := "." + strconv.Itoa(i)
	if long := n.File(k) + end; len(long) <= maxName {
		return long
	}
	sum := sha256.Sum256([]byte(n))
	return fmt.Sprintf(".watcher-%x%s", sum[:8], end)
}

// Check reports, in a sentence for a person, why a job of this name cannot be:
// a file of it could not be named, or [Parse] would not give this name back.
// Every method of [Dir] refuses such a name, so none reaches another folder.
func (n Name) Check() error {
	why := ""
	switch longest := len(n.File(KindMarker)); {
	case n == "":
		why = "it is empty"
	case strings.ContainsAny(string(n), "/\x00"):
		why = "it holds a slash or a NUL byte, which no file name can"
	case longest > maxName:
		why = fmt.Sprintf("%q would be %d bytes long and %d is the limit; shorten it by %d",
			suffixes[KindMarker], longest, maxName, longest-maxName)
	case foreign([]byte(n.File(KindPrompt))):
		why = "names that begin with a dot, ~$ or ~syncthing~ are temporary files; rename it"
	case conflicted([]byte(n)):
		why = "it looks like a sync tool's second copy of another prompt; rename it if it is not"
	default:
		return nil
	}
	return fmt.Errorf("use job name %q: %s", string(n), why)
}
