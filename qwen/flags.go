package qwen

import (
	"os"
	"strings"
	"syscall"

	"github.com/chromedp/chromedp"
)

// flags is the one list for headless and visible browsers.
func flags(o *Options, proxyAddress string) []chromedp.ExecAllocatorOption {
	list := []chromedp.ExecAllocatorOption{
		chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("password-store", "basic"),
		chromedp.Flag("proxy-server", "socks5://"+proxyAddress),
		chromedp.Flag("proxy-bypass-list", "<-loopback>"),
		chromedp.Flag("disable-quic", true),
		// Two ways past a proxy: names asked of the system, and datagrams.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
		chromedp.Flag("force-webrtc-ip-handling-policy", "disable_non_proxied_udp"),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-breakpad", true),
		chromedp.Flag("disable-default-apps", true),
		chromedp.Flag("disable-client-side-phishing-detection", true),
		chromedp.Flag("disable-features", "Translate,MediaRouter,OptimizationHints,AutofillServerCommunication,SpareRendererForSitePerProcess"),
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
