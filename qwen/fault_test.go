package qwen_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// outcome is what Send must say of a fault, and what the site must have.
type outcome struct {
	kind     qwen.Kind // "": success
	left     bool
	posted   int
	accepted int
}

// refused is what becomes of a send that the site answers with a refusal.
func refused(kind qwen.Kind) outcome { return outcome{kind, true, 1, 0} }

var success = outcome{"", false, 1, 1}

// check compares a send's end with what was wanted.
func (want outcome) check(t *testing.T, s *stage, prompt string, err error) {
	t.Helper()
	e := s.site.Find(prompt)
	if kind(err) != want.kind || e.Posted != want.posted || e.Accepted != want.accepted {
		t.Errorf("%v (%s), posted %d, accepted %d; want %+v", err, kind(err), e.Posted, e.Accepted, want)
	}
	if f := fault(err); f != nil && f.MayHaveLeft() != want.left {
		t.Errorf("%v says that it may have left: %v", err, f.MayHaveLeft())
	}
}

// TestFaultsOnSend is every fault that the site can show when the prompt
// comes, but those of TestOneDelivery.
func TestFaultsOnSend(t *testing.T) {
	t.Parallel()
	lost := outcome{qwen.KindUnreachable, true, 1, 1}
	notTaken := outcome{qwen.KindUnreachable, true, 1, 0}
	unread := outcome{qwen.KindUnreachable, true, 0, 0}
	for i, c := range []struct {
		fault qwentest.Fault
		want  outcome
	}{
		{qwentest.Fault{Kind: qwentest.LoseRST}, notTaken}, {qwentest.Fault{Kind: qwentest.LoseFIN}, notTaken},
		{qwentest.Fault{Kind: qwentest.UnreadRST}, unread}, {qwentest.Fault{Kind: qwentest.UnreadFIN}, unread},
		{qwentest.Fault{Kind: qwentest.PartialRST}, unread}, {qwentest.Fault{Kind: qwentest.PartialFIN}, unread},
		{qwentest.Fault{Kind: qwentest.HeadersRST}, success},
		{qwentest.Fault{Kind: qwentest.Cut}, success}, {qwentest.Fault{Kind: qwentest.CutRST, N: 1}, success},
		{qwentest.Fault{Kind: qwentest.Hang}, notTaken}, {qwentest.Fault{Kind: qwentest.Hang, Take: true}, lost},
		{qwentest.Fault{Kind: qwentest.Slow, Delay: 300 * time.Millisecond}, success}, {qwentest.Fault{Kind: qwentest.Open}, success},
		{qwentest.Fault{Kind: qwentest.Status, N: 503}, refused(qwen.KindUnreachable)},
		{qwentest.Fault{Kind: qwentest.Status, N: 503, Take: true}, lost},
		{qwentest.Fault{Kind: qwentest.Status, N: 307}, notTaken}, {qwentest.Fault{Kind: qwentest.Status, N: 308}, notTaken},
		{qwentest.Fault{Kind: qwentest.Status, N: 408}, refused(qwen.KindUnreachable)},
		{qwentest.Fault{Kind: qwentest.Status, N: 425}, refused(qwen.KindUnreachable)},
		{qwentest.Fault{Kind: qwentest.Status, N: 429}, refused(qwen.KindQuota)},
		{qwentest.Fault{Kind: qwentest.Status, N: 401}, refused(qwen.KindLogin)},
		{qwentest.Fault{Kind: qwentest.Status, N: 404}, refused(qwen.KindSiteChanged)},
		{qwentest.Fault{Kind: qwentest.Status, N: 413}, refused(qwen.KindInvalid)},
		{qwentest.Fault{Kind: qwentest.Quota, N: 5}, refused(qwen.KindQuota)}, {qwentest.Fault{Kind: qwentest.TokenQuota}, refused(qwen.KindQuota)},
		{qwentest.Fault{Kind: qwentest.Challenge}, refused(qwen.KindChallenge)}, {qwentest.Fault{Kind: qwentest.ChallengeHTML}, refused(qwen.KindChallenge)},
		{qwentest.Fault{Kind: qwentest.Challenge, Take: true}, outcome{qwen.KindChallenge, true, 1, 1}},
		{qwentest.Fault{Kind: qwentest.Busy}, refused(qwen.KindUnreachable)}, {qwentest.Fault{Kind: qwentest.ServerBusy}, refused(qwen.KindUnreachable)},
		{qwentest.Fault{Kind: qwentest.Unauthorized}, refused(qwen.KindLogin)}, {qwentest.Fault{Kind: qwentest.Internal}, refused(qwen.KindSiteChanged)},
		{qwentest.Fault{Kind: qwentest.Garbage}, refused(qwen.KindChallenge)}, {qwentest.Fault{Kind: qwentest.NotFound}, refused(qwen.KindSiteChanged)},
	} {
		name := string(c.fault.Kind)
		if c.fault.Kind == qwentest.Status {
			name += " " + strconv.Itoa(c.fault.N)
		}
		if c.fault.Take {
			name += ", taken"
		}
		if leftOut(name, "unread-fin", "headers-rst", "hang, taken", "status 503, taken", "status 307", "quota",
			"challenge, taken", "garbage", "unauthorized") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onLight(t, []string{"h1", "h2", "http"}[i%3], brisk)
			prompt := "The fault " + name + ": what is a journal?"
			c.fault.Times = qwentest.Always
			s.site.Fault(c.fault)
			_, _, err := s.send(t.Context(), prompt)
			c.want.check(t, s, prompt, err)
			if c.fault.Kind == qwentest.Quota && time.Until(fault(err).Until()) < 4*time.Hour {
				t.Errorf("until %v", fault(err).Until())
			}
		})
	}
}

