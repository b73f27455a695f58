package qwen_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// shapesOfReplies is every reply to a send that is publicly known, with what
// must be made of it. Of all, the prompt may have left: its bytes did.
var shapesOfReplies = []struct {
	fault   qwentest.Fault
	kind    qwen.Kind
	refused bool          // the site said no, in words that are understood
	until   time.Duration // when to come back; 0: it does not say
	says    string        // a word of the sentence
}{
	{qwentest.Fault{Kind: qwentest.Challenge}, qwen.KindChallenge, true, 0, "asks for a person"},
	{qwentest.Fault{Kind: qwentest.CheckOld}, qwen.KindChallenge, true, 0, "asks for a person"},
	{qwentest.Fault{Kind: qwentest.CheckBare}, qwen.KindChallenge, true, 0, "asks for a person"},
	{qwentest.Fault{Kind: qwentest.ChallengeHTML}, qwen.KindChallenge, false, 0, "check"},
	{qwentest.Fault{Kind: qwentest.Quota, N: 5}, qwen.KindQuota, true, 5 * time.Hour, "upper limit"},
	{qwentest.Fault{Kind: qwentest.QuotaText}, qwen.KindQuota, true, 5 * time.Hour, "upper limit"},
	{qwentest.Fault{Kind: qwentest.QuotaNoHours}, qwen.KindQuota, true, 0, "upper limit"},
	{qwentest.Fault{Kind: qwentest.Status, N: 429}, qwen.KindQuota, false, 0, "429"},
	{qwentest.Fault{Kind: qwentest.TokenQuota}, qwen.KindQuota, true, 0, "Allocated quota exceeded"},
	{qwentest.Fault{Kind: qwentest.TokenQuotaTxt}, qwen.KindQuota, true, 0, "Allocated quota exceeded"},
	{qwentest.Fault{Kind: qwentest.Busy}, qwen.KindUnreachable, true, 0, "chat is busy"},
	{qwentest.Fault{Kind: qwentest.BusyCode}, qwen.KindUnreachable, true, 0, "chat is busy"},
	{qwentest.Fault{Kind: qwentest.BusyErrors}, qwen.KindUnreachable, true, 0, "chat is busy"},
	{qwentest.Fault{Kind: qwentest.BusyDeep}, qwen.KindUnreachable, true, 0, "chat is busy"},
	{qwentest.Fault{Kind: qwentest.Ended}, qwen.KindGeneration, true, 0, "request is ended"},
	{qwentest.Fault{Kind: qwentest.Finished}, qwen.KindGeneration, true, 0, "request is finished"},
	{qwentest.Fault{Kind: qwentest.EndedData}, qwen.KindGeneration, true, 0, "request is ended"},
	{qwentest.Fault{Kind: qwentest.Filtered}, qwen.KindFiltered, true, 0, "refuses the text"},
	{qwentest.Fault{Kind: qwentest.Validation}, qwen.KindSiteChanged, true, 0, "doesn't understand the page's request"},
	{qwentest.Fault{Kind: qwentest.Internal}, qwen.KindSiteChanged, true, 0, "version or cookies"},
	{qwentest.Fault{Kind: qwentest.InvalidInput}, qwen.KindSiteChanged, true, 0, "what the page chose"},
	{qwentest.Fault{Kind: qwentest.TooMany}, qwen.KindSiteChanged, true, 0, "one message"},
	{qwentest.Fault{Kind: qwentest.NotFound}, qwen.KindSiteChanged, false, 0, "is not exist"},
	{qwentest.Fault{Kind: qwentest.NoModel}, qwen.KindSiteChanged, true, 0, "Model not found"},
	{qwentest.Fault{Kind: qwentest.Unauthorized}, qwen.KindLogin, true, 0, "Unauthorized"},
	{qwentest.Fault{Kind: qwentest.Unauthorized1}, qwen.KindLogin, true, 0, "401"},
	{qwentest.Fault{Kind: qwentest.TokenExpired}, qwen.KindLogin, true, 0, "TokenExpired"},
	{qwentest.Fault{Kind: qwentest.AuthFailed}, qwen.KindLogin, true, 0, "AuthenticationFailed"},
	{qwentest.Fault{Kind: qwentest.Status, N: 401}, qwen.KindLogin, false, 0, "401"},
	{qwentest.Fault{Kind: qwentest.ServerBusy}, qwen.KindUnreachable, true, 0, "overloaded"},
	{qwentest.Fault{Kind: qwentest.BusyText}, qwen.KindUnreachable, true, 0, "overloaded"},
	{qwentest.Fault{Kind: qwentest.Status, N: 503}, qwen.KindUnreachable, false, 0, "503"},
	{qwentest.Fault{Kind: qwentest.Status, N: 413}, qwen.KindInvalid, false, 0, "too long"},
	{qwentest.Fault{Kind: qwentest.Unknown}, qwen.KindSiteChanged, true, 0, "isn't known"},
	{qwentest.Fault{Kind: qwentest.UnknownError}, qwen.KindSiteChanged, true, 0, "something new"},
	{qwentest.Fault{Kind: qwentest.Strange}, qwen.KindSiteChanged, false, 0, "isn't understood"},
	{qwentest.Fault{Kind: qwentest.Blank}, qwen.KindUnreachable, false, 0, "does not show it"},
	{qwentest.Fault{Kind: qwentest.HalfJSON}, qwen.KindUnreachable, false, 0, "cut or not JSON"},
	{qwentest.Fault{Kind: qwentest.Garbage}, qwen.KindChallenge, false, 0, "page"},
}

