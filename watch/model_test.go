package watch_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// model runs random histories of a folder: drops, edits, holds, faults of the
// chat and of the disk, deaths of the program. What must hold at every moment:
//
//   - a job is taken by the site at most once, whatever its prompt became, and
//     once more for each retry that was asked for;
//   - an answer that is there is the whole answer to what was taken;
//   - in one chat no question is taken while another one is open;
//   - the address of all that was taken is in a marker or in a retired one;
//   - what is cancelled before it was sent is not sent;
//   - in the end no prompt is lost: each is answered, or says why not.
type model struct {
	*rig
	rt      *rapid.T
	texts   map[string][]string // every text that a name ever had
	retries map[string]int      // asked for, by name
	plans   sync.Map            // text -> watchtest.Plan
	stop    func()
	stumble atomic.Pointer[stumble]
	version int
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// Each history has a bubble of its own. What rapid throws in it has to
		// be caught there and thrown again outside.
		var thrown any
		synctest.Test(t, func(t *testing.T) {
			defer func() { thrown = recover() }()
			runModel(t, rt)
		})
		if thrown != nil {
			panic(thrown)
		}
	})
}

func runModel(t *testing.T, rt *rapid.T) {
	m := &model{rig: newRig(t), rt: rt, texts: map[string][]string{}, retries: map[string]int{}}
	m.cfg.SendGap, m.cfg.Rescan, m.cfg.InFlight = 10*time.Second, 2*time.Minute, 4
	m.chat.Script(func(prompt string, nth int) watchtest.Plan {
		if nth > 2 { // the third send goes well, if the agent ever dares
			return watchtest.Plan{}
		}
		p, _ := m.plans.Load(prompt)
		return p.(watchtest.Plan)
	})
	m.restart()
	defer func() { m.stop() }()
	m.texts["intro"] = []string{"an introduction"} // so that there is a chat to continue
	m.plans.Store("an introduction", watchtest.Plan{})
	m.write("intro.prompt", "an introduction")
	pass(3 * time.Minute)
	rt.Repeat(map[string]func(*rapid.T){
		"drop":   m.drop,
		"hold":   m.hold,
		"fetch":  m.fetch,
		"retry":  m.retry,
		"cancel": m.cancel,
		"resume": m.resume,
		"pass":   m.pass,
		"break":  m.breaks,
		"die":    m.die,
		"reboot": func(*rapid.T) { m.stop(); m.restart() },
		"":       m.invariants,
	})
	m.end()
}

func (m *model) restart() {
	m.stumble.Store(nil)
	m.cfg.DirOptions = []state.Option{state.WithStep(func(step string) error {
		if s := m.stumble.Load(); s != nil {
			return s.at(step)
		}
		return nil
	})}
	_, m.stop = m.start()
	synctest.Wait()
}

// classes is every failure that a chat can name.
var classes = slices.Concat(jobClasses, queueClasses)

func drawPlan(rt *rapid.T) (p watchtest.Plan) {
	draw := func(label string, of ...time.Duration) time.Duration { return rapid.SampledFrom(of).Draw(rt, label) }
	p.Takes = draw("takes", 0, 3*time.Second, 40*time.Second)
	p.Think = draw("think", 0, 90*time.Second, 20*time.Minute)
	p.NoID = rapid.Bool().Draw(rt, "no id")
	class := rapid.SampledFrom(classes).Draw(rt, "class")
	switch rapid.SampledFrom([]string{"well", "before", "after", "refused", "lost", "filter", "stuck", "text"}).Draw(rt, "fault") {
	case "before":
		p.Before = fault(class, false)
	case "after":
		p.After = fault(class, false)
	case "refused":
		p.After, p.Lose = fault(class, true), rapid.Bool().Draw(rt, "lose")
	case "lost":
		p.After, p.Lose = fault(watch.ClassUnreachable, true), rapid.Bool().Draw(rt, "lose")
		p.Late = draw("late", 0, time.Second, 110*time.Second) // always within the grace time
	case "filter":
		p.Fails = fault(watch.ClassFiltered, true)
	case "stuck":
		p.Stuck = true
	case "text":
		p.Rename = "what the site made of it"
	}
	return p
}

// drop writes a new prompt, or another text over an old one.
func (m *model) drop(rt *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "sub/d"}).Draw(rt, "name")
	m.version++
	text := fmt.Sprintf("%s, version %d", name, m.version)
	m.plans.Store(text, drawPlan(rt))
	m.texts[name] = append(m.texts[name], text)
	if rapid.Bool().Draw(rt, "follows") {
		parent := rapid.SampledFrom([]string{"intro", "intro", "intro", "a", "b", "sub/d", "../beyond"}).Draw(rt, "parent")
		if name == "sub/d" {
			parent = "../" + parent
		}
		text = "---\nchat: " + parent + "\n---\n" + text
	}
	m.write(name+".prompt", text)
}

func (m *model) name(rt *rapid.T) string {
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.texts))).Draw(rt, "name")
}

func (m *model) hold(rt *rapid.T) {
	file := m.name(rt) + ".prompt.hold"
	if m.has(file) {
		m.remove(file)
	} else {
		m.write(file, "")
	}
}

// fetch deletes an answer or an error whose marker stands: never a new send.
func (m *model) fetch(rt *rapid.T) {
	name := m.name(rt)
	for _, end := range []string{".md", ".md.err"} {
		if m.has(name+end) && m.has(name+".md.url") {
			m.remove(name + end)
		}
	}
}

// retry asks for one more send.
func (m *model) retry(rt *rapid.T) {
	name := m.name(rt)
	if file := name + ".prompt.retry"; !m.has(file) {
		m.retries[name]++
		m.write(file, "")
	}
}

