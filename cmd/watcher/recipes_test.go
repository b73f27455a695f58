package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"watcher/qwen/qwentest"
	"watcher/router/routertest"
	"watcher/watch"
)

// recipe is a folder, a chat with another engine, and a PATH on which the program
// is: what the files in examples/ need. The chat is the laboratory's, or, with
// -every, the rehearsal site in a browser.
type recipe struct {
	t    *testing.T
	site *labSite
	desk *desk  // nil: the laboratory's chat
	salt string // makes texts that the rehearsal site, which others use too, has not seen
	home string
	dir  string
	env  []string
}

func newRecipe(t *testing.T) *recipe {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &recipe{t: t, site: newLabSite(t), home: t.TempDir()}
	r.dir = filepath.Join(r.home, "outbox")
	for _, dir := range []string{r.dir, filepath.Join(r.home, "bin")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(self, filepath.Join(r.home, "bin", "watcher")); err != nil {
		t.Fatal(err)
	}
	r.env = []string{
		"HOME=" + r.home, "PATH=" + filepath.Join(r.home, "bin") + ":" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
		"WATCHER_TEST_CHAT=" + r.site.socket, "WATCHER_TEST_LEASELESS=1ms", "WATCHER_SITE=https://chat.example",
		"WATCHER_SEND_GAP=0s", "WATCHER_SETTLE=10ms", "WATCHER_POLL=20ms", "WATCHER_RESCAN=100ms", "WATCHER_GRACE=100ms",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	if *every {
		r.rehearse(t)
	}
	return r
}

// rehearse takes the rehearsal site for the laboratory's chat.
func (r *recipe) rehearse(t *testing.T) {
	r.desk = newDesk(t)
	r.salt = fmt.Sprintf(" (%s)", t.Name())
	// What comes later counts, so the PATH and the home stay the recipe's.
	r.env = append(append(r.desk.environment(r.desk.home), "WATCHER_BROWSER="+r.desk.browser, "WATCHER_SEND_GAP=0s"),
		"HOME="+r.home, "TMPDIR="+os.TempDir(), "PATH="+filepath.Join(r.home, "bin")+":"+os.Getenv("PATH"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
}

// text is what the prompt of a name asks. A rehearsal site reads in it how it is
// to behave; the laboratory's chat has a plan.
func (r *recipe) text(name string) string {
	text := "What is " + name + "?" + r.salt
	if r.desk != nil && strings.Contains(name, "quota") {
		text += "\n!rehearsal fault=quota times=9"
	}
	if r.desk != nil && strings.Contains(name, "filtered") {
		text += "\n!rehearsal fault=inspect"
	}
	return text
}

// taken is how often the chat took the prompt of a name.
func (r *recipe) taken(name string) int {
	if r.desk != nil {
		return r.desk.site.Find(r.text(name)).Accepted
	}
	_, taken := r.site.count(r.text(name))
	return taken
}

// example is the path of a file in examples/.
func (r *recipe) example(name string) string {
	r.t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", name))
	if err != nil {
		r.t.Fatal(err)
	}
	return path
}

func (r *recipe) command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, r.env
	return cmd
}

// run runs a command to its end and returns its exit code and what it said.
func (r *recipe) run(dir, name string, args ...string) (int, string) {
	r.t.Helper()
	cmd := r.command(dir, name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// ok runs a command that must work.
func (r *recipe) ok(dir, name string, args ...string) string {
	r.t.Helper()
	code, out := r.run(dir, name, args...)
	if code != 0 {
		r.t.Fatalf("%s %q: exit code %d\n%s", name, args, code, out)
	}
	return out
}

func (r *recipe) write(path, text string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// drop makes a prompt in the outbox with a text of its own.
func (r *recipe) drop(name string) {
	r.write(filepath.Join(r.dir, name+".prompt"), r.text(name)+"\n")
}

// is checks a file's content; "" means that it is not there.
func (r *recipe) is(path, want string) {
	r.t.Helper()
	got, err := os.ReadFile(path)
	if string(got) != want || os.IsNotExist(err) != (want == "") {
		r.t.Errorf("%s holds %.80q, %v; want %.80q", path, got, err, want)
	}
}

// by checks how often the chat took a prompt, and how often another engine got it.
func (r *recipe) by(name string, chat, other int) {
	r.t.Helper()
	text, taken, routed := r.text(name), r.taken(name), 0
	for _, p := range r.site.router.Posts() {
		if strings.TrimRight(p.Prompt, "\n") == text {
			routed++
		}
	}
	if taken != chat || routed != other {
		r.t.Errorf("%s: the chat took it %d times, another engine %d; want %d and %d", name, taken, routed, chat, other)
	}
}

func (r *recipe) answer(name string) string {
	if r.desk != nil {
		return qwentest.Answer(r.text(name))
	}
	return labAnswer(r.text(name))
}

func (r *recipe) until(what string, done func() bool) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%s does not happen", what)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// need skips nothing: what a recipe needs, .ci/need installs.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v; .ci/need installs it", err)
		}
	}
}

func TestRecipeMake(t *testing.T) {
	t.Parallel()
	need(t, "make")
	r := newRecipe(t)
	for _, name := range []string{"a", "filtered", "c"} {
		r.drop(name)
	}
	r.site.plan = func(prompt string, _ int) labPlan {
		if strings.Contains(prompt, "filtered") {
			return labPlan{Fails: watch.ClassFiltered}
		}
		return labPlan{Think: 100 * time.Millisecond}
	}
	makefile := r.example("Makefile")
	if code, out := r.run(r.dir, "make", "-k", "-j3", "-f", makefile); code == 0 || !strings.Contains(out, "filtered") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for _, name := range []string{"a", "c"} {
		r.is(filepath.Join(r.dir, name+".md"), r.answer(name))
		r.by(name, 1, 0)
	}
	r.is(filepath.Join(r.dir, "filtered.md"), "")
	// What is there is up to date; a prompt that was changed is not sent again.
	if out := r.ok(r.dir, "make", "-f", makefile, "a.md", "c.md"); !strings.Contains(out, "up to date") {
		t.Errorf("make says %s", out)
	}
	later := time.Now().Add(time.Hour)
	r.write(filepath.Join(r.dir, "a.prompt"), "Another text\n")
	if err := os.Chtimes(filepath.Join(r.dir, "a.prompt"), later, later); err != nil {
		t.Fatal(err)
	}
	r.ok(r.dir, "make", "-f", makefile, "a.md")
	r.is(filepath.Join(r.dir, "a.md"), r.answer("a"))
	r.by("a", 1, 0)
}

func TestRecipeCron(t *testing.T) {
	t.Parallel()
	need(t, "curl", "jq")
	r := newRecipe(t)
	r.env = append(r.env, "ROUTER="+r.site.router.URL, "ROUTER_MODEL=m")
	r.site.plan = func(prompt string, _ int) labPlan {
		switch {
		case strings.Contains(prompt, "quota"):
			return labPlan{Refuse: watch.ClassQuota}
		case strings.Contains(prompt, "filtered"):
			return labPlan{Fails: watch.ClassFiltered}
		}
		return labPlan{Think: 300 * time.Millisecond}
	}
	minute := func() string { _, out := r.run(r.dir, r.example("cron.sh"), r.dir); return out }
	// A good minute, and the next ones: nothing but the chat is asked.
	r.drop("article")
	r.until("the answer", func() bool { minute(); return exists(filepath.Join(r.dir, "article.md")) })
	r.is(filepath.Join(r.dir, "article.md"), r.answer("article"))
	r.by("article", 1, 0)
	// The chat fails one, and has no quota for the next: another engine answers,
	// and no hold stays behind.
	r.drop("filtered")
	r.until("the other answer", func() bool { minute(); return exists(filepath.Join(r.dir, "filtered.md")) })
	r.drop("quota")
	r.until("the third answer", func() bool { minute(); return exists(filepath.Join(r.dir, "quota.md")) })
	for _, name := range []string{"filtered", "quota"} {
		r.is(filepath.Join(r.dir, name+".md"), routertest.Answer(r.text(name)+"\n")+"\n")
		r.is(filepath.Join(r.dir, name+".prompt.hold"), "")
	}
	r.by("filtered", 1, 1)
	r.by("quota", 0, 1)
	// It cuts an answer off: the prompt stays held, and is not asked again.
	r.site.router.Script(func(string, int) routertest.Plan { return routertest.Plan{JSON: true, Finish: "length"} })
	r.drop("long quota")
	for range 3 {
		minute()
	}
	r.is(filepath.Join(r.dir, "long quota.md"), "")
	r.by("long quota", 0, 1)
	if left, _ := filepath.Glob(filepath.Join(r.dir, ".answer.*")); len(left) > 0 || !exists(filepath.Join(r.dir, "long quota.prompt.hold")) {
		t.Errorf("left behind: %v", left)
	}
}

func TestRecipeGitHook(t *testing.T) {
	t.Parallel()
	need(t, "git")
	r := newRecipe(t)
	bare, work := filepath.Join(r.home, "outbox.git"), filepath.Join(r.home, "work")
	r.ok(r.home, "git", "init", "-q", "--bare", bare)
	hook, err := os.ReadFile(r.example("post-receive"))
	if err != nil {
		t.Fatal(err)
	}
	r.write(filepath.Join(bare, "hooks", "post-receive"), string(hook))
	if err := os.Chmod(filepath.Join(bare, "hooks", "post-receive"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.ok(bare, "git", "config", "watcher.outbox", r.dir)
	r.ok(r.home, "git", "init", "-q", "-b", "main", work)
	push := func() {
		r.ok(work, "git", "add", "-A")
		r.ok(work, "git", "commit", "-qm", "prompts")
		r.ok(work, "git", "push", "-q", bare, "main")
	}
	r.write(filepath.Join(work, "a.prompt"), r.text("a")+"\n")
	r.write(filepath.Join(work, "sub dir", "b.prompt"), r.text("b")+"\n")
	r.write(filepath.Join(work, "notes.md"), "not an answer\n")
	push()
	r.ok(r.dir, "watcher", "generate", "--wait=1m", r.dir)
	r.is(filepath.Join(r.dir, "a.md"), r.answer("a"))
	r.is(filepath.Join(r.dir, "sub dir", "b.md"), r.answer("b"))
	r.is(filepath.Join(r.dir, "notes.md"), "")
	// A prompt that is edited, or goes, changes nothing for what was sent.
	r.write(filepath.Join(work, "a.prompt"), "What is a, really?\n")
	if err := os.Remove(filepath.Join(work, "sub dir", "b.prompt")); err != nil {
		t.Fatal(err)
	}
	push()
	r.is(filepath.Join(r.dir, "a.prompt"), r.text("a")+"\n")
	r.is(filepath.Join(r.dir, "sub dir", "b.prompt"), r.text("b")+"\n")
	r.by("a", 1, 0)
	r.by("b", 1, 0)
}

func TestRecipeChain(t *testing.T) {
	t.Parallel()
	need(t, "inotifywait", "entr")
	r := newRecipe(t)
	r.drop("early")
	r.ok(r.dir, "watcher", "generate", "--wait=1m", "early.prompt")
	chain := r.command(r.dir, r.example("chain.sh"), r.dir, "cp", "{}.md", "{}.html")
	var said syncBuffer
	chain.Stdout, chain.Stderr = &said, &said
	if err := chain.Start(); err != nil {
		t.Fatal(err)
	}
	r.until("what was there is taken up", func() bool { return exists(filepath.Join(r.dir, ".chained-early")) })
	r.drop("late")
	r.ok(r.dir, "sh", "-c", "ls *.prompt | entr -nz watcher generate --wait=1m .")
	r.until("what came is taken up", func() bool { return exists(filepath.Join(r.dir, ".chained-late")) })
	if err := chain.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = chain.Wait() // it ends by the signal
	for _, name := range []string{"early", "late"} {
		r.is(filepath.Join(r.dir, name+".html"), r.answer(name))
		r.by(name, 1, 0)
	}
	if t.Failed() {
		t.Logf("it said %s", said.String())
	}
}

func TestRecipeLaptop(t *testing.T) {
	t.Parallel()
	need(t, "rsync")
	r := newRecipe(t)
	laptop := filepath.Join(r.home, "laptop")
	r.write(filepath.Join(laptop, "a.prompt"), r.text("a")+"\n")
	r.write(filepath.Join(laptop, "sub", "b.prompt"), r.text("b")+"\n")
	r.write(filepath.Join(laptop, "notes.txt"), "private\n")
	sync := func() { r.ok(r.home, r.example("laptop.sh"), laptop, r.dir) }
	sync()
	r.ok(r.dir, "watcher", "generate", "--wait=1m", r.dir)
	sync()
	r.is(filepath.Join(laptop, "a.md"), r.answer("a"))
	r.is(filepath.Join(laptop, "sub", "b.md"), r.answer("b"))
	r.is(filepath.Join(r.dir, "notes.txt"), "")
	if !exists(filepath.Join(laptop, "a.md.url")) {
		t.Error("the marker did not come back")
	}
	// An edit on the laptop changes nothing there, and a prompt that is deleted
	// here is not deleted there.
	r.write(filepath.Join(laptop, "a.prompt"), "What is a, really?\n")
	if err := os.Remove(filepath.Join(laptop, "sub", "b.prompt")); err != nil {
		t.Fatal(err)
	}
	sync()
	r.ok(r.dir, "watcher", "generate", r.dir)
	r.is(filepath.Join(r.dir, "a.prompt"), r.text("a")+"\n")
	for _, name := range []string{"a", "b"} {
		r.by(name, 1, 0)
	}
}
