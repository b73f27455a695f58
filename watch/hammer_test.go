package watch_test

import (
	"testing"
	"time"

	"watcher/watch"
	"watcher/watch/watchtest"
)

// TestNoHammering: a send that fails after its release for whatever reason, and
// is proved not to have left, is not tried again at once: a site that fares the
// same way every time must not get the prompt again and again.
func TestNoHammering(t *testing.T) {
	for _, class := range []string{watch.ClassGone, watch.ClassAmbiguous, watch.ClassExpired, watch.ClassUnreachable,
		watch.ClassSiteChanged, watch.ClassBrowser, watch.ClassLogin, watch.ClassQuota, "never heard of"} {
		t.Run(class, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.chat.Script(func(string, int) watchtest.Plan {
					return watchtest.Plan{After: fault(class, true), Lose: true}
				})
				r.write("a.prompt", "always refused")
				_, stop := r.start()
				defer stop()
				pass(time.Hour)
				if n := r.chat.Calls("send"); n > 20 {
					t.Errorf("%d sends in an hour", n)
				}
			})
		})
	}
}