// TestErrorShapes: the site's refusals as JSON, as raw JSON in a stream, and
// framed.
func TestErrorShapes(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"raw", "framed"} {
		for k, want := range map[qwentest.Kind]qwen.Kind{qwentest.Quota: qwen.KindQuota, qwentest.Challenge: qwen.KindChallenge, qwentest.Busy: qwen.KindUnreachable} {
			name := shape + "/" + string(k)
			if leftOut(name, "framed/busy") {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o := brisk
				o.ErrorShape = shape
				s := onLight(t, "h2", o)
				prompt := "A refusal, " + shape + " " + string(k) + ", for this prompt."
				s.site.Fault(qwentest.Fault{Kind: k})
				_, _, err := s.send(t.Context(), prompt)
				refused(want).check(t, s, prompt, err)
			})
		}
	}
}

// TestFaultsOnNewChat: nothing has left, and the class is right.
func TestFaultsOnNewChat(t *testing.T) {
	t.Parallel()
	for k, want := range map[qwentest.Kind]qwen.Kind{
		qwentest.DropRST: qwen.KindUnreachable, qwentest.Status: qwen.KindUnreachable, qwentest.Quota: qwen.KindQuota,
		qwentest.TokenQuota: qwen.KindQuota, qwentest.Challenge: qwen.KindChallenge, qwentest.ChallengeHTML: qwen.KindChallenge,
		qwentest.Busy: qwen.KindUnreachable, qwentest.ServerBusy: qwen.KindUnreachable, qwentest.Unauthorized: qwen.KindLogin,
		qwentest.Internal: qwen.KindSiteChanged, qwentest.Garbage: qwen.KindSiteChanged, qwentest.NotFound: qwen.KindSiteChanged,
	} {
		if leftOut(string(k), string(qwentest.DropRST), string(qwentest.ChallengeHTML), string(qwentest.Unauthorized)) {
			continue
		}
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			s := onLight(t, "h2", brisk)
			prompt := "No new chat because of " + string(k) + ", so this stays here."
			s.site.Fault(qwentest.Fault{Kind: k, On: qwentest.OnNew, Times: qwentest.Always})
			_, _, err := s.send(t.Context(), prompt)
			outcome{want, false, 0, 0}.check(t, s, prompt, err)
		})
	}
	t.Run("hang", func(t *testing.T) {
		t.Parallel()
		s := onLight(t, "h2", brisk)
		prompt := "No new chat as the site hangs, so this stays here."
		s.site.Fault(qwentest.Fault{Kind: qwentest.Hang, On: qwentest.OnNew, Times: qwentest.Always})
		ctx, cancel := context.WithCancel(t.Context())
		s.onStep(func(name string) {
			if name == qwen.StepPressed {
				time.AfterFunc(500*time.Millisecond, cancel)
			}
		})
		_, _, err := s.send(ctx, prompt)
		outcome{qwen.KindUnreachable, false, 0, 0}.check(t, s, prompt, err)
	})
}

