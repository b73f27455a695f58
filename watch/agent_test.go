package watch_test

import (
	"testing"
	"time"
)

func TestSendsAndCollects(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.prompt", "hello")
		r.running()
		pass(5 * time.Second)
		m := r.marker("a")
		if m.Stage != "sent" || m.Message == "" || m.By != "0123456789abcdef" {
			t.Errorf("marker = %+v", m)
		}
		pass(2 * time.Minute)
		r.answered("a", "hello")
		t.Log(r.log)
	})
}
