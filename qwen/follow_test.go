package qwen_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// follow sends a prompt that continues a chat, and returns what was committed.
func (s *stage) follow(ctx context.Context, chat, prompt string) (address, after, message string, err error) {
	message, err = s.client.Send(ctx, qwen.Outgoing{Prompt: prompt, Chat: chat}, func(to, behind string) error {
		address, after = to, behind
		return nil
	})
	return address, after, message, err
}

// read looks at a chat once and demands that it can be read.
func (s *stage) read(t *testing.T, address, message, after string) qwen.Turn {
	t.Helper()
	turn, err := s.client.Read(t.Context(), address, message, after)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// answerAfter reads the chat until the answer to a message is whole.
func (s *stage) answerAfter(t *testing.T, address, message, after string) qwen.Turn {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		turn := s.read(t, address, message, after)
		if turn.Done {
			return turn
		}
		if time.Now().After(end) {
			t.Fatalf("no whole answer in time: %+v", turn)
		}
	}
}

// TestFollowUp: several messages in one chat, each behind the answer before, each
// with its own answer, found with and without its id.
func TestFollowUp(t *testing.T) {
	t.Parallel()
	for mode, change := range map[string]func(*qwentest.Options){
		"h1":   func(o *qwentest.Options) { o.HistoryArray, o.KeepFID, o.StaleChat = true, true, 300*time.Millisecond },
		"h2":   func(o *qwentest.Options) { o.URLBefore, o.Virtual, o.LateRender = true, true, 100*time.Millisecond },
		"http": func(o *qwentest.Options) { o.Markup, o.Language = qwentest.MarkupRenamed, "zh-CN" },
	} {
		if leftOut(mode, "h1") {
			continue
		}
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			o := busy()
			change(&o)
			s := onLight(t, mode, o)
			first := unique() + "The first article of a series."
			chat, message := s.mustSend(t, first)
			s.answer(t, chat, message)
			behind := ""
			for i := range 2 {
				prompt := fmt.Sprintf("%sArticle %d, which goes on where the one before ended.", unique(), i+2)
				address, after, message, err := s.follow(t.Context(), chat, prompt)
				if err != nil {
					t.Fatal(err)
				}
				if address != chat || after == "" || after == behind || message == "" {
					t.Errorf("committed %q behind %q as %q, want %q", address, after, message, chat)
				}
				behind = after
				if got := s.answerAfter(t, chat, message, after); got.Text != qwentest.Answer(prompt) || got.Message != message || got.Empty {
					t.Errorf("the answer is %+v", got)
				}
				if got := s.answerAfter(t, chat, "", after); got.Text != qwentest.Answer(prompt) || got.Message != message {
					t.Errorf("without its id: %+v", got)
				}
				e := s.site.Find(prompt)
				if e.Posted != 1 || e.Accepted != 1 || len(e.ChatIDs) != 1 || s.server.URL+"/c/"+e.ChatIDs[0] != chat || len(e.Elsewhere) > 0 {
					t.Errorf("the site has %+v", e)
				}
			}
			if got := s.answerAfter(t, chat, "", ""); got.Text != qwentest.Answer(first) {
				t.Errorf("the first answer is now %+v", got)
			}
			if found, err := s.client.Find(t.Context(), first); err != nil || len(found) != 1 || found[0] != chat {
				t.Errorf("Find: %v, %v", found, err)
			}
		})
	}
}

