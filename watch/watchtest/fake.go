package watchtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"watcher/watch"
)

// Plan is how the fake site treats one send. The zero Plan takes the prompt at
// once and has the whole answer at once.
type Plan struct {
	Before *Fault // refused before the commit
	After  *Fault // refused after the commit; Left is up to the plan

	Lose   bool          // the prompt is lost on its way (with After)
	Late   time.Duration // the site takes the prompt only so long after Send returned
	Takes  time.Duration // Send takes so long before its commit, and again after it
	Think  time.Duration // the answer grows for so long before it is whole
	Stuck  bool          // the answer never becomes whole, and stops growing
	Wakes  time.Duration // with Stuck: it does after all, so long after the site took the prompt
	Fails  *Fault        // reading the answer gives this once the prompt is there, and half of it
	Rename string        // the site stores this text as the message, not the prompt
	Skip   bool          // a broken driver: sends without a commit
	NoID   bool          // the site confirms without naming the message
}

// Fake is a web chat in memory, with a ledger of all that reached it. It is
// safe for concurrent use; the clock is package time's, so it runs under
// testing/synctest.
type Fake struct {
	mu     sync.Mutex
	turns  []*turn
	ledger []Post
	script func(prompt string, nth int) Plan
	owner  string
	down   map[string]error // "owner", "send", "read", "find", "stop" -> error
	calls  map[string]int
	number int
}

// Post is one prompt that the site took.
type Post struct {
	Address, Prompt string
	At              time.Time
	After           string         // the message it follows, in a chat that is continued
	Out             watch.Outgoing // as it was sent
	Files           []string       // what the files held that came with it, in order
}

// turn is one prompt in a chat, and its answer.
type turn struct {
	made    int
	chat    string // its address
	after   string // the answer that it follows
	out     watch.Outgoing
	files   []string
	prompt  string // as sent
	shown   string // as the site shows it
	message string
	plan    Plan
	due     time.Time // when the site takes the prompt
	sent    bool
	gone    bool
	stopped time.Time // zero: it was not
}

// NewFake returns a chat that takes and answers all.
func NewFake() *Fake {
	return &Fake{owner: "0123456789abcdef", down: map[string]error{}, calls: map[string]int{}}
}

var _ watch.Chat = (*Fake)(nil)

// Script sets how sends are treated; nth counts the sends of the same prompt,
// from 1.
func (f *Fake) Script(plan func(prompt string, nth int) Plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = plan
}

// Break makes every call of a method ("owner", "send", "read", "find",
// "stop") fail; nil mends it.
func (f *Fake) Break(method string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down[method] = err
}

// Login changes the account.
func (f *Fake) Login(owner string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.owner = owner
}

// Delete removes a chat from the account.
func (f *Fake) Delete(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.in(address) {
		c.gone = true
	}
}

// Mend lets every chat that was made so far go well from now on.
func (f *Fake) Mend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.turns {
		c.plan.Stuck, c.plan.Fails = false, nil
	}
}

