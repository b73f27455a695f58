package qwen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Level is how a finding is to be taken.
type Level string

// The levels. With a fault the program must not be trusted with prompts.
const (
	LevelOK      Level = "ok"
	LevelWarning Level = "warning"
	LevelFault   Level = "fault"
)

// Finding is what one check found.
type Finding struct {
	Name   string // what was looked at, a few words
	Level  Level
	Detail string // what was found, one line
	Hint   string // what a person can do; empty when all is well
}

// Check says how CheckBrowser works.
type Check struct {
	Browser string // Chromium's path; "" looks in the usual places
	Visible bool   // in a window instead of headless

	// Hold is a command, with its arguments, that runs [HoldRequest] with the
	// two arguments that are appended to it. It is killed in mid-request.
	Hold []string
}

// The names of CheckBrowser's findings.
const (
	findingFound   = "browser"
	findingStarts  = "browser starts"
	findingSandbox = "sandbox"
	findingDies    = "a held request dies with the program"
	findingOnce    = "one connection, one delivery"
	findingWorker  = "service workers are passed by"
	findingWindow  = "other windows are closed"
)

// checkTime bounds each step of a check: no browser takes so long.
var checkTime = 30 * time.Second

// checkText is what the page of checkSite posts.
const checkText = "This is a check of this machine's browser; no site gets it."

// CheckBrowser measures on this machine's own browser what the driver takes for
// granted about browsers. It starts it as the driver does, with a profile of its
// own that it removes again, and opens a page on loopback. No site is asked for
// anything. It takes some seconds.
//
// A check that can't be made is a fault: nobody knows how it would end.
func CheckBrowser(ctx context.Context, check Check) []Finding {
	path, err := FindBrowser(check.Browser)
	if err != nil {
		return []Finding{faultOf(findingFound, err)}
	}
	found := []Finding{{Name: findingFound, Level: LevelOK, Detail: path}}
	site, err := newCheckSite()
	if err != nil {
		return append(found, faultOf(findingStarts, fmt.Errorf("open a port on loopback: %w", err)))
	}
	defer site.close()
	dir, err := os.MkdirTemp("", "watcher-check-")
	if err != nil {
		return append(found, faultOf(findingStarts, fmt.Errorf("make a profile: %w", err)))
	}
	defer os.RemoveAll(dir)

	// The program that is killed has a browser and a site of its own, so both
	// can go on at a time.
	var dies Finding
	var apart sync.WaitGroup
	apart.Go(func() { dies = checkDies(ctx, check, filepath.Join(dir, "killed")) })
	more := checkRunning(ctx, check, site, filepath.Join(dir, "kept"))
	apart.Wait()
	if more[0].Level == LevelFault {
		return append(found, more...) // it doesn't start: that says it all
	}
	return append(append(found, more...), dies)
}

// faultOf is a finding about an error.
func faultOf(name string, err error) Finding {
	f := Finding{Name: name, Level: LevelFault, Detail: strings.Join(strings.Fields(err.Error()), " ")}
	var e *Error
	if errors.As(err, &e) {
		f.Hint = e.Advice
	}
	return f
}

// checkClient is a client for a site of checks, on a profile in dir.
func checkClient(check Check, site, dir string) (*Client, error) {
	profile, err := OpenProfile(dir)
	if err != nil {
		return nil, err
	}
	c, err := New(Options{Site: site, Table: DefaultSite(), Profile: profile, Browser: check.Browser,
		Visible: check.Visible, Log: zerolog.Nop()})
	if err == nil && !c.site.loopback() {
		err = fail(KindInvalid, "check the browser", "%s is not on this machine", site)
	}
	if err != nil {
		profile.Close()
		return nil, err
	}
	return c, nil
}

// checkRunning starts the browser and makes the checks that need it alive.
func checkRunning(ctx context.Context, check Check, site *checkSite, dir string) []Finding {
	c, err := checkClient(check, site.url, dir)
	if err != nil {
		return []Finding{faultOf(findingStarts, err)}
	}
	defer c.options.Profile.Close()
	defer c.Close()
	b, err := c.running(ctx)
	if err != nil {
		return []Finding{faultOf(findingStarts, err)}
	}
	how := "headless"
	if check.Visible {
		how = "in a window"
	}
	found := []Finding{{Name: findingStarts, Level: LevelOK, Detail: b.version + ", " + how}, checkSandbox()}
	for _, one := range []struct {
		name string
		run  func(context.Context, *Client, *checkSite) error
	}{{findingWorker, checkWorker}, {findingWindow, checkWindows}, {findingOnce, checkOnce}} {
		err := one.run(ctx, c, site)
		if err != nil {
			c.stop() // what is left of it is not the next one's fault
		}
		found = append(found, judge(one.name, err))
	}
	return found
}

// checkSandbox says whether pages are locked in; only root has none.
func checkSandbox() Finding {
	if os.Geteuid() == 0 {
		return Finding{findingSandbox, LevelWarning, "off, as the browser runs as root", "run the program as an ordinary user"}
	}
	return Finding{Name: findingSandbox, Level: LevelOK, Detail: "on"}
}

// judge is the finding of a check that ended with an error, or well.
func judge(name string, err error) Finding {
	if err == nil {
		return Finding{Name: name, Level: LevelOK, Detail: "yes"}
	}
	f := faultOf(name, err)
	f.Hint = "do not use the program with this browser; take a newer Chromium, or another one with --browser"
	return f
}