// TestFaultsOnPage: the page itself doesn't come, or is another one.
func TestFaultsOnPage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault qwentest.Fault
		want  outcome
	}{
		"reset":                {qwentest.Fault{Kind: qwentest.DropRST}, outcome{kind: qwen.KindUnreachable}},
		"503":                  {qwentest.Fault{Kind: qwentest.Status, N: 503}, outcome{kind: qwen.KindUnreachable}},
		"429":                  {qwentest.Fault{Kind: qwentest.Status, N: 429}, outcome{kind: qwen.KindQuota}},
		"a check":              {qwentest.Fault{Kind: qwentest.ChallengeHTML}, outcome{kind: qwen.KindChallenge}},
		"a check, clears soon": {qwentest.Fault{Kind: qwentest.ChallengeHTML, Delay: 300 * time.Millisecond, Times: 1}, success},
		"hang":                 {qwentest.Fault{Kind: qwentest.Hang}, outcome{kind: qwen.KindUnreachable}},
	} {
		if leftOut(name, "503", "a check, clears soon", "hang") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onLight(t, "http", brisk)
			prompt := "The page shows " + name + " to this prompt."
			c.fault.On = qwentest.OnPage
			if c.fault.Times == 0 {
				c.fault.Times = qwentest.Always
			}
			s.site.Fault(c.fault)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.fault.Kind == qwentest.Hang {
				time.AfterFunc(2*time.Second, cancel)
			}
			_, _, err := s.send(ctx, prompt)
			c.want.check(t, s, prompt, err)
		})
	}
}

// TestFaultsOnRead: no fault of a read is taken for an empty or a finished
// chat, each is of the right class, and none keeps the client long.
func TestFaultsOnRead(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h1", brisk)
	prompt := "A chat that is read in bad weather."
	address, message := s.mustSend(t, prompt)
	s.answer(t, address, message)
	s.mustSend(t, "Another chat of the account, for the fault that shows it.")
	for _, c := range []struct {
		fault qwentest.Fault
		want  qwen.Kind
	}{
		{qwentest.Fault{Kind: qwentest.DropRST}, qwen.KindUnreachable}, {qwentest.Fault{Kind: qwentest.Hang}, qwen.KindUnreachable},
		{qwentest.Fault{Kind: qwentest.Status, N: 503}, qwen.KindUnreachable}, {qwentest.Fault{Kind: qwentest.Status, N: 429}, qwen.KindQuota},
		{qwentest.Fault{Kind: qwentest.Status, N: 401}, qwen.KindLogin}, {qwentest.Fault{Kind: qwentest.Status, N: 404}, qwen.KindGone},
		{qwentest.Fault{Kind: qwentest.Quota}, qwen.KindQuota}, {qwentest.Fault{Kind: qwentest.Challenge}, qwen.KindChallenge},
		{qwentest.Fault{Kind: qwentest.ChallengeHTML}, qwen.KindChallenge}, {qwentest.Fault{Kind: qwentest.Busy}, qwen.KindUnreachable},
		{qwentest.Fault{Kind: qwentest.ServerBusy}, qwen.KindUnreachable}, {qwentest.Fault{Kind: qwentest.Unauthorized}, qwen.KindLogin},
		{qwentest.Fault{Kind: qwentest.Internal}, qwen.KindSiteChanged}, {qwentest.Fault{Kind: qwentest.Garbage}, qwen.KindSiteChanged},
		{qwentest.Fault{Kind: qwentest.NotFound}, qwen.KindGone}, {qwentest.Fault{Kind: qwentest.WrongChat}, qwen.KindUnreachable},
		{qwentest.Fault{Kind: qwentest.Slow, Delay: 200 * time.Millisecond}, ""},
	} {
		s.site.Clear()
		c.fault.On, c.fault.Times = qwentest.OnChat, qwentest.Always
		s.site.Fault(c.fault)
		begin := time.Now()
		turn, err := s.client.Read(t.Context(), address, message, "")
		if kind(err) != c.want || turn.Empty || (err != nil && (turn.Done || fault(err).MayHaveLeft())) {
			t.Errorf("%s: %+v, %v (%s), want %q", c.fault.Kind, turn, err, kind(err), c.want)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("%s: took %v", c.fault.Kind, took)
		}
	}
	s.site.Clear()
	if got := s.answer(t, address, message).Text; got != qwentest.Answer(prompt) {
		t.Errorf("after all: %q", got)
	}
}

