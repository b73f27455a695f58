package watch_test

import (
	"os"
	"testing"
	"time"

	"watcher/state"
)

// TestDeliveredAgain: a job that was answered is moved away, and a tool delivers
// its prompt once more. It is not sent again, unless its text is another one.
func TestDeliveredAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.prompt", "the same text")
		r.write("b.prompt", "a monthly text")
		_, stop := r.start()
		pass(5 * time.Minute)
		r.answered("a", "the same text")
		r.answered("b", "a monthly text")
		stop()
		shelve(t, r.dir, "a", "b")
		r.write("a.prompt", "the same text\n")
		r.write("b.prompt", "the text of the next month")
		r.running()
		pass(5 * time.Minute)
		r.answered("b", "the text of the next month")
		if n := r.chat.Count("the same text"); n != 1 {
			t.Errorf("sent %d times\n%s", n, r.log)
		}
		if _, err := os.Stat(r.path("a.md.url")); !os.IsNotExist(err) {
			t.Errorf("the marker: %v", err)
		}
	})
}

func shelve(t *testing.T, path string, names ...state.Name) {
	t.Helper()
	dir, err := state.OpenDir(path, "00112233")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	shelf, err := dir.Shelf(1)
	if err != nil {
		t.Fatal(err)
	}
	defer shelf.Close()
	for _, name := range names {
		if err := dir.Shelve(name, shelf); err != nil {
			t.Fatal(err)
		}
	}
}
