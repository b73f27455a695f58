package state

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
)

// More jobs than one chunk and than the first slots hold, longest names too.
func TestTable(t *testing.T) {
	tab := newTable(maphash.MakeSeed())
	name := func(i int) string { return fmt.Sprint(i, strings.Repeat("n", i%780)) }
	const jobs = 1500
	for _, k := range []Kind{KindAnswer, KindPrompt, KindMarker} { // in an order that is no use
		for i := range jobs {
			if k == KindAnswer && i%3 != 0 {
				continue // two of three are unfinished
			}
			tab.add([]byte(name(i)), Files(0).With(k))
			tab.add([]byte(name(i)), 0) // adds nothing
		}
	}
	found := map[string]Files{}
	finished := 0
	for _, s := range tab.slots {
		switch {
		case wanted(s.files):
			found[tab.name(s)] = s.files
		case s.files.Phase() == Done:
			if finished++; s.where != 0 {
				t.Error("the name of a job that was finished from the start is kept")
			}
		}
	}
	for i := range jobs {
		if _, ok := found[name(i)]; ok != (i%3 != 0) {
			t.Fatalf("%d: %v", i, ok)
		}
	}
	if finished != jobs/3 || len(found) != jobs-jobs/3 || len(tab.names) < 2 || tab.used != jobs {
		t.Error(finished, len(found), len(tab.names), tab.used)
	}
}
