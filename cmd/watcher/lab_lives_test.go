//go:build crash

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"watcher/cmd/watcher/lab"
	"watcher/state"
	"watcher/watch"
)

// life is one stretch of a job's life: what is there when the program starts,
// how it is called, and what must have come of it in the end.
type life struct {
	name  string
	begin func(*bench)
	args  []string
	other bool   // another engine is asked
	class string // the failure that it must end with; "" is an answer
}

// lives are all the roads that a job can take through the program's writes.
var lives = []life{
	{name: "new", begin: func(b *bench) { b.drop("job") }},
	{name: "new, first call of all", begin: func(b *bench) {
		b.drop("job")
		b.must(os.RemoveAll(b.profile))
	}},
	{name: "new, daemon", begin: func(b *bench) { b.drop("job") }, args: []string{"run", "."}},
	{name: "connection lost, prompt taken", args: briefly, begin: func(b *bench) {
		b.drop("job")
		b.first(labPlan{Drop: true})
	}},
	{name: "connection lost, prompt lost", args: briefly, begin: func(b *bench) {
		b.drop("job")
		b.first(labPlan{Lose: true})
	}},
	{name: "connection lost, prompt late", args: briefly, begin: func(b *bench) {
		b.drop("job")
		b.first(labPlan{Drop: true, Late: 12 * time.Millisecond}) // within the grace time
	}},
	{name: "found released, taken", begin: func(b *bench) { b.found(state.StageReleased, true) }},
	{name: "found released, lost", begin: func(b *bench) { b.found(state.StageReleased, false) }},
	{name: "found sent", begin: func(b *bench) { b.found(state.StageSent, true) }},
	{name: "found cut", begin: func(b *bench) {
		b.found(state.StageSent, true)
		b.write("job.md.url", "")
		b.cut = true
	}},
	{name: "filtered", class: watch.ClassFiltered, begin: func(b *bench) {
		b.drop("job")
		b.first(labPlan{Fails: watch.ClassFiltered})
	}},
	{name: "retried", begin: func(b *bench) {
		b.found(state.StageSent, true)
		b.write("job.md", labAnswer(b.texts["job"]))
		b.write("job.prompt.retry", "")
		b.sends["job"] = 2
	}},
	{name: "follower", begin: func(b *bench) {
		b.intro()
		b.drop("job")
	}},
	{name: "follower, connection lost, prompt taken", args: briefly, begin: func(b *bench) {
		b.intro()
		b.drop("job")
		b.first(labPlan{Drop: true})
	}},
	{name: "follower, connection lost, prompt lost", args: briefly, begin: func(b *bench) {
		b.intro()
		b.drop("job")
		b.first(labPlan{Lose: true})
	}},
	{name: "follower, connection lost, prompt late", args: briefly, begin: func(b *bench) {
		b.intro()
		b.drop("job")
		b.first(labPlan{Drop: true, Late: 12 * time.Millisecond}) // within the grace time
	}},
	{name: "follower found released, taken", begin: func(b *bench) {
		b.intro()
		b.found(state.StageReleased, true)
	}},
	{name: "follower found released, lost", begin: func(b *bench) {
		b.intro()
		b.found(state.StageReleased, false)
	}},
	{name: "follower retried", begin: func(b *bench) {
		b.intro()
		b.found(state.StageSent, true)
		b.write("job.md", labAnswer(b.texts["job"]))
		b.write("job.prompt.retry", "")
		b.sends["job"] = 2
	}},
	{name: "cancelled", class: watch.ClassCancelled, begin: func(b *bench) {
		b.found(state.StageSent, true)
		b.site.chats[labFound].plan.Think = time.Hour
		b.write("job.prompt.cancel", "")
	}},
}

// intro leaves a job that was answered, in whose chat the next one goes on.
func (b *bench) intro() {
	b.drop("intro")
	text := b.texts["intro"]
	b.site.chats[labFound] = &labChat{prompt: text, message: "message-intro", due: time.Now()}
	b.site.posts = append(b.site.posts, labPost{Address: labFound, Prompt: text, Taken: true})
	m := state.Marker{Address: labFound, Prompt: state.Fingerprint(text), By: labOwner, Stage: state.StageSent, At: time.Now().Unix(), Message: "message-intro"}
	b.write("intro.md.url", m.String())
	b.write("intro.md", labAnswer(text))
	b.heads["job"] = "---\nchat: intro\n---\n"
}

// otherLives are the roads of prompts that another engine gets. A call that is cut
// off is lost, so they can end without an answer.
var otherLives = []life{
	{name: "another engine", other: true, begin: func(b *bench) {
		b.other = true
		b.heads["job"] = "---\nengine: router\n---\n"
		b.drop("job")
	}},
	{name: "another engine, no quota", other: true, begin: func(b *bench) {
		b.other = true
		b.drop("job")
		b.first(labPlan{Refuse: watch.ClassQuota})
	}},
	{name: "another engine, chat failed", other: true, begin: func(b *bench) {
		b.other, b.both = true, true
		b.found(state.StageSent, true)
		b.site.chats[labPlace(labFound, "")].plan.Fails = watch.ClassFiltered
		f := state.Failure{Sentence: "the site filtered it", Class: watch.ClassFiltered, Prompt: state.Fingerprint(b.texts["job"]),
			Address: labFound, Command: "touch -- job.prompt.retry"}
		b.write("job.md.err", f.String())
	}},
	{name: "another engine, chat refused", other: true, begin: func(b *bench) {
		b.other = true
		b.drop("job")
		f := state.Failure{Sentence: "the site refused it", Class: watch.ClassFiltered, Prompt: state.Fingerprint(b.texts["job"]),
			Command: "rm -- job.md.err"}
		b.write("job.md.err", f.String())
	}},
}