// TestGenerations: what becomes of an answer. All prompts are sent first, then
// read until nothing changes any more.
func TestGenerations(t *testing.T) {
	t.Parallel()
	s := onLight(t, "http", brisk)
	for fault, want := range map[string]struct {
		done bool
		kind qwen.Kind
	}{
		"cut n=3": {true, ""}, "cut-rst n=1": {true, ""}, "headers-rst": {true, ""}, "dual": {true, ""}, "pause delay=100ms": {true, ""}, "open": {true, ""},
		"stuck": {false, ""}, "killed": {false, ""}, "empty": {false, ""}, "thinking-only": {false, ""},
		"inspect": {false, qwen.KindFiltered}, "stream-error": {false, qwen.KindGeneration}, "continue": {false, qwen.KindGeneration},
	} {
		if leftOut(fault, "cut n=3", "stuck", "empty", "inspect", "continue") {
			continue
		}
		t.Run(fault, func(t *testing.T) {
			s.log.to(t)
			prompt := "Answer with trouble.\n!rehearsal fault=" + fault
			address, message := s.mustSend(t, prompt)
			var turn qwen.Turn
			var err error
			for same := 0; same < 15; time.Sleep(20 * time.Millisecond) {
				before := turn.Progress
				turn, err = s.client.Read(t.Context(), address, message, "")
				if turn.Empty || turn.Message == "" {
					t.Fatalf("%+v, %v", turn, err)
				}
				if same++; turn.Progress != before {
					same = 0
				}
				if turn.Done || err != nil {
					break
				}
			}
			if turn.Done != want.done || kind(err) != want.kind {
				t.Errorf("%+v, %v; want done %v, %q", turn, err, want.done, want.kind)
			}
			if turn.Done && turn.Text != qwentest.Answer(prompt) {
				t.Errorf("the answer differs: %q", turn.Text)
			}
		})
	}
}

// TestAnswersOfEveryForm: a search, an image, and a text that comes when the
// answer is called done.
func TestAnswersOfEveryForm(t *testing.T) {
	t.Parallel()
	s := newStage(t, qwentest.ModeHTTPS1, brisk, func(o *qwen.Options) { o.Sources = true })
	s.login(t)
	found := "\n\n## Sources\n\n1. [The first page](<https://example.org/one>)\n2. [The \\[second\\] page](<https://example.org/two?a=1&b=2>)"
	for directive, c := range map[string]struct{ before, after string }{
		"answer=search fault=late-text delay=1s": {"", found},
		"answer=image":                           {"![](" + qwentest.ImageURL + ")\n\n", ""},
		"answer=long fault=late-text delay=1s":   {"", ""},
	} {
		if leftOut(directive, "answer=search fault=late-text delay=1s") {
			continue
		}
		prompt := "An answer of its own form.\n!rehearsal " + directive
		address, message := s.mustSend(t, prompt)
		if got := s.answer(t, address, message).Text; got != c.before+qwentest.Answer(prompt)+c.after {
			t.Errorf("%s: %d bytes: %.100q ... %q", directive, len(got), got, got[max(0, len(got)-200):])
		}
	}
}

// TestLateAndGone: a message that shows late, and a chat that is deleted.
func TestLateAndGone(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h2", brisk)
	address, message := s.mustSend(t, "Shown late.\n!rehearsal fault=late delay=1h")
	if turn, err := s.client.Read(t.Context(), address, message, ""); err != nil || !turn.Empty {
		t.Errorf("before it shows: %+v, %v", turn, err)
	}
	address, message = s.mustSend(t, "Deleted at once.\n!rehearsal fault=gone delay=1ms")
	if turn, err := s.client.Read(t.Context(), address, message, ""); kind(err) != qwen.KindGone || turn.Empty {
		t.Errorf("a deleted chat: %+v, %v", turn, err)
	}
}

// TestEnded: the hook is called when an answer's stream ends, so that the chat
// can be read at once.
func TestEnded(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h1", brisk)
	for _, prompt := range []string{"An ordinary end.", "The stream stays open.\n!rehearsal fault=open", "Cut in the middle.\n!rehearsal fault=cut n=3"} {
		address, _ := s.mustSend(t, prompt)
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			s.mu.Lock()
			ended := len(s.ended) > 0 && s.ended[len(s.ended)-1] == address
			s.mu.Unlock()
			if ended {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%.20q: the end is not told", prompt)
			}
		}
	}
}