// Calls tells how often a method was called.
func (f *Fake) Calls(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// Accepted lists the prompts that the site took, in order.
func (f *Fake) Accepted() []Post {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.arrive()
	return slices.Clone(f.ledger)
}

// Count tells how often the site took a prompt.
func (f *Fake) Count(prompt string) (n int) {
	for _, p := range f.Accepted() {
		if p.Prompt == prompt {
			n++
		}
	}
	return n
}

// Answer is the fake's answer to a prompt: it names the prompt and has an end.
func Answer(prompt string) string {
	return fmt.Sprintf("# Answer to %s\n\n%d bytes were read.\n\n`end`\n", fingerprint(prompt), len(prompt))
}

func fingerprint(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

func (f *Fake) call(ctx context.Context, method string) error {
	f.calls[method]++
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("fake chat: %s: %w", method, err)
	}
	return f.down[method]
}

// Owner returns the account's id.
func (f *Fake) Owner(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.owner, f.call(ctx, "owner")
}

// Send does what the plan says.
func (f *Fake) Send(ctx context.Context, out watch.Outgoing, commit func(string, string) error) (string, error) {
	f.mu.Lock()
	err := f.call(ctx, "send")
	c, odd := f.make(out)
	f.mu.Unlock()
	switch {
	case err != nil:
		return "", err
	case odd != nil:
		return "", odd
	}
	address, p := c.chat, c.plan
	if err := sleep(ctx, p.Takes); err != nil {
		return "", fmt.Errorf("fake chat: load the page: %w", err)
	}
	if p.Before != nil {
		return "", p.Before
	}
	if !p.Skip {
		if err := commit(address, c.after); err != nil {
			return "", fmt.Errorf("fake chat: send was refused: %w", err)
		}
	}
	if p.After != nil && !p.After.Left {
		return "", p.After
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !p.Lose {
		c.sent, c.due = true, time.Now().Add(p.Late)
	}
	f.arrive()
	if p.After != nil {
		return "", p.After
	}
	return c.said(), f.wait(ctx, p.Takes)
}

// wait is sleep without the lock.
func (f *Fake) wait(ctx context.Context, d time.Duration) error {
	f.mu.Unlock()
	defer f.mu.Lock()
	if err := sleep(ctx, d); err != nil {
		return &Fault{Kind: watch.ClassUnreachable, Text: "fake chat: wait for the answer to begin: " + err.Error(), Left: true}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// make opens a new, empty chat for a prompt, or a place behind the last answer
// of the one that it continues.
func (f *Fake) make(out watch.Outgoing) (*turn, error) {
	f.number++
	c := &turn{made: f.number, out: out, prompt: out.Prompt, shown: out.Prompt,
		chat: fmt.Sprintf("https://chat.example/c/%08x-0000-4000-8000-%012x", f.number, f.number)}
	if out.Chat != "" {
		last := f.last(out.Chat)
		switch {
		case last == nil || last.gone:
			return nil, &Fault{Kind: watch.ClassGone, Text: "fake chat: there is no such chat to continue"}
		case !last.turn().Done:
			return nil, &Fault{Kind: watch.ClassBusy, Text: "fake chat: the chat is in progress"}
		}
		c.chat, c.after = out.Chat, last.answer()
	}
	for _, file := range out.Files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("fake chat: upload: %w", err)
		}
		c.files = append(c.files, string(b))
	}
	nth := 1
	for _, other := range f.turns {
		if other.prompt == out.Prompt {
			nth++
		}
	}
	if f.script != nil {
		c.plan = f.script(out.Prompt, nth)
	}
	if c.plan.Rename != "" {
		c.shown = c.plan.Rename
	}
	f.turns = append(f.turns, c)
	return c, nil
}

// in lists the turns of a chat, those that were never sent, too.
func (f *Fake) in(address string) (list []*turn) {
	for _, c := range f.turns {
		if c.chat == address {
			list = append(list, c)
		}
	}
	return list
}

// last is a chat's last turn that arrived; nil when there is none.
func (f *Fake) last(address string) (last *turn) {
	f.arrive()
	for _, c := range f.in(address) {
		if c.message != "" && (last == nil || !c.due.Before(last.due)) {
			last = c
		}
	}
	return last
}

// answer is the site's id of the turn's answer.
func (c *turn) answer() string { return fmt.Sprintf("answer-%d", c.made) }

func (c *turn) said() string {
	if c.plan.NoID {
		return ""
	}
	return c.message
}

// arrive takes what was on its way, in the order of arrival.
func (f *Fake) arrive() {
	now := time.Now()
	var late []*turn
	for _, c := range f.turns {
		if c.sent && c.message == "" && !c.due.After(now) {
			late = append(late, c)
		}
	}
	slices.SortFunc(late, func(a, b *turn) int {
		if n := a.due.Compare(b.due); n != 0 {
			return n
		}
		return a.made - b.made
	})
	for _, c := range late {
		c.message = fmt.Sprintf("message-%d", c.made)
		f.ledger = append(f.ledger, Post{Address: c.chat, Prompt: c.prompt, At: c.due, After: c.after, Out: c.out, Files: c.files})
	}
}
