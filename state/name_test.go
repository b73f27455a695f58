package state

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		base string
		name Name
		kind Kind
	}{
		{"x.prompt", "x", KindPrompt},
		{"x.md.url", "x", KindMarker},
		{"x.md", "x", KindAnswer},
		{"x.md.err", "x", KindError},
		{"x.prompt.hold", "x", KindHold},
		{"x.prompt.cancel", "x", KindCancel},
		{"x.prompt.retry", "x", KindRetry},
		{"x.prompt.ready", "x", KindReady},
		{"x.md.prompt", "x.md", KindPrompt},
		{"x.md.md.url", "x.md", KindMarker},
		{"x.md.md", "x.md", KindAnswer},
		{"x.md.url.prompt", "x.md.url", KindPrompt},
		{"x.md.url.md.url", "x.md.url", KindMarker},
		{"x.prompt.prompt", "x.prompt", KindPrompt},
		{"x.prompt.prompt.hold", "x.prompt", KindHold},
		{"watcher.prompt", "watcher", KindPrompt},
		{"bad\xff.prompt", "bad\xff", KindPrompt},
		{"two\nlines.prompt", "two\nlines", KindPrompt},
		{" .prompt", " ", KindPrompt},
		{"report (2024).prompt", "report (2024)", KindPrompt},
		{"on conflict (an essay).prompt", "on conflict (an essay)", KindPrompt},
		{"(1).prompt", "(1)", KindPrompt},
		{"~x.prompt", "~x", KindPrompt},
	} {
		n, k, ok := Parse(c.base)
		if !ok || n != c.name || k != c.kind {
			t.Errorf("Parse(%q) = %q, %d, %v; want %q, %d", c.base, n, k, ok, c.name, c.kind)
		}
		if ok && n.File(k) != c.base {
			t.Errorf("%q.File(%d) = %q, want %q", n, k, n.File(k), c.base)
		}
		if err := n.Check(); err != nil {
			t.Error(err)
		}
	}
}

// notOurs are names that others and we ourselves leave in a folder.
var notOurs = []string{
	"", ".", "..", ".prompt", ".md", ".md.url", "prompt", "x", "x.txt", "NAME.PROMPT", "x.Prompt", "x.prompt ",
	".#n.prompt", "._a.prompt", ".a.prompt.Xy12Za", ".a.prompt.swp", "x.prompt~", "#x.prompt#", "4913",
	"~$x.prompt", "~syncthing~x.prompt.tmp", "~syncthing~x.prompt", ".syncthing.x.prompt.tmp",
	"x.prompt.filepart", "x.prompt.part", "x.prompt.crdownload", "x.prompt.tmp", "x.prompt.swp", "x.prompt.orig",
	"x.md.url.1", "x.md.1", "x.md.err.12", ".watcher-0123456789abcdef.1", ".watcher-aaaaaaaa-bbbbbbbb.tmp",
	"watcher.hold", "watcher.paused", "x.hold", "x.retry", "x.url", "x.err", "x.md.hold",
}

func TestParseNotOurs(t *testing.T) {
	for _, base := range notOurs {
		if n, k, ok := Parse(base); ok {
			t.Errorf("Parse(%q) = %q, %d", base, n, k)
		}
		if Conflict(base) {
			t.Errorf("Conflict(%q)", base)
		}
	}
}

func TestConflict(t *testing.T) {
	for _, base := range []string{
		"a.sync-conflict-20260101-120000-ABCDEFG.prompt",
		"a.sync-conflict-20260101-120000.prompt",
		"a.sync-conflict-20260101-120000-ABCDEFG.sync-conflict-20260102-120000-ABCDEFG.prompt",
		"a (conflicted copy 2026-01-01).prompt",
		"a (ann's conflicted copy 2026-01-01).prompt",
		"a (ann (work)'s conflicted copy 2026-01-01).prompt",
		"a (Case Conflict).prompt",
		"a (SFConflict ann@example.org 2026-01-01-12-00-00).prompt",
		"a_conflict-20260101-120000.prompt",
		"a (1).prompt", "a (1) (2).prompt", "a (12).md.url", "a.md (1).url",
		"a.md.sync-conflict-20260101-120000-ABCDEFG.url",
	} {
		if !Conflict(base) {
			t.Errorf("not seen: %q", base)
		}
		if n, _, ok := Parse(base); ok {
			t.Errorf("Parse(%q) = %q", base, n)
		}
	}
	// A second copy of an answer is no reason to warn, and no job's either.
	for _, base := range []string{"notes (1).md", "a.sync-conflict-20260101-120000-ABCDEFG.md"} {
		if _, _, ok := Parse(base); ok || Conflict(base) {
			t.Errorf("%q: Parse %v, Conflict %v", base, ok, Conflict(base))
		}
	}
}

