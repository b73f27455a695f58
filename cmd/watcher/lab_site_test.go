package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/router/routertest"
	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// The laboratory's chat is a server in the test's process and a driver in the
// program's, so that what the site has outlives every crash of the program.

// labPlan is how the site treats one send; the zero plan takes it and answers
// at once.
type labPlan struct {
	Slow   time.Duration // before it does anything
	Refuse string        // it takes nothing and says this class
	Back   time.Time     // ... and when to come back
	Lose   bool          // it takes nothing and hangs up
	Drop   bool          // it takes the prompt and hangs up
	Late   time.Duration // it takes the prompt only so long after it came
	Think  time.Duration // the answer is whole only so long after that
	Fails  string        // every read says this class
}

// labPost is one prompt that arrived.
type labPost struct {
	Address, After, Prompt string
	Taken                  bool
	Model                  string
	Files                  []string // what was in the files that came with it
}

// labChat is one prompt in a chat, and its answer.
type labChat struct {
	prompt  string
	message string    // "": the site does not have the prompt yet
	due     time.Time // when it has
	plan    labPlan
}

// labSite is the chat's server.
type labSite struct {
	socket  string
	plan    func(prompt string, nth int) labPlan
	onPost  func(labPost)         // called before the prompt is taken
	onRoute func(routertest.Post) // called before another engine answers
	changed func()                // called after anything changed

	router *routertest.Server // another engine, whose ledger goes with the site's

	mu    sync.Mutex
	chats map[string]*labChat // by labPlace
	posts []labPost
	made  int
}

// labPlace is where a prompt stands: a chat, or behind an answer in it.
func labPlace(address, after string) string {
	if after == "" {
		return address
	}
	return address + "#" + after
}

// last is the last prompt that arrived in a chat, and the id of its answer.
func (s *labSite) last(address string) (c *labChat, answer string) {
	for next := s.chats[address]; next != nil && next.has(); next = s.chats[labPlace(address, answer)] {
		c, answer = next, "answer-of-"+next.message
	}
	return c, answer
}

func newLabSite(t testing.TB) *labSite {
	t.Helper()
	dir, err := os.MkdirTemp("", "lab") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &labSite{socket: filepath.Join(dir, "s"), chats: map[string]*labChat{},
		plan: func(string, int) labPlan { return labPlan{} }, onPost: func(labPost) {}, onRoute: func(routertest.Post) {}, changed: func() {},
		router: routertest.New()}
	t.Cleanup(s.router.Close)
	s.router.OnPost = func(p routertest.Post) { s.onRoute(p); s.changed() }
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s
}

// labAsk and labReply are the two lines of one connection.
type labAsk struct {
	Op, Address, After, Prompt, Model string
	Files                             []string
}

type labReply struct {
	Address, After, Message, Class string
	Back                           time.Time
	List                           []string
	Turn                           watch.Turn
}

func (s *labSite) serve(c net.Conn) {
	defer c.Close()
	line, err := bufio.NewReader(c).ReadBytes('\n')
	var ask labAsk
	if err != nil || json.Unmarshal(line, &ask) != nil {
		return // cut on its way: nothing arrived
	}
	r, ok := s.answer(ask)
	if ask.Op == "new" || ask.Op == "post" {
		s.changed()
	}
	if ok {
		_ = json.NewEncoder(c).Encode(r)
	}
}

func (s *labSite) answer(a labAsk) (r labReply, ok bool) {
	switch a.Op {
	case "new":
		s.mu.Lock()
		defer s.mu.Unlock()
		if a.Address != "" {
			return s.goOn(a), true
		}
		s.made++
		r.Address = fmt.Sprintf("https://chat.example/c/%08x-0000-4000-8000-%012x", s.made, s.made)
		s.chats[r.Address] = &labChat{prompt: a.Prompt}
	case "post":
		return s.post(a)
	case "read":
		s.mu.Lock()
		defer s.mu.Unlock()
		r.Turn, r.Class = s.read(a.Address, a.After)
	case "find":
		s.mu.Lock()
		defer s.mu.Unlock()
		for address, c := range s.chats {
			if c.has() && c.prompt == a.Prompt && !strings.Contains(address, "#") {
				r.List = append(r.List, address)
			}
		}
		slices.Sort(r.List)
	}
	return r, true
}

