package watchtest_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"watcher/watch/watchtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func subject(f *watchtest.Fake) watchtest.Subject {
	return watchtest.Subject{
		Chat: f,
		Taken: func() (texts []string) {
			for _, p := range f.Accepted() {
				texts = append(texts, p.Prompt)
			}
			return texts
		},
		Answer:  watchtest.Answer,
		Unknown: "https://chat.example/c/ffffffff-0000-4000-8000-ffffffffffff",
		Every:   time.Millisecond,
	}
}

func TestFakeKeepsTheContract(t *testing.T) {
	watchtest.Run(t, func(*testing.T) watchtest.Subject { return subject(watchtest.NewFake()) })
}

func TestSlowFakeKeepsTheContract(t *testing.T) {
	watchtest.Run(t, func(*testing.T) watchtest.Subject {
		f := watchtest.NewFake()
		f.Script(func(string, int) watchtest.Plan {
			return watchtest.Plan{Takes: time.Millisecond, Think: 10 * time.Millisecond}
		})
		return subject(f)
	})
}
