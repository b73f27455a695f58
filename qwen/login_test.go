package qwen_test

import (
	"strings"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// TestLoggedOut: nobody is logged in, in each form in which the site shows it.
// Nothing is sent, least of all as a guest, whose page has a composer too.
func TestLoggedOut(t *testing.T) {
	t.Parallel()
	s := newStage(t, qwentest.ModeHTTPS2, brisk, nil)
	for name, change := range map[string]func(*qwentest.Options){
		"logged out": func(*qwentest.Options) {}, "401 in a body": func(o *qwentest.Options) { o.Auths200 = true },
		"guests only": func(o *qwentest.Options) { o.Guest, o.GuestPopup = true, true }, "a wall": func(o *qwentest.Options) { o.LoginWall = true },
	} {
		o := brisk
		change(&o)
		s.configure(o)
		prompt := "A guest must not send this: " + name
		_, _, err := s.send(t.Context(), prompt)
		outcome{qwen.KindLogin, false, 0, 0}.check(t, s, prompt, err)
		if _, err := s.client.Owner(t.Context()); kind(err) != qwen.KindLogin {
			t.Errorf("%s: Owner: %v", name, err)
		}
	}
	s.configure(brisk)
	for _, k := range []qwentest.Kind{qwentest.Challenge, qwentest.Status, qwentest.Garbage, qwentest.DropRST} {
		s.site.Clear()
		s.site.Fault(qwentest.Fault{Kind: k, On: qwentest.OnAuths, Times: qwentest.Always})
		want := map[qwentest.Kind]qwen.Kind{qwentest.Challenge: qwen.KindChallenge, qwentest.Garbage: qwen.KindSiteChanged}[k]
		if want == "" {
			want = qwen.KindUnreachable
		}
		if _, err := s.client.Owner(t.Context()); kind(err) != want {
			t.Errorf("%s when asked who it is: %v (%s), want %s", k, err, kind(err), want)
		}
	}
	s.site.Clear()
	if err := s.client.UseToken(t.Context(), s.site.ExpiredToken()); kind(err) != qwen.KindLogin {
		t.Errorf("an expired token: %v", err)
	}
	s.login(t)
	s.mustSend(t, "After the login all is well.")
}

// TestLoginEnds: the login ends while chats are open. Reading says so instead
// of taking the site's check for one, and goes on after a new login.
func TestLoginEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t, qwentest.ModeHTTPS1, brisk, nil)
	s.login(t)
	owner, err := s.client.Owner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	prompt := "Read after a change of the password."
	address, message := s.mustSend(t, prompt)
	s.answer(t, address, message)
	s.site.LogOut(qwentest.DefaultAccount)
	for range 2 {
		if turn, err := s.client.Read(t.Context(), address, message, ""); kind(err) != qwen.KindLogin || turn.Empty || turn.Done {
			t.Errorf("%+v, %v", turn, err)
		}
	}
	s.login(t)
	if got := s.answer(t, address, message).Text; got != qwentest.Answer(prompt) {
		t.Errorf("after the login: %q", got)
	}
	if again, err := s.client.Owner(t.Context()); err != nil || again != owner {
		t.Errorf("the owner was %s and is %s: %v", owner, again, err)
	}
}

// TestAnotherAccount has another owner, and can't read the first one's chats.
func TestAnotherAccount(t *testing.T) {
	t.Parallel()
	s := newStage(t, qwentest.ModeHTTP, brisk, nil)
	s.login(t)
	first, err := s.client.Owner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	prompt := "Only for the first account."
	address, message := s.mustSend(t, prompt)
	if err := s.client.UseToken(t.Context(), s.site.TokenFor("other@example.org")); err != nil {
		t.Fatal(err)
	}
	second, err := s.client.Owner(t.Context())
	if err != nil || second == first {
		t.Errorf("owners %s and %s: %v", first, second, err)
	}
	if turn, err := s.client.Read(t.Context(), address, message, ""); err == nil || turn.Empty || turn.Done {
		t.Errorf("the other account reads %+v, %v", turn, err)
	}
	if found, err := s.client.Find(t.Context(), prompt); err != nil || len(found) != 0 {
		t.Errorf("the other account finds %v, %v", found, err)
	}
}

// TestCookies of another browser log in as well as a token.
func TestCookies(t *testing.T) {
	t.Parallel()
	s := newStage(t, qwentest.ModeHTTPS2, brisk, nil)
	foreign := qwen.Cookie{Name: "token", Value: "secret", Domain: "example.org"}
	ours := qwen.Cookie{Name: "token", Value: s.site.Token(), Domain: "127.0.0.1", Path: "/", Secure: true, Expires: time.Now().Add(time.Hour)}
	if err := s.client.UseCookies(t.Context(), []qwen.Cookie{foreign, {Name: "cna", Value: "1", Domain: "127.0.0.1"}}); kind(err) != qwen.KindLogin {
		t.Errorf("without a login: %v", err)
	}
	if err := s.client.UseCookies(t.Context(), []qwen.Cookie{foreign, ours}); err != nil {
		t.Fatal(err)
	}
	s.client.Close()
	if _, err := s.client.Owner(t.Context()); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

// TestLoginWindow: Login returns when somebody is logged in and the site's
// check, if there is one, is solved.
func TestLoginWindow(t *testing.T) {
	t.Setenv("DISPLAY", ":none") // nothing is shown: the client is headless
	s := newStage(t, qwentest.ModeHTTPS2, brisk, nil)
	s.login(t)
	s.site.Fault(qwentest.Fault{Kind: qwentest.ChallengeHTML, On: qwentest.OnList, Times: qwentest.Always})
	done := make(chan error, 1)
	go func() { done <- s.client.Login(t.Context()) }()
	select {
	case err := <-done:
		t.Fatalf("Login returned with the check unsolved: %v", err)
	case <-time.After(4 * time.Second):
	}
	s.site.Clear()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("Login does not return after the check is solved")
	}
}