func (m *model) cancel(rt *rapid.T) { m.write(m.name(rt)+".prompt.cancel", "") }

// resume deletes what keeps a job or a folder from going on.
func (m *model) resume(rt *rapid.T) {
	for _, file := range []string{"watcher.paused", "sub/watcher.paused"} {
		if m.has(file) && rapid.Bool().Draw(rt, "notice") {
			m.remove(file)
		}
	}
	name := m.name(rt)
	if f := state.ParseFailure([]byte(m.read(name + ".md.err"))); f.Class == watch.ClassCancelled {
		m.remove(name + ".md.err")
	}
}

func (m *model) pass(rt *rapid.T) {
	pass(rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, 40 * time.Second, 3 * time.Minute, time.Hour}).Draw(rt, "time"))
}

func (m *model) breaks(rt *rapid.T) {
	method := rapid.SampledFrom([]string{"owner", "read", "find", "send", "stop"}).Draw(rt, "method")
	class := rapid.SampledFrom(queueClasses).Draw(rt, "class")
	if rapid.Bool().Draw(rt, "mend") {
		m.chat.Break(method, nil)
		return
	}
	m.chat.Break(method, fault(class, false))
}

// die lets the disk fail once, or the program die, at some step soon.
func (m *model) die(rt *rapid.T) {
	s := &stumble{n: rapid.IntRange(1, 80).Draw(rt, "step"), dies: rapid.Bool().Draw(rt, "dies")}
	m.stumble.Store(s)
	pass(rapid.SampledFrom([]time.Duration{5 * time.Second, 3 * time.Minute}).Draw(rt, "time"))
	if s.dies {
		m.stop()
		m.restart()
	}
}

func (m *model) invariants(rt *rapid.T) {
	posts := m.chat.Accepted()
	places := map[string]string{}
	for _, p := range posts {
		place := p.Address + " behind " + p.After
		if other := places[place]; other != "" {
			rt.Fatalf("%q and %q were both taken in %s\n%s", other, p.Prompt, place, m.log)
		}
		places[place] = p.Prompt
	}
	for name, texts := range m.texts {
		taken, answers := 0, []string{}
		kept := m.markers(name)
		for _, p := range posts {
			if !slices.Contains(texts, p.Prompt) {
				continue
			}
			taken++
			answers = append(answers, watchtest.Answer(p.Prompt))
			if !strings.Contains(kept, p.Address+"#") || p.After != "" && !strings.Contains(kept, "after="+p.After) {
				rt.Fatalf("the address %s of %s, behind %q, is lost\n%s", p.Address, name, p.After, m.log)
			}
		}
		if taken > 1+m.retries[name] {
			rt.Fatalf("%s was taken %d times, with %d retries\n%s", name, taken, m.retries[name], m.log)
		}
		if m.has(name+".md") && !slices.Contains(answers, m.read(name+".md")) {
			rt.Fatalf("%s.md = %q answers nothing that was taken\n%s", name, m.read(name+".md"), m.log)
		}
		if f := state.ParseFailure([]byte(m.read(name + ".md.err"))); f.Class == watch.ClassCancelled && f.Address == "" && strings.Contains(m.read(name+".md.url"), "stage=") {
			rt.Fatalf("%s was cancelled before it was sent, and sent\n%s", name, m.log)
		}
	}
}

// markers is what all the markers of a job hold, retired ones too.
func (m *model) markers(name string) string {
	files, err := filepath.Glob(m.path(name) + ".md.url*")
	if err != nil {
		m.rt.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			m.rt.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// end mends all and lets the folder come to rest.
func (m *model) end() {
	for _, method := range []string{"owner", "read", "find", "send", "stop"} {
		m.chat.Break(method, nil)
	}
	m.stop()
	for name := range m.texts {
		if m.has(name + ".prompt.hold") {
			m.remove(name + ".prompt.hold")
		}
	}
	for _, file := range []string{"watcher.paused", "sub/watcher.paused"} {
		if m.has(file) {
			m.remove(file)
		}
	}
	m.cfg.Rescan = 20 * time.Minute
	m.restart()
	pass(30 * time.Hour)
	m.invariants(m.rt)
	waits := false // for a person: then a pause that only a send can end stays, too
	for name, texts := range m.texts {
		switch {
		case m.has(name+".prompt.cancel") || m.has(name+".prompt.retry"):
			m.rt.Fatalf("a control file of %s was not acknowledged\n%s", name, m.log)
		case m.has(name + ".md"):
		case !m.has(name+".md.err") && !m.has(name+".md.url") && strings.HasPrefix(m.read(name+".prompt"), "---\nchat: "):
			// Its parent failed, or its chat is busy for ever: that waits for a person.
			waits = true
			if m.logged("d/"+name, "waits for ")+m.logged("d/"+name, "its chat is busy") == 0 {
				m.rt.Fatalf("nobody says why %s waits\n%s", name, m.log)
			}
		case !m.has(name + ".md.err"):
			m.rt.Fatalf("%s was lost: %v\n%s", name, texts, m.log)
		default:
			if f := state.ParseFailure([]byte(m.read(name + ".md.err"))); slices.Contains(queueClasses, f.Class) {
				m.rt.Fatalf("%s failed for a reason of the queue's: %+v\n%s", name, f, m.log)
			}
		}
	}
	left, err := os.ReadDir(m.dir)
	if err != nil {
		m.rt.Fatal(err)
	}
	for _, e := range left {
		if strings.HasSuffix(e.Name(), ".tmp") || !waits && (e.Name() == state.WitnessFile || e.Name() == state.PausedFile) {
			m.rt.Fatalf("%s was left behind\n%s", e.Name(), m.log)
		}
	}
}
