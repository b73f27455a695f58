package watch

import (
	"testing"
	"time"

	"watcher/state"
)

func TestWeigh(t *testing.T) {
	now := time.Now()
	id := sight{prompt: state.Identity{Size: 5, Inode: 1}}
	for _, c := range []struct {
		name        string
		settle, age time.Duration
		size        int64
		open, known bool
		want        string
		next        time.Duration // of the next look, from the first one; 0: none
	}{
		{"settled", 2 * time.Second, 2 * time.Second, 5, false, true, "", 0},
		{"too early", 2 * time.Second, time.Second, 5, false, true, reasonChanging, 2 * time.Second},
		{"at once", 0, 0, 5, false, true, "", 0},
		{"open", 2 * time.Second, 4 * time.Second, 5, true, true, reasonOpen, 6 * time.Second},
		{"open for a second", 2 * time.Second, 0, 5, true, true, reasonOpen, firstLook},
		{"open for hours", 2 * time.Second, 9 * time.Hour, 5, true, true, reasonOpen, 9*time.Hour + lastLook},
		{"empty", 2 * time.Second, 4 * time.Second, 0, false, true, reasonEmpty, 6 * time.Second},
		{"nobody can tell: longer", 2 * time.Second, 2 * time.Second, 5, false, false, reasonChanging, 10 * time.Second},
		{"nobody can tell, settle 0", 0, 0, 5, false, false, reasonChanging, 10 * time.Second},
		{"nobody can tell, over", 2 * time.Second, 10 * time.Second, 5, false, false, "", 0},
		{"nobody can tell, settle 20s", 20 * time.Second, 10 * time.Second, 5, false, false, reasonChanging, 20 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			id.prompt.Size = c.size
			j := &job{folder: &folder{}, glance: id, glancedAt: now}
			j.weigh(now.Add(c.age), c.settle, 10*time.Second, id, c.open, c.known)
			if j.unsettled != c.want || j.folder.leaseless != !c.known {
				t.Errorf("unsettled %q, leaseless %v", j.unsettled, j.folder.leaseless)
			}
			if next := j.lookAt.Sub(now); c.next == 0 != j.lookAt.IsZero() || c.next != 0 && next != c.next {
				t.Errorf("next look at %v, want %v", next, c.next)
			}
		})
	}
}
