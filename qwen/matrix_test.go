package qwen_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// The network matrix: make test runs the cases that matrixShort names, -every
// a choice of matrixEvery, -matrix all of them.
var (
	matrix     = flag.Bool("matrix", false, "the whole network matrix, and nothing less")
	matrixSeed = flag.Uint64("seed", 1, "of the choice from the network matrix that -every makes")
)

const matrixEvery = 24

var matrixShort = []string{"h2 refuse-stream taken reused busy", "h2 status 421 taken reused busy", "h1 partial-slow reused busy"}

// weather is one case: what goes wrong on the way, over which protocol, with
// which habits of the site and its page.
type weather struct {
	protocol string // h1 or h2
	fault    qwentest.Fault
	fresh    bool // every connection serves one request
	busy     bool // the page goes on asking for things
	sent     bool // Send must succeed: the site's headers came
	doubt    bool // Send must say that the prompt may have left
}

func (w weather) name() string {
	words := []string{w.protocol, string(w.fault.Kind)}
	if w.fault.Kind == qwentest.Status {
		words = append(words, fmt.Sprint(w.fault.N))
	}
	for _, one := range []struct {
		is      bool
		yes, no string
	}{{w.fault.Take, "taken", ""}, {w.fresh, "fresh", "reused"}, {w.busy, "busy", "quiet"}} {
		if one.is {
			words = append(words, one.yes)
		} else if one.no != "" {
			words = append(words, one.no)
		}
	}
	return strings.Join(words, " ")
}

// place is a place on the way of a send, with the kinds that strike there: a
// reset, an orderly end, silence for ever, silence for a while.
type place struct {
	kinds [4]qwentest.Kind
	sent  bool // the headers are out
}

var places = []place{
	{[4]qwentest.Kind{qwentest.UnreadRST, qwentest.UnreadFIN, qwentest.UnreadHang, qwentest.UnreadSlow}, false},
	{[4]qwentest.Kind{qwentest.PartialRST, qwentest.PartialFIN, qwentest.PartialHang, qwentest.PartialSlow}, false},
	{[4]qwentest.Kind{qwentest.DropRST, qwentest.DropFIN, qwentest.Hang, qwentest.Slow}, false},
	{[4]qwentest.Kind{qwentest.HeadersRST, qwentest.HeadersFIN, qwentest.HeadersHang, qwentest.HeadersSlow}, true},
	{[4]qwentest.Kind{qwentest.CutRST, qwentest.Cut, qwentest.CutHang, qwentest.CutSlow}, true},
}

// weathers is the whole table. Of the four habits each case of the first part
// has two, in turn, so that each pair of fault and habit occurs.
func weathers() (all []weather) {
	for p, place := range places {
		for k, kind := range place.kinds {
			for i, protocol := range []string{"h1", "h2"} {
				fault := qwentest.Fault{Kind: kind, Take: kind == qwentest.Hang, Delay: 400 * time.Millisecond}
				one := weather{protocol: protocol, fault: fault, busy: true, sent: place.sent, doubt: !place.sent && k < 3}
				other := one
				other.fresh = (p+k+i)%2 == 0
				other.busy = other.fresh
				if other.fresh && protocol == "h2" {
					// A server that ends each connection of h2 refuses what the page
					// asks meanwhile, a new chat for instance: then nothing leaves.
					other.sent, other.doubt = false, false
				}
				all = append(all, one, other)
			}
		}
	}
	for _, protocol := range []string{"h1", "h2"} {
		for _, status := range []int{307, 308, 408, 421, 425, 429, 500, 502, 503} {
			for _, take := range []bool{false, true} {
				all = append(all, weather{protocol: protocol, busy: true, fault: qwentest.Fault{Kind: qwentest.Status, N: status, Take: take}, doubt: true})
			}
		}
	}
	for _, fresh := range []bool{false, true} {
		for _, take := range []bool{false, true} {
			for _, kind := range []qwentest.Kind{qwentest.GoAway, qwentest.RefuseStream} {
				all = append(all, weather{protocol: "h2", busy: true, fresh: fresh, fault: qwentest.Fault{Kind: kind, Take: take}, doubt: !fresh})
			}
		}
		all = append(all, weather{protocol: "h2", busy: true, fresh: fresh, fault: qwentest.Fault{Kind: qwentest.GoAwayDone}, sent: !fresh})
	}
	return all
}

