//go:build crash

package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"watcher/cmd/watcher/lab"
	"watcher/router/routertest"
	"watcher/state"
)

// bench is a folder and a profile on some file system, and the laboratory's
// chat. The program under test is the real one but for its driver.
type bench struct {
	t       testing.TB
	site    *labSite
	bin     string // the program
	home    string
	dir     string // the folder of prompts
	profile string
	limit   time.Duration // for a traced program
	clock   func(calls int) time.Duration

	down    atomic.Bool // the folder cannot be looked at now
	mu      sync.Mutex
	texts   map[string]string // by job
	heads   map[string]string // their front matter, by job
	sends   map[string]int    // how often a job may be taken, by job; else once
	posting []string          // what was wrong when a prompt arrived
	other   bool              // there is another engine
	both    bool              // ... which may get what the chat has had
	cut     bool              // a marker was cut by somebody else, and may be empty
}

// A program under the tracer stops for it before anything else.
func init() {
	if err := lab.Traced(); err != nil {
		panic(err)
	}
}

// labOwner is the owner id of the laboratory's account in a prepared profile.
const labOwner = "00000000000000aa"

// labLimit is more than any program needs that is well.
const labLimit = 20 * time.Second

func newBench(t testing.TB, home string) *bench {
	t.Helper()
	b := &bench{t: t, site: newLabSite(t), home: home, dir: filepath.Join(home, "in"),
		limit: labLimit, texts: map[string]string{}, heads: map[string]string{}, sends: map[string]int{}}
	b.site.onPost = b.arrives
	b.site.onRoute = b.arrivesElsewhere
	b.bin = program(t)
	b.profile = b.newProfile("profile", labOwner)
	b.must(os.MkdirAll(b.dir, 0o755))
	return b
}

// program is the test binary under the program's name.
func program(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "watcher")
	if err := os.Symlink(self, bin); err != nil {
		t.Fatal(err)
	}
	return bin
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// newProfile is a profile that was used before.
func (b *bench) newProfile(name, owner string) string {
	dir := filepath.Join(b.home, name)
	b.must(os.MkdirAll(dir, 0o700))
	b.must(os.WriteFile(filepath.Join(dir, "id"), []byte(owner+"\n"), 0o600))
	b.must(os.WriteFile(filepath.Join(dir, "accounts.json"), fmt.Appendf(nil, "{\"somebody\": %q}\n", owner), 0o600))
	return dir
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, content string) {
	b.t.Helper()
	b.must(os.WriteFile(b.path(name), []byte(content), 0o644))
}

// drop makes a prompt with a text that no other job has.
func (b *bench) drop(job string) {
	b.t.Helper()
	b.texts[job] = fmt.Sprintf("What is asked in %s?\nA second line.", job)
	b.write(job+".prompt", b.heads[job]+b.texts[job]+"\n")
}

// environment makes the program impatient.
func (b *bench) environment(profile string) []string {
	var other []string
	if b.other {
		other = []string{"WATCHER_FALLBACK=" + b.site.router.URL, "WATCHER_FALLBACK_MODEL=m", "WATCHER_FALLBACK_ON=quota,filtered"}
	}
	return append(other,
		"HOME="+b.home, "TMPDIR="+os.TempDir(), "PATH="+os.Getenv("PATH"),
		"GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", "GOGC=off",
		"WATCHER_TEST_CHAT="+b.site.socket, "WATCHER_TEST_LEASELESS=1ms",
		"WATCHER_SITE=https://chat.example", "WATCHER_PROFILE="+profile, "WATCHER_SEND_GAP=0s",
		"WATCHER_SETTLE=1ms", "WATCHER_MAX_CHARS=0", "WATCHER_POLL=8ms", "WATCHER_RESCAN=40ms", "WATCHER_GRACE=20ms",
		"WATCHER_LOG_FORMAT=json", "WATCHER_LOG_LEVEL=debug",
	)
}

// run runs the program untouched.
func (b *bench) run(args ...string) (code int, output string) { return b.runAs(b.profile, args...) }

