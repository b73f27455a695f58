package qwen_test

import (
	"strings"
	"testing"
	"time"

	"watcher/qwen/qwentest"
)

// resumes counts the requests that take up a stream.
func (s *stage) resumes() (n int) {
	for _, r := range s.site.Requests() {
		if r.Method == "GET" && strings.HasPrefix(r.Path, "/api/v2/chat/completions?") {
			n++
		}
	}
	return n
}

// TestResume: the end of an answer whose stream broke is told, once more, when it
// comes: by the page's own request for the rest if it makes one, else by ours,
// never by two. What was taken up is no answer: the chat is read.
func TestResume(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode     string
		noResume bool
		ended    string // the shape in which the site says that nothing is live
		fault    qwentest.Fault
		tells    int // how often the end is told, at least
		resumes  int
	}{
		"ours":            {"h1", true, "", qwentest.Fault{}, 2, 1},
		"the page's":      {"h2", false, "", qwentest.Fault{}, 2, 1},
		"nothing is live": {"http", true, "error", qwentest.Fault{}, 2, 1},
		"it hangs":        {"h1", true, "", qwentest.Fault{Kind: qwentest.Hang, On: qwentest.OnResume}, 3, 2},
		"a check":         {"http", true, "", qwentest.Fault{Kind: qwentest.Challenge, On: qwentest.OnResume}, 2, 1},
	} {
		if leftOut(name, "ours") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := brisk
			o.NoResume, o.EndedShape = c.noResume, c.ended
			o.ChunkDelay = 60 * time.Millisecond // the answer takes a while after the cut
			if c.ended != "" {
				o.AnswersMaxFrames = 1
			}
			s := onLight(t, c.mode, o)
			if c.fault.Kind != "" {
				s.site.Fault(c.fault)
			}
			before := s.resumes()
			prompt := unique() + "Its stream breaks.\n!rehearsal fault=cut n=3"
			address, message := s.mustSend(t, prompt)
			told := func() (n int) {
				s.mu.Lock()
				defer s.mu.Unlock()
				for _, a := range s.ended {
					if a == address {
						n++
					}
				}
				return n
			}
			for end := time.Now().Add(time.Minute); told() < c.tells; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("the end is told %d times, want %d", told(), c.tells)
				}
			}
			if turn := s.read(t, address, message, ""); c.fault.Kind != qwentest.Challenge && (!turn.Done || turn.Text != qwentest.Answer(prompt)) {
				t.Errorf("when the end is told, the chat shows %d bytes, done %v", len(turn.Text), turn.Done)
			}
			if n := s.resumes() - before; n != c.resumes {
				t.Errorf("the stream was taken up %d times, want %d", n, c.resumes)
			}
		})
	}
}
