package qwen

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
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
	ctx     context.Context // of the blank first tab; its end is the browser's
	free    context.CancelFunc
	version string
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
	if err := o.Profile.prepare(); err != nil {
		return nil, fail(KindDisk, op, "clean the profile: %w", err)
	}
	dial, err := upstreamDialer()
	if err != nil {
		return nil, err
	}
	way, err := newProxy(site.hostPort(), dial)
	if err != nil {
		return nil, err
	}
	b := &chromium{profile: o.Profile, proxy: way, output: &tail{limit: 4096}}
	if err := b.launch(ctx, path, o); err != nil {
		b.kill()
		return nil, err
	}
	return b, nil
}

// launch runs the process and waits for its first answer.
func (b *chromium) launch(ctx context.Context, path string, o *Options) error {
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
			first, _, _ := strings.Cut(err.Error(), "\n")
			return fail(KindBrowser, op, "%s: %s%s", path, first, b.output.indented())
		}
	case <-ctx.Done():
		return fail(KindBrowser, op, "%w", ctx.Err())
	case <-time.After(startTimeout):
		return fail(KindBrowser, op, "%s gave no sign of life in %v%s", path, startTimeout, b.output.indented())
	}
	v, err := chromedp.CallBrowser(b.ctx, browser.GetVersion, cdp.Empty{})
	if err != nil {
		return fail(KindBrowser, op, "%w", err)
	}
	b.version = v.Product
	if process := chromedp.FromContext(b.ctx).Browser.Process(); process != nil {
		b.profile.recordBrowser(process.Pid)
	}
	return nil
}

// flags is the one list for headless and visible browsers.
func flags(o *Options, proxyAddress string) []chromedp.ExecAllocatorOption {
	list := []chromedp.ExecAllocatorOption{
		chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("password-store", "basic"),
		chromedp.Flag("proxy-server", "socks5://"+proxyAddress),
		chromedp.Flag("proxy-bypass-list", "<-loopback>"),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-breakpad", true),
		chromedp.Flag("disable-default-apps", true),
		chromedp.Flag("disable-client-side-phishing-detection", true),
		chromedp.Flag("disable-features", "Translate,MediaRouter,OptimizationHints,AutofillServerCommunication"),
		chromedp.Flag("disable-hang-monitor", true),
		chromedp.Flag("disable-prompt-on-repost", true),
		// A hidden window must go on drawing and counting time.
		chromedp.Flag("disable-background-timer-throttling", true),
		chromedp.Flag("disable-backgrounding-occluded-windows", true),
		chromedp.Flag("disable-renderer-backgrounding", true),
		chromedp.Flag("metrics-recording-only", true),
		chromedp.Flag("window-size", "1365,768"),
	}
	if !o.Visible {
		list = append(list, chromedp.Flag("headless", true),
			chromedp.Flag("hide-scrollbars", true), chromedp.Flag("mute-audio", true))
	}
	if os.Geteuid() == 0 {
		o.Log.Warn().Msg("running as root: Chromium's sandbox is off; better use an ordinary user")
		list = append(list, chromedp.NoSandbox)
	}
	if smallSharedMemory() {
		list = append(list, chromedp.Flag("disable-dev-shm-usage", true))
	}
	if o.TrustSPKI != "" {
		list = append(list, chromedp.Flag("ignore-certificate-errors-spki-list", o.TrustSPKI))
	}
	return list
}

// smallSharedMemory reports whether /dev/shm is too small for Chromium, as in
// many containers (64 MB crashes tabs without a word).
func smallSharedMemory() bool {
	var fs syscall.Statfs_t
	if syscall.Statfs("/dev/shm", &fs) != nil {
		return true
	}
	return uint64(fs.Bavail)*uint64(fs.Bsize) < 256<<20
}

// environment is the browser's: ours, less what would change how it is driven
// and what it need not know, with a folder of its own for temporary files.
func environment(p *Profile) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "CHROMEDP_") || strings.HasPrefix(name, "WATCHER_") || name == "TMPDIR" ||
			strings.HasPrefix(name, "NOTIFY_") || name == "WATCHDOG_USEC" {
			continue
		}
		env = append(env, v)
	}
	return append(env, "TMPDIR="+p.tempDir())
}

// adopt ties the process to this one: its own process group, so that a
// terminal's interrupt doesn't reach it; a parent-death signal; and the lock
// that tells a later run that this browser is still alive.
func (b *chromium) adopt(cmd *exec.Cmd) {
	cmd.SysProcAttr = processAttributes()
	cmd.ExtraFiles = append(cmd.ExtraFiles, b.profile.alive)
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

// gone is closed when the browser has ended.
func (b *chromium) gone() <-chan struct{} { return b.ctx.Done() }

// tail keeps the last bytes of the browser's output, for errors.
type tail struct {
	mu    sync.Mutex
	buf   []byte
	limit int
}

// Write keeps the end of what was written so far.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// indented is what the browser said of its end, ready to follow an error's
// text: the fatal lines if there are any, else the last ones.
func (t *tail) indented() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var fatal, last []string
	for line := range strings.Lines(string(t.buf)) {
		line = "\n  " + strings.TrimSpace(line)
		if strings.Contains(line, "FATAL") || strings.Contains(line, "sandbox") {
			fatal = append(fatal, line)
		}
		last = append(last, line)
	}
	if len(fatal) > 0 {
		last = fatal
	}
	return strings.Join(last[max(0, len(last)-5):], "")
}