func (b *bench) runAs(profile string, args ...string) (code int, output string) {
	b.t.Helper()
	cmd := b.command(profile, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	b.must(cmd.Start())
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

func (b *bench) command(profile string, args ...string) *exec.Cmd {
	cmd := exec.Command(b.bin, args...)
	cmd.Dir, cmd.Env = b.dir, b.environment(profile)
	return cmd
}

// trace runs the program under the tracer.
func (b *bench) trace(hook lab.Hook, args ...string) lab.Outcome {
	b.t.Helper()
	o, err := lab.Trace(lab.Program{Path: b.bin, Args: args, Dir: b.dir, Env: b.environment(b.profile), Limit: b.limit, Clock: b.clock}, b.home, hook)
	b.must(err)
	return o
}

// arrives looks at the folder when a prompt comes in: its marker must stand.
// While the disk is down nothing can be seen; then what is there later counts.
func (b *bench) arrives(p labPost) {
	if b.down.Load() {
		return
	}
	wrong := ""
	if job := b.jobOf(p.Prompt); job == "" {
		wrong = fmt.Sprintf("a text arrived that nobody asked: %q", p.Prompt)
	} else if m, err := os.ReadFile(b.path(job + ".md.url")); err != nil || !strings.HasPrefix(string(m), p.Address+"#") || state.ParseMarker(m).After != p.After {
		wrong = fmt.Sprintf("%s arrived in %s while its marker was %q, %v", job, p.Address, m, err)
	}
	if wrong != "" && !b.down.Load() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.posting = append(b.posting, wrong)
	}
}

// arrivesElsewhere does so when one comes in at another engine.
func (b *bench) arrivesElsewhere(p routertest.Post) {
	if b.down.Load() {
		return
	}
	job := b.jobOf(p.Prompt)
	line, err := os.ReadFile(b.path(job + ".md.url"))
	if m := state.ParseMarker(line); (job == "" || m.Engine == "" || m.Stage != state.StageReleased) && !b.down.Load() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.posting = append(b.posting, fmt.Sprintf("another engine got %q while its marker was %q, %v", p.Prompt, line, err))
	}
}

func (b *bench) jobOf(prompt string) string {
	for job, text := range b.texts {
		if text == prompt {
			return job
		}
	}
	return ""
}

// sound lists what must never be, at any moment: a prompt that was taken more
// often than it may be, an address that is lost, a part of a file under its
// final name, a file that nobody knows.
func (b *bench) sound() (wrong []string) {
	b.mu.Lock()
	wrong = append(wrong, b.posting...)
	b.mu.Unlock()
	// The site first: what it has by now must be in the folder by then.
	site := b.site.save()
	names := b.contents()
	for job, text := range b.texts {
		posted, taken := site.count(text)
		if may := max(1, b.sends[job]); taken > may {
			wrong = append(wrong, fmt.Sprintf("%s was taken %d times (posted %d)", job, taken, posted))
		}
		routed := site.routedTimes(text)
		if routed > 1 || routed > 0 && taken > 0 && !b.both {
			wrong = append(wrong, fmt.Sprintf("%s: another engine got it %d times, the chat %d times", job, routed, taken))
		}
		if !b.cut && routed > 0 && !b.kept(job, names, "#engine=router&") {
			wrong = append(wrong, fmt.Sprintf("%s: another engine got it, and no marker says so", job))
		}
		wrong = append(wrong, b.soundMarkers(job, site.addresses(text), names)...)
		if answer, there := names[job+".md"]; there && answer != labAnswer(text) && !(routed > 0 && answer == routertest.Answer(text)) {
			wrong = append(wrong, fmt.Sprintf("%s.md holds %d bytes that are not the answer", job, len(answer)))
		}
		if failure, there := names[job+".md.err"]; there && !wholeFailure(failure) {
			wrong = append(wrong, fmt.Sprintf("%s.md.err holds a part: %q", job, failure))
		}
	}
	for name := range names {
		if _, _, known := state.Parse(name); !known && !archived.MatchString(name) && !ownTemp(name) && name != state.PausedFile && name != state.WitnessFile {
			wrong = append(wrong, "nobody knows "+name)
		}
	}
	return wrong
}

// kept reports whether any of a job's markers holds the words.
func (b *bench) kept(job string, names map[string]string, words string) bool {
	for name, content := range names {
		if strings.HasPrefix(name, job+".md.url") && strings.Contains(content, words) {
			return true
		}
	}
	return false
}

// soundMarkers lists what is wrong with a job's markers, retired ones too.
func (b *bench) soundMarkers(job string, addresses []string, names map[string]string) (wrong []string) {
	kept := ""
	for name, content := range names {
		if !strings.HasPrefix(name, job+".md.url") {
			continue
		}
		if content == "" && b.cut {
			return nil // nobody knows yet what was in it
		}
		kept += content
		if m := state.ParseMarker([]byte(content)); m.Address == "" || !strings.HasSuffix(content, "\n") {
			wrong = append(wrong, fmt.Sprintf("%s holds a part: %q", name, content))
		}
	}
	for _, address := range addresses {
		if !strings.Contains(kept, address+"#") {
			wrong = append(wrong, fmt.Sprintf("%s was taken in %s, and no marker says so: %q", job, address, kept))
		}
	}
	return wrong
}

