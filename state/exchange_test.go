package state

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

const endpoint = "http://localhost:20128/v1/chat/completions"

// asked is another engine's marker, in place of a chat's.
func asked(instead string) Marker {
	m := released(endpoint, ownerA)
	m.Engine, m.Instead = "router", instead
	return m
}

// The engine's name is the first thing after the address, so that no cut of the
// line looks like a chat's marker that is ours to send again.
func TestEngineMarker(t *testing.T) {
	m := asked(chatA)
	line := m.String()
	if !strings.HasPrefix(line, endpoint+"#engine=router&") || ParseMarker([]byte(line)) != m {
		t.Errorf("%q reads as %+v", line, ParseMarker([]byte(line)))
	}
	for i := range line {
		cut := ParseMarker([]byte(line[:i]))
		named := i > len(endpoint+"#engine=")
		if cut.Stage != StageSent || named && cut.Engine == "" {
			t.Errorf("cut to %q it reads as %+v", line[:i], cut)
		}
	}
	twice := strings.Replace(line, "#engine=router", "#engine=router&engine=", 1)
	if got := ParseMarker([]byte(twice)); got.Stage != StageSent {
		t.Errorf("%q may be sent again", twice)
	}
}

// Whichever step is the last one that is taken: the job has a marker, it is one
// of the two and whole, and what it held first is not lost.
func TestExchangeCutAnywhere(t *testing.T) {
	from := second
	to := asked(chatA)
	for kind, quirk := range filesystems {
		for at := 1; ; at++ {
			dir := memDir(t)
			f := &faults{fail: both(crash(at), quirk)}
			d := open(t, dir, ownerA, WithStep(f.step))
			put(t, dir, "x.md.url", from.String())
			archive, err := d.Exchange("x", from, to)
			now := content(t, dir, "x.md.url")
			if now != from.String() && now != to.String() {
				t.Fatalf("%s, step %d: the marker is %q", kind, at, now)
			}
			kept := false
			for _, name := range names(t, dir) {
				kept = kept || content(t, dir, name) == from.String() && !strings.HasSuffix(name, ".tmp")
			}
			if !kept {
				t.Fatalf("%s, step %d: the first marker is lost: %v", kind, at, names(t, dir))
			}
			if err == nil {
				if now != to.String() || content(t, dir, archive) != from.String() {
					t.Errorf("%s: %q, %q", kind, now, archive)
				}
				clean(t, dir)
				if at < 10 {
					t.Errorf("%s: only %d steps", kind, at)
				}
				break
			}
		}
	}
}

// What may be on its way to a chat stays the chat's, and so does another's.
func TestExchangeNotExpected(t *testing.T) {
	for what, tc := range map[string]struct {
		disk     string
		from, to Marker
	}{
		"may have left":       {first.String(), first, asked(chatA)},
		"advanced meanwhile":  {second.String(), first, asked(chatA)},
		"another owner's":     {released(chatB, ownerB).String(), second, asked(chatA)},
		"cut":                 {strings.TrimSuffix(second.String(), "\n"), first, asked(chatA)},
		"the same engine":     {asked(chatA).String(), asked(chatA), asked(chatB)},
		"from chat to chat":   {second.String(), second, released(chatB, ownerA)},
		"somebody's own file": {"# Notes\n", second, asked(chatA)},
	} {
		d := open(t, memDir(t), ownerA)
		put(t, d.Path(), "x.md.url", tc.disk)
		_, err := d.Exchange("x", tc.from, tc.to)
		if !errors.Is(err, ErrNotExpected) || content(t, d.Path(), "x.md.url") != tc.disk || len(names(t, d.Path())) != 1 {
			t.Errorf("%s: %v, %v", what, err, names(t, d.Path()))
		}
	}
	d := open(t, memDir(t), ownerA)
	_, err := d.Exchange("x", second, asked(chatA))
	wants(t, err, fs.ErrNotExist)
}

// There and back again: the chat's marker returns, both are kept.
func TestExchangeBack(t *testing.T) {
	d := open(t, memDir(t), ownerA)
	put(t, d.Path(), "x.md.url", second.String())
	if _, err := d.Exchange("x", second, asked(chatA)); err != nil {
		t.Fatal(err)
	}
	archive, err := d.Exchange("x", asked(chatA), second)
	if err != nil || archive != "x.md.url.2" {
		t.Fatal(archive, err)
	}
	if content(t, d.Path(), "x.md.url") != second.String() || content(t, d.Path(), "x.md.url.1") != second.String() || content(t, d.Path(), archive) != asked(chatA).String() {
		t.Errorf("%v", names(t, d.Path()))
	}
}