func init() { lives = append(lives, otherLives...) }

// endsElsewhere is how a life with another engine is over: with one answer, or with a call
// that was cut off, or with the failure that it began with.
func (b *bench) endsElsewhere() (wrong []string) {
	var code int
	var out string
	for range 100 {
		b.must(clearProfile(b.profile))
		code, out = b.run("generate", "--wait=200ms", "job.prompt")
		if _, err := os.Stat(b.path("job.md.err")); code == codeDone || code == codeSwitch && err == nil || len(b.sound()) > 0 {
			break
		}
	}
	wrong = b.sound()
	line, _ := os.ReadFile(b.path("job.md.url"))
	routed := state.ParseMarker(line).Engine != ""
	failure, _ := os.ReadFile(b.path("job.md.err"))
	class := state.ParseFailure(failure).Class
	switch _, err := os.Stat(b.path("job.md")); {
	case code == codeDone && err == nil:
	case code == codeSwitch && routed && (class == watch.ClassAmbiguous || class == watch.ClassFiltered):
	default:
		wrong = append(wrong, fmt.Sprintf("class %q, marker %q, exit code %d\n%s", class, line, code, out))
	}
	return wrong
}

// briefly is how a program is called that meets a pause: what comes after it is
// the next program's.
var briefly = []string{"generate", "--wait=100ms", "job.prompt"}

// first is how the site treats the first send of each prompt.
func (b *bench) first(p labPlan) {
	b.site.plan = func(_ string, nth int) labPlan {
		if nth == 1 || p.Fails != "" {
			return p
		}
		return labPlan{}
	}
}

// labFound is the chat of a job that an earlier process had begun.
const labFound = "https://chat.example/c/0000ffff-0000-4000-8000-00000000ffff"

// found leaves a job as an earlier process did.
func (b *bench) found(stage state.Stage, taken bool) {
	b.drop("job")
	text := b.texts["job"]
	chat := &labChat{prompt: text}
	_, after := b.site.last(labFound)
	post := labPost{Address: labFound, After: after, Prompt: text, Taken: taken}
	m := state.Marker{Address: labFound, Prompt: state.Fingerprint(text), By: labOwner, Stage: stage, At: time.Now().Unix(), After: after}
	if taken {
		chat.message, chat.due = "message-0", time.Now()
	}
	if stage == state.StageSent {
		m.Message = chat.message
	}
	b.site.chats[labPlace(labFound, after)] = chat
	b.site.posts = append(b.site.posts, post)
	b.write("job.md.url", m.String())
}

// start brings a life to its beginning.
func (b *bench) start(l life) {
	b.t.Helper()
	b.fresh()
	l.begin(b)
}

// arguments are those of the program's call.
func (l life) arguments() []string {
	if l.args != nil {
		return l.args
	}
	return []string{"generate", "--wait=5s", "job.prompt"}
}

// brief is how to call the program so that it ends soon by itself.
func (l life) brief() []string {
	if l.daemon() {
		return briefly
	}
	return l.arguments()
}

func (l life) daemon() bool { return l.args != nil && l.args[0] == "run" }

// ending ends a daemon when its job is over; other programs end by themselves.
func (l life) ending(hook lab.Hook) lab.Hook {
	if !l.daemon() {
		return hook
	}
	return func(c lab.Call) lab.Order {
		o := hook(c)
		if c.Done && c.Name == "linkat" && strings.HasSuffix(c.File, ".md") {
			o.Signal = syscall.SIGTERM
		}
		return o
	}
}

// ends runs the program until the life is over, in a world that is well again,
// and lists what is wrong then. Nothing may change when it is called once more.
func (b *bench) ends(l life) (wrong []string) {
	b.t.Helper()
	if l.other {
		wrong = b.endsElsewhere()
	} else if l.class == "" {
		wrong = b.finish("job")
	} else {
		wrong = b.fails(l.class)
	}
	if len(wrong) > 0 {
		return wrong
	}
	before := b.listing()
	b.run("generate", "job.prompt")
	if after := b.listing(); after != before {
		wrong = append(wrong, fmt.Sprintf("one more call changed the folder from\n%sto\n%s", before, after))
	}
	return append(wrong, b.sound()...)
}

// fails runs the program until the job has failed.
func (b *bench) fails(class string) (wrong []string) {
	out := b.again("job", codeSwitch)
	wrong = b.sound()
	failure, err := os.ReadFile(b.path("job.md.err"))
	if got := state.ParseFailure(failure).Class; got != class {
		wrong = append(wrong, fmt.Sprintf("class %q, %v", got, err), out)
	}
	if _, taken := b.site.count(b.texts["job"]); taken > 1 {
		wrong = append(wrong, fmt.Sprintf("taken %d times", taken))
	}
	return wrong
}

// listing is the folder's names and contents.
func (b *bench) listing() string {
	var all strings.Builder
	entries, err := os.ReadDir(b.dir)
	b.must(err)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(b.dir, e.Name()))
		b.must(err)
		fmt.Fprintf(&all, "%s: %.200q\n", e.Name(), content)
	}
	return all.String()
}