// contents are the folder's files. What vanishes meanwhile is another
// program's doing, and left out.
func (b *bench) contents() map[string]string {
	b.t.Helper()
	names := map[string]string{}
	entries, err := os.ReadDir(b.dir)
	b.must(err)
	for _, e := range entries {
		content, err := os.ReadFile(b.path(e.Name()))
		if !os.IsNotExist(err) {
			b.must(err)
			names[e.Name()] = string(content)
		}
	}
	return names
}

func wholeFailure(content string) bool {
	f := state.ParseFailure([]byte(content))
	return f.Class != "" && f.Command != ""
}

func ownTemp(name string) bool {
	return strings.HasPrefix(name, ".watcher-") && strings.HasSuffix(name, ".tmp")
}

// over lists what is wrong when a job should be done: it was not taken, or the
// answer is not there.
func (b *bench) over(jobs ...string) (wrong []string) {
	for _, job := range jobs {
		if _, taken := b.site.count(b.texts[job]); taken != max(1, b.sends[job]) && (!b.other || b.site.router.Count(b.texts[job]) == 0) {
			wrong = append(wrong, fmt.Sprintf("%s was taken %d times", job, taken))
		}
		if _, err := os.Stat(b.path(job + ".md")); err != nil {
			wrong = append(wrong, err.Error())
		}
		if text, err := os.ReadFile(b.path(job + ".prompt")); err != nil || string(text) != b.heads[job]+b.texts[job]+"\n" {
			wrong = append(wrong, fmt.Sprintf("%s.prompt is %q, %v", job, text, err))
		}
	}
	return wrong
}

// finish runs the program until the job is done, and lists what is wrong then.
func (b *bench) finish(job string) (wrong []string) {
	b.t.Helper()
	out := b.again(job, codeDone)
	if wrong = append(b.sound(), b.over(job)...); len(wrong) > 0 {
		wrong = append(wrong, out)
	}
	return wrong
}

// again calls the program as cron does, with the time of every pause over,
// until it gives the code; it returns what the last call said.
func (b *bench) again(job string, want int) (out string) {
	b.t.Helper()
	var code int
	for range 100 {
		b.must(clearProfile(b.profile))
		if code, out = b.run("generate", "--wait=200ms", job+".prompt"); code == want || len(b.sound()) > 0 {
			break
		}
	}
	return fmt.Sprintf("exit code %d\n%s", code, out)
}

// swept lists the temporary files that stay after the next job in the folder.
func (b *bench) swept() (wrong []string) {
	b.drop("next")
	wrong = b.finish("next")
	entries, err := os.ReadDir(b.dir)
	b.must(err)
	for _, e := range entries {
		if ownTemp(e.Name()) {
			wrong = append(wrong, "left behind: "+e.Name())
		}
	}
	return wrong
}

// fresh makes folder, profile and site new for the next try.
func (b *bench) fresh() {
	b.t.Helper()
	b.must(os.RemoveAll(b.dir))
	b.must(os.Mkdir(b.dir, 0o755))
	b.must(os.RemoveAll(b.profile))
	b.newProfile(filepath.Base(b.profile), labOwner)
	b.site.restore(labState{})
	b.texts, b.heads, b.sends, b.posting, b.cut = map[string]string{}, map[string]string{}, map[string]int{}, nil, false
	b.other, b.both = false, false
	b.site.plan = func(string, int) labPlan { return labPlan{} }
}

// clearProfile takes away what the last try left of a pause or a pace.
func clearProfile(dir string) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	for _, e := range entries {
		if !slices.Contains([]string{"id", "accounts.json", "lock", "alive", "chromium", "tmp", "reads"}, e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// addresses are the chats in which a prompt was taken.
func (st labState) addresses(prompt string) (list []string) {
	for _, p := range st.posts {
		if p.Prompt == prompt && p.Taken {
			list = append(list, p.Address)
		}
	}
	return list
}

// restore carries the site back to an earlier moment.
func (s *labSite) restore(st labState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.router.Restore(st.routed)
	s.posts, s.made = slices.Clone(st.posts), st.made
	s.chats = map[string]*labChat{}
	for address, c := range maps.All(st.chats) {
		s.chats[address] = &c
	}
}

// routedTimes is how often another engine got a prompt.
func (st labState) routedTimes(prompt string) (n int) {
	for _, p := range st.routed {
		if p.Prompt == prompt {
			n++
		}
	}
	return n
}
