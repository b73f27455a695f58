package qwen

import (
	"context"
	"os/exec"
	"strings"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// How long the browser may take to start (a cold, slow disk) and to end.
const (
	startTimeout = 90 * time.Second
	stopTimeout  = 10 * time.Second
)

// chromium is one running browser: its only page at start stays blank, and
// each loaded page is a tab of its own.
type chromium struct {
	profile *Profile
	proxy   *proxy
	guard   *guard
	ctx     context.Context // of the blank first tab; its end is the browser's
	free    context.CancelFunc
	version string
	pid     int // of its first process, which leads its group; 0 if unknown
	born    time.Time
	output  *tail
}

// startBrowser starts Chromium on the profile, with our proxy as its only way
// out and a pipe (never a socket) for control: the browser ends when this
// program does, whatever ends it.
func startBrowser(ctx context.Context, o *Options, site origin) (*chromium, error) {
	const op = "start the browser"
	path, err := FindBrowser(o.Browser)
	if err != nil {
		return nil, err
	}
	if o.Visible && windowless(path) {
		e := fail(KindBrowser, op, "%s can show no window", path)
		e.Advice = "leave --visible away, or name another browser with --browser"
		return nil, e
	}
	if err := o.Profile.prepare(); err != nil {
		return nil, fail(KindDisk, op, "clean the profile: %w", err)
	}
	dial, err := upstreamDialer()
	if err != nil {
		return nil, err
	}
	way, err := newProxy(site.hostPort(), dial, sameUser)
	if err != nil {
		return nil, err
	}
	b := &chromium{profile: o.Profile, proxy: way, born: time.Now(), output: &tail{limit: 4096}}
	if err := b.launch(ctx, path, o); err != nil {
		b.kill()
		return nil, err
	}
	return b, nil
}

// launch runs the process, waits for its first answer and sets the guard up.
func (b *chromium) launch(ctx context.Context, path string, o *Options) error {
	const op = "start the browser"
	if err := b.run(ctx, path, o); err != nil {
		return err
	}
	v, err := chromedp.CallBrowser(b.ctx, browser.GetVersion, cdp.Empty{})
	if err != nil {
		return fail(KindBrowser, op, "%w", err)
	}
	b.version = v.Product
	if process := chromedp.FromContext(b.ctx).Browser.Process(); process != nil {
		b.pid = process.Pid
		b.profile.recordBrowser(b.pid)
	}
	b.guard, err = newGuard(b.ctx, b.proxy, func(what string) {
		o.Log.Warn().Msgf("the site opened %s; closed it", what)
	})
	if err != nil {
		e := fail(KindBrowser, op, "it can't be kept from opening pages: %w", err)
		e.Advice = "use a newer Chromium"
		return e
	}
	return nil
}

// run starts the process and waits until it answers.
func (b *chromium) run(ctx context.Context, path string, o *Options) error {
	const op = "start the browser"
	options := append(flags(o, b.proxy.address()),
		chromedp.ExecPath(path),
		chromedp.UserDataDir(o.Profile.browserDir()),
		chromedp.NoInheritEnv,
		chromedp.Env(environment(o.Profile)...),
		chromedp.CombinedOutput(b.output),
		chromedp.ModifyCmdFunc(b.adopt),
	)
	allocator, freeAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	var freeTab context.CancelFunc
	quiet := func(string, ...any) {}
	b.ctx, freeTab = chromedp.NewContext(allocator, chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	b.free = func() { freeTab(); freeAllocator() }

	started := make(chan error, 1)
	go func() { started <- chromedp.Do(b.ctx) }()
	select {
	case err := <-started:
		if err != nil {
			return b.startTrouble(path, err)
		}
	case <-ctx.Done():
		return fail(KindBrowser, op, "%w", ctx.Err())
	case <-time.After(startTimeout):
		return fail(KindBrowser, op, "%s gave no sign of life in %v%s", path, startTimeout, b.output.indented())
	}
	return nil
}

// startTrouble is a start that failed, in the browser's own words. An ordinary
// user's Chromium needs a sandbox, which not every system lets it make itself.
func (b *chromium) startTrouble(path string, err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	said := b.output.indented()
	e := fail(KindBrowser, "start the browser", "%s: %s%s", path, first, said)
	if strings.Contains(said, "No usable sandbox") {
		e.Advice = "give it its sandbox (Debian: apt install chromium-sandbox; Ubuntu: allow it user namespaces)"
	}
	if strings.Contains(said, "Missing X server") || strings.Contains(said, "cannot open display") {
		e.Advice = noDisplay
	}
	return e
}

// adopt ties the process to this one: its own process group, so that a
// terminal's interrupt doesn't reach it; a parent-death signal; and the lock
// that tells a later run that this browser is still alive.
func (b *chromium) adopt(cmd *exec.Cmd) {
	cmd.SysProcAttr = processAttributes()
	cmd.ExtraFiles = append(cmd.ExtraFiles, b.profile.alive)
	// What it would keep in the user's home otherwise.
	cmd.Env = append(cmd.Environ(), "BREAKPAD_DUMP_LOCATION="+b.profile.browserDir(), "GSETTINGS_BACKEND=memory")
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = stopTimeout
}

// stop ends the browser in order, so that cookies are written, and by force
// when it doesn't obey. Its way out is closed first.
func (b *chromium) stop() {
	b.proxy.setMode(modeClosed)
	ctx, cancel := context.WithTimeout(b.ctx, stopTimeout)
	defer cancel()
	_ = chromedp.Cancel(ctx)
	b.kill()
}

// kill frees everything; a browser that still runs is killed.
func (b *chromium) kill() {
	if b.free != nil {
		b.free()
	}
	b.proxy.close()
	b.profile.tidy()
}