// TestBrowserDoesNotStart: the error has what the browser said.
func TestBrowserDoesNotStart(t *testing.T) {
	t.Parallel()
	script := t.TempDir() + "/chromium"
	writeScript(t, script, "echo 'starting'; echo '[1:1:FATAL:zygote.cc] No usable sandbox!' >&2; exit 1")
	s := newStage(t, qwentest.ModeHTTP, brisk, func(o *qwen.Options) { o.Browser = script })
	_, _, err := s.send(t.Context(), "Never sent.")
	if kind(err) != qwen.KindBrowser || fault(err).MayHaveLeft() || !contains(err, "No usable sandbox!") ||
		!strings.Contains(fault(err).Hint(), "chromium-sandbox") {
		t.Errorf("%v (%s)", err, fault(err).Hint())
	}
	if _, _, err := s.send(t.Context(), "Never sent either."); kind(err) != qwen.KindBrowser {
		t.Errorf("again: %v", err)
	}
}

// TestWhyNobody: logged out, a guest, ended early and expired have a sentence
// each; a login that ends while the prompt is held is no check of the site's.
func TestWhyNobody(t *testing.T) {
	if leftOut("why nobody is logged in") {
		return // login.txtar has the usual reasons
	}
	t.Parallel()
	s := newStage(t, qwentest.ModeHTTPS2, brisk, nil)
	says := func(change func(*qwentest.Options), want string) {
		t.Helper()
		o := brisk
		change(&o)
		s.configure(o)
		if _, err := s.client.Owner(t.Context()); kind(err) != qwen.KindLogin || !contains(err, want) || !strings.Contains(fault(err).Hint(), "watcher login") {
			t.Errorf("%v (%s), want it to say %q", err, kind(err), want)
		}
	}
	as := func(*qwentest.Options) {}
	says(func(o *qwentest.Options) { o.LoginWall = true }, "asks for a login first")
	says(func(o *qwentest.Options) { o.Auths200 = true }, "page for guests")
	s.configure(brisk)
	s.login(t)
	if n := qwen.ReadLoginNote(s.profile.Dir()); time.Until(n.Expires) < 29*24*time.Hour || n.EndsSoon(time.Now()) || time.Since(n.Seen) > time.Minute {
		t.Errorf("the note says %+v", n)
	}
	s.site.LogOut(qwentest.DefaultAccount)
	says(as, "does not take the login any more, which was to last until")

	o := brisk
	o.TokenLife = 4 * time.Second
	s.configure(o)
	s.login(t)
	ends := qwen.ReadLoginNote(s.profile.Dir()).Expires
	if d := time.Until(ends); d <= 0 || d > 5*time.Second {
		t.Fatalf("the token ends in %v", d)
	}
	s.onStep(func(step string) {
		if step == qwen.StepHeld {
			time.Sleep(time.Until(qwen.ReadLoginNote(s.profile.Dir()).Expires) + time.Second)
		}
	})
	prompt := "The login ends before this is let go."
	_, _, err := s.send(t.Context(), prompt)
	refused(qwen.KindLogin).check(t, s, prompt, err)
	if !contains(err, "the login expired on") {
		t.Errorf("%v", err)
	}
	s.onStep(nil)
	says(as, "nobody is: the login expired on")
	if f := qwen.JudgeLogin(ends, time.Now()); f.Level == qwen.LevelOK {
		t.Errorf("an expired login: %+v", f)
	}
}

// TestForget: after a logout nobody is logged in, and the profile signs as before.
func TestForget(t *testing.T) {
	if leftOut("logout") {
		return // login.txtar has it as a session
	}
	t.Parallel()
	s := newStage(t, qwentest.ModeHTTPS2, brisk, nil)
	s.login(t)
	owner, err := s.client.Owner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.client.Close()
	if err := s.profile.Forget(); err != nil {
		t.Fatal(err)
	}
	if n := qwen.ReadLoginNote(s.profile.Dir()); n != (qwen.LoginNote{}) {
		t.Errorf("the note says %+v", n)
	}
	if _, err := s.client.Owner(t.Context()); kind(err) != qwen.KindLogin {
		t.Errorf("after the logout: %v", err)
	}
	s.login(t)
	if again, err := s.client.Owner(t.Context()); err != nil || again != owner {
		t.Errorf("the owner was %s and is %s: %v", owner, again, err)
	}
}