// chosen are the cases that the flags ask for.
func chosen() []weather {
	all := weathers()
	if *matrix {
		return all
	}
	if *every {
		rand.New(rand.NewPCG(*matrixSeed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all[:matrixEvery]
	}
	return slices.DeleteFunc(all, func(w weather) bool { return !slices.Contains(matrixShort, w.name()) })
}

// tally counts what became of the cases.
type tally struct {
	mu sync.Mutex

	cases, sent      int
	posted, accepted int
	unread           int // of a body that the site did not read
	used             int // over a connection that had served something before
	lost, twice      int
}

// TestNetwork: whatever the network does to a send, the site gets the prompt at
// most once, exactly once when Send says so; Send never promises in vain that
// nothing left; and what was accepted is answered.
func TestNetwork(t *testing.T) {
	t.Parallel()
	var count tally
	cases := map[string][]weather{}
	for _, w := range chosen() {
		cases[w.protocol] = append(cases[w.protocol], w)
	}
	t.Run("all", func(t *testing.T) {
		for protocol, list := range cases {
			t.Run(protocol, func(t *testing.T) {
				t.Parallel()
				s := weatherStage(t, protocol)
				var prompts []string
				for _, w := range list {
					t.Run(w.name(), func(t *testing.T) {
						s.log.to(t)
						prompts = append(prompts, s.brave(t, w, &count))
					})
				}
				s.log.to(t)
				s.neverTwice(t, prompts, &count)
			})
		}
	})
	t.Logf("seed %d: %d cases, %d sent, posted %d (and %d unread; %d over a used connection), accepted %d, lost %d, doubled %d",
		*matrixSeed, count.cases, count.sent, count.posted, count.unread, count.used, count.accepted, count.lost, count.twice)
}

// weatherStage is a shared stage for the few cases of make test, which wait for
// nothing; else one of its own that is not patient with silence.
func weatherStage(t *testing.T, protocol string) *stage {
	if !*matrix && !*every {
		return onLight(t, protocol, brisk)
	}
	s := newStage(t, modes[protocol], brisk, func(o *qwen.Options) { o.Browser = lightPath() })
	s.login(t)
	s.client.Hurry(3*time.Second, time.Second)
	return s
}

// brave sends in one weather and checks what is there afterwards.
func (s *stage) brave(t *testing.T, w weather, count *tally) (prompt string) {
	o := brisk
	o.OneRequest = w.fresh
	if w.busy {
		o.Background = 100 * time.Millisecond
	}
	s.configure(o)
	w.fault.Times = qwentest.Always
	s.site.Fault(w.fault)
	unread := s.site.Report().Unread
	prompt = "The weather is " + w.name() + ".\n!rehearsal answer=long"
	address, message, err := s.send(t.Context(), prompt)
	unread = s.site.Report().Unread - unread
	s.site.Clear()
	got := s.site.Find(prompt)
	t.Logf("%v; posted %d, accepted %d, unread %d", err, got.Posted, got.Accepted, unread)
	s.consistent(t, prompt, address, message, err)
	switch {
	case w.sent && err != nil:
		t.Errorf("%v, though the site answered", err)
	case w.doubt && (fault(err) == nil || !fault(err).MayHaveLeft()):
		t.Errorf("%v does not say that the prompt may have left", err)
	case unread > 1:
		t.Errorf("%d bodies came that the site did not read", unread)
	}
	lost := 0
	if got.Accepted == 1 {
		if text := s.answer(t, address, message).Text; text != qwentest.Answer(prompt) {
			t.Errorf("the answer differs: %d bytes", len(text))
			lost = 1
		}
	}
	count.mu.Lock()
	defer count.mu.Unlock()
	count.cases, count.unread, count.lost = count.cases+1, count.unread+unread, count.lost+lost
	if err == nil {
		count.sent++
	}
	if s.overUsed(address) {
		count.used++
	}
	return prompt
}

// overUsed reports whether a send came over a connection that had served
// something before it.
func (s *stage) overUsed(address string) bool {
	_, chat, _ := strings.Cut(address, "/c/")
	for _, line := range s.site.Requests() {
		if line.Method == "POST" && chat != "" && strings.HasSuffix(line.Path, "/completions?chat_id="+chat) {
			return line.Reused // what follows is the head of a repeat, without its body
		}
	}
	return false
}

// neverTwice looks at all prompts once more, when all is over: nothing may have
// come late.
func (s *stage) neverTwice(t *testing.T, prompts []string, count *tally) {
	count.mu.Lock()
	defer count.mu.Unlock()
	for _, prompt := range prompts {
		e := s.site.Find(prompt)
		count.posted, count.accepted = count.posted+e.Posted, count.accepted+e.Accepted
		if e.Posted > 1 || e.Accepted > 1 {
			t.Errorf("%q came late: posted %d, accepted %d", prompt, e.Posted, e.Accepted)
			count.twice++
		}
	}
}