// TestFollowUpRefused: the page would put the message elsewhere, or the chat went
// on meanwhile. Nothing leaves.
func TestFollowUpRefused(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h2", brisk)
	chat, message := s.mustSend(t, unique()+"A chat to be continued in the wrong way.")
	s.answer(t, chat, message)
	id := chat[len(chat)-36:]
	for name, c := range map[string]struct {
		follows string
		step    string // at which the other client writes
		want    qwen.Kind
	}{
		"a sibling": {"user", "", qwen.KindSiteChanged}, "a new root": {"null", "", qwen.KindSiteChanged},
		"half a place": {"half", "", qwen.KindSiteChanged}, "another chat": {"new", "", qwen.KindSiteChanged},
		"another address": {"moves", "", qwen.KindSiteChanged},
		"it moves on":     {"", qwen.StepFilled, qwen.KindBusy}, "it moves on early": {"", qwen.StepLoaded, qwen.KindBusy},
	} {
		if leftOut(name, "a sibling") {
			continue
		}
		o := brisk
		o.Follows = c.follows
		s.configure(o)
		s.onStep(func(step string) {
			if step == c.step && !s.site.Say(id, "Another client's message: "+name) {
				t.Error("the site has no such chat")
			}
		})
		prompt := unique() + "It must not leave, for " + name + "."
		_, _, _, err := s.follow(t.Context(), chat, prompt)
		s.onStep(nil)
		if e := s.site.Find(prompt); kind(err) != c.want || fault(err).MayHaveLeft() || e.Posted != 0 || len(e.Elsewhere) > 0 {
			t.Errorf("%s: %v, want %q; %+v", name, err, c.want, e)
		}
	}
	o := brisk
	s.configure(o)
	prompt := unique() + "In the end it is continued."
	for end := time.Now().Add(time.Minute); ; {
		_, after, message, err := s.follow(t.Context(), chat, prompt)
		if kind(err) == qwen.KindBusy && time.Now().Before(end) { // the other client's answer is on its way
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := s.answerAfter(t, chat, message, after); got.Text != qwentest.Answer(prompt) {
			t.Errorf("the answer is %+v", got)
		}
		return
	}
}

// TestFollowUpNotNow: a chat that is not at rest makes only that message wait; one
// that nothing can follow says so. Nothing leaves.
func TestFollowUpNotNow(t *testing.T) {
	if leftOut(t.Name()) {
		return
	}
	t.Parallel()
	s := onLight(t, "h1", brisk)
	for name, c := range map[string]struct {
		want qwen.Kind
		says string
	}{
		"fault=stuck": {qwen.KindBusy, "not whole yet"}, "fault=continue n=3": {qwen.KindBusy, "length limit"},
		"fault=stream-error": {qwen.KindInvalid, "failed or was stopped"}, "fault=gone delay=1ms": {qwen.KindGone, "is not exist"},
		"fault=empty": {qwen.KindBusy, "no whole text"}, "fault=dual": {qwen.KindBusy, "which of two"},
	} {
		if leftOut(name, "fault=stuck", "fault=gone delay=1ms", "fault=stream-error") {
			continue
		}
		chat, _ := s.mustSend(t, unique()+"A chat that can't be continued.\n!rehearsal "+name)
		prompt := unique() + "It must not leave yet, because of " + name + "."
		var err error
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			if _, _, _, err = s.follow(t.Context(), chat, prompt); contains(err, c.says) || kind(err) != qwen.KindBusy {
				break
			}
		}
		if e := s.site.Find(prompt); kind(err) != c.want || !contains(err, c.says) || fault(err).MayHaveLeft() || e.Posted != 0 || fault(err).Hint() == "" {
			t.Errorf("%s: %v (%s), want %q and %q; %+v", name, err, kind(err), c.want, c.says, e)
		}
	}
	for address, want := range map[string]qwen.Kind{
		s.server.URL + "/c/00000000-0000-4000-8000-000000000000":           qwen.KindGone,
		"https://elsewhere.example/c/00000000-0000-4000-8000-000000000000": qwen.KindInvalid,
		"file:///etc/passwd": qwen.KindInvalid,
	} {
		if _, _, _, err := s.follow(t.Context(), address, "Nowhere."); kind(err) != want || s.site.Find("Nowhere.").Posted != 0 {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	if !*every {
		return
	}
	var empty string
	refusal := errors.New("no")
	if _, err := s.client.Send(t.Context(), qwen.Outgoing{Prompt: unique() + "never"}, func(a, _ string) error { empty = a; return refusal }); !errors.Is(err, refusal) {
		t.Fatal(err)
	}
	if _, _, _, err := s.follow(t.Context(), empty, "Nowhere."); kind(err) != qwen.KindInvalid {
		t.Errorf("an empty chat: %v", err)
	}
}

// TestFollowUpLeaves: a follow-up that was refused proves to be absent by the place
// that it would have; one that was sent does not, whatever its text.
func TestFollowUpLeaves(t *testing.T) {
	if leftOut(t.Name()) {
		return
	}
	t.Parallel()
	s := onLight(t, "http", brisk)
	chat, message := s.mustSend(t, unique()+"A chat to be continued, or not.")
	s.answer(t, chat, message)
	no, after := errors.New("the folder says no"), ""
	prompt := unique() + "It is refused first."
	_, err := s.client.Send(t.Context(), qwen.Outgoing{Prompt: prompt, Chat: chat}, func(_, a string) error { after = a; return no })
	if !errors.Is(err, no) || fault(err).MayHaveLeft() || s.site.Find(prompt).Posted != 0 {
		t.Fatalf("%v, %+v", err, s.site.Find(prompt))
	}
	if turn := s.read(t, chat, "", after); !turn.Empty || turn.Message != "" {
		t.Errorf("refused: %+v", turn)
	}
	if turn := s.read(t, chat, "", "00000000-0000-4000-8000-000000000000"); turn.Empty {
		t.Errorf("behind a message that is not there: %+v", turn)
	}
	if turn := s.read(t, chat, "", ""); turn.Empty {
		t.Errorf("as a new chat: %+v", turn)
	}
	if _, again, _, err := s.follow(t.Context(), chat, prompt); err != nil || again != after {
		t.Fatalf("behind %q, then %q: %v", after, again, err)
	}
	if turn := s.read(t, chat, "", after); turn.Empty || turn.Message == "" {
		t.Errorf("sent: %+v", turn)
	}
}

// TestFollowUpOneDelivery: the connection breaks right after a follow-up.
func TestFollowUpOneDelivery(t *testing.T) {
	if leftOut(t.Name()) {
		return
	}
	t.Parallel()
	for name := range modes {
		for _, k := range []qwentest.Kind{qwentest.DropRST, qwentest.DropFIN, qwentest.LoseRST, qwentest.RefuseStream, qwentest.GoAway} {
			if leftOut(name+string(k), "h2"+string(qwentest.DropRST)) {
				continue
			}
			t.Run(name+"/"+string(k), func(t *testing.T) {
				t.Parallel()
				s := onShared(t, name, busy())
				chat, message := s.mustSend(t, unique()+"A chat whose connection will break.")
				s.answer(t, chat, message)
				prompt := unique() + "A follow-up over " + name + " and " + string(k) + "."
				s.site.Fault(qwentest.Fault{Kind: k, Match: prompt, Times: qwentest.Always})
				_, after, _, err := s.follow(t.Context(), chat, prompt)
				e := s.site.Find(prompt)
				if f := fault(err); f == nil || !f.MayHaveLeft() || e.Posted != 1 {
					t.Fatalf("%v, %+v", err, e)
				}
				s.site.Clear()
				turn := s.read(t, chat, "", after)
				if turn.Empty != (e.Accepted == 0) {
					t.Errorf("accepted %d, and the chat shows %+v", e.Accepted, turn)
				}
				if e.Accepted == 1 {
					if got := s.answerAfter(t, chat, "", after).Text; got != qwentest.Answer(prompt) {
						t.Errorf("the answer differs: %q", got)
					}
				}
			})
		}
	}
}

// TestFollowUpCrash: the browser dies at each step of a follow-up. What Send says
// agrees with what the site has, the chat shows whether it left, and the next
// follow-up works.
func TestFollowUpCrash(t *testing.T) {
	if leftOut(t.Name()) {
		return
	}
	t.Parallel()
	s := onShared(t, "h1", busy())
	s.client.Close() // in order: Chromium writes its cookies half a minute late, or then
	chat, message := s.mustSend(t, unique()+"A chat in which the browser dies.")
	s.answer(t, chat, message)
	s.client.Close()
	for _, step := range qwen.Steps {
		if leftOut(step, qwen.StepReleased) {
			continue
		}
		prompt := unique() + "A follow-up that dies at the step " + step + "."
		reached := false
		s.onStep(func(name string) {
			if name == step {
				reached = true
				s.killBrowser(t)
			}
		})
		address, after, message, err := s.follow(t.Context(), chat, prompt)
		s.onStep(nil)
		if !reached {
			t.Fatalf("%s is not reached: %v", step, err)
		}
		t.Logf("%s: %v", step, err)
		s.consistent(t, prompt, address, message, err)
		e := s.site.Find(prompt)
		if after == "" {
			continue
		}
		var turn qwen.Turn
		for end := time.Now().Add(time.Minute); time.Now().Before(end); { // the browser may die only now
			if turn, err = s.client.Read(t.Context(), chat, "", after); err == nil {
				break
			}
		}
		if err != nil || turn.Empty != (e.Accepted == 0) {
			t.Errorf("%s: accepted %d, and the chat shows %+v, %v", step, e.Accepted, turn, err)
		}
		if e.Accepted == 1 {
			s.answerAfter(t, chat, "", after)
		}
	}
	prompt := unique() + "After the last crash the chat is continued."
	_, after, message, err := s.follow(t.Context(), chat, prompt)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.answerAfter(t, chat, message, after).Text; got != qwentest.Answer(prompt) {
		t.Errorf("the answer differs: %q", got)
	}
}