func TestCheck(t *testing.T) {
	long := strings.Repeat("n", 248)
	for n, want := range map[Name]string{
		"x":              "",
		Name(long):       "",
		Name(long + "n"): "shorten it by 1",
		"":               "empty",
		"a/b":            "slash",
		"../x":           "slash",
		"a\x00":          "NUL",
		".x":             "dot",
		"~$x":            "temporary",
		"x (1)":          "second copy",
	} {
		err := n.Check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", n, err, want)
		}
	}
}

func TestArchive(t *testing.T) {
	if got := Name("x").Archive(KindMarker, 3); got != "x.md.url.3" {
		t.Error(got)
	}
	long := Name(strings.Repeat("n", 246))
	if got := long.Archive(KindMarker, 1); len(got) != 255 || !strings.HasSuffix(got, ".md.url.1") {
		t.Error(got)
	}
	for _, got := range []string{long.Archive(KindMarker, 10), long.Archive(KindError, 10)} {
		if !strings.HasPrefix(got, ".watcher-") || len(got) != len(".watcher-0123456789abcdef.10") {
			t.Error(got)
		}
	}
}

// anyName draws job names, most of them mean: made of our own suffixes.
var anyName = rapid.Custom(func(t *rapid.T) Name {
	part := rapid.OneOf(
		rapid.SampledFrom(append([]string{"x", ".1", " (1)", "watcher", ".hold", ".tmp", "~$"}, suffixes[:]...)),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 4), func(b []byte) string { return string(b) }),
	)
	return Name(strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), ""))
})

// Two jobs never share a file, archives and control files included.
func TestNoTwoJobsShareAFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyName.Filter(func(n Name) bool { return n.Check() == nil }).Draw(t, "a")
		b := anyName.Filter(func(n Name) bool { return n.Check() == nil }).Draw(t, "b")
		if a == b {
			return
		}
		all := func(n Name) (list []string) {
			for k := range kinds {
				list = append(list, n.File(k))
				for _, i := range []int{1, 12} {
					list = append(list, n.Archive(k, i))
				}
			}
			return list
		}
		for _, file := range all(a) {
			if slices.Contains(all(b), file) {
				t.Fatalf("%q and %q share %q", a, b, file)
			}
		}
	})
}

// checkRoundTrip holds for every string as a file name and as a job name.
func checkRoundTrip(t interface{ Fatalf(string, ...any) }, s string) {
	n, k, ok := Parse(s)
	if ok && n.File(k) != s {
		t.Fatalf("Parse(%q) = %q, %d, whose file is %q", s, n, k, n.File(k))
	}
	if ok && (n == "" || n[0] == '.') {
		t.Fatalf("Parse(%q) = %q", s, n)
	}
	if isPrompt := ok && k == KindPrompt; isPrompt && !strings.HasSuffix(s, ".prompt") {
		t.Fatalf("%q is taken for a prompt", s)
	}
	if ok && Conflict(s) {
		t.Fatalf("%q is a job's and a conflict copy", s)
	}
	name := Name(s)
	if name.Check() != nil {
		return
	}
	for k := range kinds {
		got, kind, ok := Parse(name.File(k))
		if !ok || got != name || kind != k {
			t.Fatalf("Parse(%q) = %q, %d, %v", name.File(k), got, kind, ok)
		}
		if _, _, ok := Parse(name.Archive(k, 1)); ok {
			t.Fatalf("the archive %q is a job's", name.Archive(k, 1))
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkRoundTrip(t, string(anyName.Draw(t, "name"))) })
	for b := range 256 { // every byte value in each position
		for _, s := range []string{string([]byte{byte(b)}), "x" + string([]byte{byte(b)}), string([]byte{byte(b)}) + "x"} {
			checkRoundTrip(t, s)
			checkRoundTrip(t, s+".prompt")
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range append(notOurs, "x.prompt", "x.md.prompt", "x.md.url.md.url", "a (1).prompt", "\xff.md.err") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkRoundTrip(t, s) })
}

// The cheap look never says no to a name that the mark is in.
func TestMayConflict(t *testing.T) {
	part := rapid.SampledFrom([]string{"", "a", "x.md", "-", "_", "é", ".sync-conflict-20260101-120000", ".sync-conflict-20260101-120000-ABCDEFG",
		"_conflict-20260101-120000", "-20260101-120000", " (1)", " (1234)", "(conflicted copy)", " (Case Conflict 2)", "(SFConflict a\nb)", ")"})
	rapid.Check(t, func(t *rapid.T) {
		stem := []byte(strings.Join(rapid.SliceOfN(part, 0, 4).Draw(t, "parts"), ""))
		if got, want := conflicted(stem), conflictMark.Match(stem); got != want {
			t.Fatalf("%q: %v, want %v", stem, got, want)
		}
	})
}
