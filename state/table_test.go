package state

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
)

// More jobs than the first slots hold, longest names too.
func TestTable(t *testing.T) {
	tab := newTable(maphash.MakeSeed())
	name := func(i int) []byte { return []byte(fmt.Sprint(i, strings.Repeat("n", i%780))) }
	const jobs = 1500
	for _, k := range []Kind{KindAnswer, KindPrompt, KindMarker} { // in an order that is no use
		for i := range jobs {
			if k == KindAnswer && i%3 != 0 {
				continue // two of three are unfinished
			}
			tab.add(tab.hash(name(i)), Files(0).With(k))
			tab.add(tab.hash(name(i)), 0) // adds nothing
		}
	}
	finished := 0
	for i := range jobs {
		s := *tab.find(tab.hash(name(i)))
		if s.pending() != (i%3 != 0) || s.files()&^present != 0 {
			t.Fatalf("%d: %v", i, s.files())
		}
		if s.files().Phase() == Done {
			finished++
		}
	}
	if finished != jobs/3 || tab.used != jobs {
		t.Error(finished, tab.used)
	}
	tab.end()
	for i := range jobs {
		if !tab.find(tab.hash(name(i))).has(marked) {
			t.Fatalf("%d is not marked", i)
		}
	}
	// Jobs that went take no room for ever, and no other's mark.
	large := len(tab.slots)
	for range 10 {
		tab.begin()
		for i := range 20 {
			tab.add(tab.hash(name(i)), Files(0).With(KindMarker))
		}
		tab.end()
	}
	if len(tab.slots) >= large || tab.used > 20 {
		t.Errorf("%d slots, %d in use", len(tab.slots), tab.used)
	}
	for i := range jobs {
		if tab.find(tab.hash(name(i))).has(marked) != (i < 20) {
			t.Fatalf("%d", i)
		}
	}
}

// Names are noted up to the limit, and given back as they were.
func TestNotes(t *testing.T) {
	var n notes
	var names []string
	for i := 0; !n.full; i++ {
		stem := strings.Repeat("é", i%600) + fmt.Sprint(i)
		if n.keep(uint64(i), []byte(stem)) {
			names = append(names, stem)
		}
	}
	if n.keep(0, []byte("x")) || len(n.b) > notesLimit || len(names) < 500 {
		t.Errorf("%d names in %d bytes", len(names), len(n.b))
	}
	var got []string
	n.each(func(hash uint64, stem []byte) {
		if int(hash) != len(got) {
			t.Fatal(hash)
		}
		got = append(got, string(stem))
	})
	if !slices.Equal(got, names) {
		t.Error("other names came back")
	}
}