// TestEveryShape: each reply to a send has its class, says whether the site
// refused and when to come back, and reads like a sentence. The site has the
// prompt once, and it shows in no chat.
func TestEveryShape(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h1", brisk)
	for _, c := range shapesOfReplies {
		name := string(c.fault.Kind)
		if leftOut(name, "strange") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s.log.to(t)
			s.site.Clear()
			prompt := "The reply is " + name + " " + c.says + ": what is an inode?"
			s.site.Fault(c.fault)
			address, _, err := s.send(t.Context(), prompt)
			t.Logf("%s: %v (%s)", name, err, kind(err))
			refused(c.kind).check(t, s, prompt, err)
			f := fault(err)
			if f == nil || f.Refused() != c.refused || !contains(err, c.says) || f.Hint() == "" {
				t.Fatalf("%v: refused %v, want %v and %q; hint %q", err, f.Refused(), c.refused, c.says, f.Hint())
			}
			if got := time.Until(f.Until()).Round(time.Minute); c.until > 0 && got != c.until || c.until == 0 && !f.Until().IsZero() {
				t.Errorf("until %v, want in %v", f.Until(), c.until)
			}
			if turn, err := s.client.Read(t.Context(), address, "", ""); err != nil || !turn.Empty {
				t.Errorf("the chat: %+v, %v", turn, err)
			}
		})
	}
}

// TestLookalikes: four causes have one stub. The login comes first, then the
// length, then the page's request, and only then the person. What the site makes
// of a header that is left out is its own affair: the stub, a refusal, a page.
func TestLookalikes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A long text of many words. ", 4000)
	challenge := func(s *stage) { s.site.Fault(qwentest.Fault{Kind: qwentest.Challenge}) }
	logOut := func(s *stage) { s.site.LogOut(qwentest.DefaultAccount) }
	for name, c := range map[string]struct {
		prompt string
		omits  string // a header that the page leaves out
		change func(*stage)
		want   outcome
		says   string
	}{
		"a person is wanted": {"Is a person wanted?", "", challenge, refused(qwen.KindChallenge), "asks for a person"},
		"the login is over":  {"Is the login over?", "", logOut, refused(qwen.KindLogin), "401"},
		"the login is over before a chat is made": {"Is the login over already?", "", logOut,
			outcome{kind: qwen.KindLogin}, "401"},
		"the login is over, and it is long": {long + "Is the login over?", "", logOut, refused(qwen.KindLogin), "401"},
		"too long":                          {long, "", func(*stage) {}, refused(qwen.KindInvalid), "108000 characters"},
		"too long, another shape": {long + "!", "", func(s *stage) { s.site.Fault(qwentest.Fault{Kind: qwentest.Internal}) },
			refused(qwen.KindInvalid), "108001 characters"},
		"no source":                 {"Is source left out?", "source", nil, refused(qwen.KindSiteChanged), `no header "source"`},
		"no version":                {"Is Version left out?", "Version", nil, refused(qwen.KindSiteChanged), `no header "Version"`},
		"no request id":             {"Is the id left out?", "X-Request-Id", nil, refused(qwen.KindSiteChanged), `no header "X-Request-Id"`},
		"no content type":           {"Is the type left out?", "Content-Type", nil, refused(qwen.KindSiteChanged), "doesn't understand"},
		"no source, login is over":  {"Is source left out, and the login over?", "source", logOut, refused(qwen.KindLogin), "401"},
		"no source, and it is long": {long + "Is source left out?", "source", nil, refused(qwen.KindInvalid), "too long"},
	} {
		if leftOut(name, "the login is over, and it is long", "no source") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := brisk
			o.Omits = c.omits
			s := onLight(t, "h2", o)
			t.Cleanup(func() {
				if err := s.client.UseToken(context.Background(), s.site.Token()); err != nil {
					t.Error(err)
				}
			})
			at := qwen.StepCommitted
			if !c.want.left {
				at = qwen.StepFilled
			}
			s.onStep(func(step string) {
				if step == at && c.change != nil {
					c.change(s)
				}
			})
			_, _, err := s.send(t.Context(), c.prompt)
			c.want.check(t, s, c.prompt, err)
			// A page in place of a reply says no in no words.
			if !contains(err, c.says) || fault(err).Refused() == (c.omits == "X-Request-Id") {
				t.Errorf("%v does not say %q", err, c.says)
			}
		})
	}
}