// goOn makes a place behind the last answer of a chat. The attempts at one place
// are one: the site does not know them apart.
func (s *labSite) goOn(a labAsk) labReply {
	c, after := s.last(a.Address)
	switch {
	case c == nil:
		return labReply{Class: watch.ClassGone}
	case time.Now().Before(c.due.Add(c.plan.Think)):
		return labReply{Class: watch.ClassBusy}
	}
	if place := labPlace(a.Address, after); s.chats[place] == nil {
		s.chats[place] = &labChat{prompt: a.Prompt}
	}
	return labReply{Address: a.Address, After: after}
}

func (s *labSite) post(a labAsk) (r labReply, ok bool) {
	s.mu.Lock()
	nth := 1
	for _, p := range s.posts {
		if p.Prompt == a.Prompt {
			nth++
		}
	}
	plan := s.plan(a.Prompt, nth)
	s.mu.Unlock()
	time.Sleep(plan.Slow) // the site's own slowness, which nobody waits for
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[labPlace(a.Address, a.After)]
	if c == nil {
		return labReply{Class: watch.ClassGone}, true
	}
	post := labPost{Address: a.Address, After: a.After, Prompt: a.Prompt, Taken: plan.Refuse == "" && !plan.Lose, Model: a.Model, Files: a.Files}
	s.onPost(post)
	s.posts = append(s.posts, post)
	if !post.Taken {
		return labReply{Class: plan.Refuse, Back: plan.Back}, plan.Refuse != ""
	}
	c.plan, c.message, c.due = plan, fmt.Sprintf("message-%d", len(s.posts)), time.Now().Add(plan.Late)
	return labReply{Message: c.message}, !plan.Drop
}

func (c *labChat) has() bool { return c.message != "" && !time.Now().Before(c.due) }

func (s *labSite) read(address, after string) (t watch.Turn, class string) {
	c := s.chats[labPlace(address, after)]
	if c == nil && s.chats[address] != nil {
		c = &labChat{} // nobody asked for this place so far
	}
	switch {
	case c == nil:
		return t, watch.ClassGone
	case !c.has():
		_, answer := s.last(address)
		return watch.Turn{Empty: answer == after}, "" // what we follow is the last, or nothing is sure
	case c.plan.Fails != "":
		return t, c.plan.Fails
	}
	t = watch.Turn{Message: c.message, Asked: c.due.Unix(), Fingerprint: state.Fingerprint(c.prompt)}
	whole := labAnswer(c.prompt)
	if t.Done = !time.Now().Before(c.due.Add(c.plan.Think)); t.Done {
		t.Text, t.Progress = whole, len(whole)
	} else {
		t.Text, t.Progress = whole[:len(whole)/3], len(whole)/3
	}
	return t, ""
}

// labAnswer is the whole answer to a prompt, a few pages long.
func labAnswer(prompt string) string {
	return watchtest.Answer(prompt) + strings.Repeat("A line of many, so that a part is not the whole.\n", 200) + "The end.\n"
}

// labState is what the site knows at one moment.
type labState struct {
	routed []routertest.Post // what another engine got
	chats  map[string]labChat
	posts  []labPost
	made   int
}

// count is how often a prompt arrived, and how often it was taken.
func (st labState) count(prompt string) (posted, taken int) {
	for _, p := range st.posts {
		if p.Prompt == prompt {
			posted++
			if p.Taken {
				taken++
			}
		}
	}
	return posted, taken
}

// count is how often a prompt has arrived and been taken so far.
func (s *labSite) count(prompt string) (posted, taken int) { return s.save().count(prompt) }

// save is what the site knows now.
func (s *labSite) save() labState {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := labState{routed: s.router.Posts(), chats: map[string]labChat{}, posts: slices.Clone(s.posts), made: s.made}
	for address, c := range s.chats {
		st.chats[address] = *c
	}
	return st
}

// wireChat is the driver that the program uses in the laboratory.
type wireChat struct {
	socket  string
	profile *qwen.Profile
}

// The program is told by its environment where the laboratory's chat is, and
// how long it waits where it cannot tell who writes.
func init() {
	if socket := os.Getenv("WATCHER_TEST_CHAT"); socket != "" {
		testHooks.driver = func(o qwen.Options) driver { return wireChat{socket, o.Profile} }
	}
	if settle, err := time.ParseDuration(os.Getenv("WATCHER_TEST_LEASELESS")); err == nil {
		testHooks.agent = func(c *watch.Config) { c.LeaselessSettle = settle }
	}
}

// Close has no browser to end.
func (w wireChat) Close() {}

// labRefusal is an error that the site itself said.
type labRefusal struct{ watchtest.Fault }

// Refused says that the site did not take the prompt.
func (*labRefusal) Refused() bool { return true }

func (w wireChat) call(ctx context.Context, a labAsk) (r labReply, err error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", w.socket)
	if err == nil {
		defer c.Close()
		stop := context.AfterFunc(ctx, func() { c.Close() })
		defer stop()
		if err = json.NewEncoder(c).Encode(a); err == nil {
			err = json.NewDecoder(c).Decode(&r)
		}
	}
	if err != nil {
		return r, &watchtest.Fault{Kind: watch.ClassUnreachable, Text: "the laboratory's chat: " + err.Error(), Left: true}
	}
	return r, nil
}

func (w wireChat) Owner(context.Context) (string, error) { return w.profile.Owner("somebody") }

func (w wireChat) Send(ctx context.Context, out watch.Outgoing, commit func(string, string) error) (string, error) {
	ask := labAsk{Op: "new", Address: out.Chat, Prompt: out.Prompt, Model: out.Model}
	for _, file := range out.Files {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		ask.Files = append(ask.Files, filepath.Base(file)+": "+string(b))
	}
	r, err := w.call(ctx, ask)
	if err == nil && r.Class != "" {
		return "", &watchtest.Fault{Kind: r.Class, Text: "the laboratory's chat cannot be continued: " + r.Class}
	}
	if err != nil {
		var f *watchtest.Fault
		if errors.As(err, &f) {
			f.Left = false // it is only asked for a chat
		}
		return "", err
	}
	if err := commit(r.Address, r.After); err != nil {
		return "", fmt.Errorf("the laboratory's chat: %w", err)
	}
	ask.Op, ask.Address, ask.After = "post", r.Address, r.After
	r, err = w.call(ctx, ask)
	if err == nil && r.Class != "" {
		err = &labRefusal{watchtest.Fault{Kind: r.Class, Text: "the laboratory's chat refuses: " + r.Class, Left: true, Back: r.Back}}
	}
	return r.Message, err
}

func (w wireChat) Read(ctx context.Context, address, _, after string) (watch.Turn, error) {
	r, err := w.call(ctx, labAsk{Op: "read", Address: address, After: after})
	if err == nil && r.Class != "" {
		err = &watchtest.Fault{Kind: r.Class, Text: "the laboratory's chat: " + r.Class, Left: true}
	}
	return r.Turn, err
}

func (w wireChat) Find(ctx context.Context, prompt string) ([]string, error) {
	r, err := w.call(ctx, labAsk{Op: "find", Prompt: prompt})
	return r.List, err
}

func (w wireChat) Stop(ctx context.Context, address, _ string) error {
	_, err := w.call(ctx, labAsk{Op: "stop", Address: address})
	return err
}
