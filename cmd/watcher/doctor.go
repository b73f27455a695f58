package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"watcher/qwen"
)

// doctorHold is the name of the hidden command that doctor starts and kills.
const doctorHold = "doctor-hold"

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor [DIR...]",
		Short: "Check the browser, the profile, the site's page and folders",
		Long: `doctor looks at all that the program depends on and says what to do about it:

  the browser   measured on a page of its own on loopback with a profile that is
                thrown away: that a request which is held never leaves when the
                program dies, that one which is let go arrives once though its
                connection breaks, that nothing gets past the place where
                requests are held
  the profile   its modes, who holds it, how long the login lasts, a pause
  the site      its page is loaded in your profile: which entry of the site
                table matches what is there, the models, the clock
  each DIR      that a marker can be made there: writing, hard links, fsync,
                room, the file system, events, markers of other programs

It sends no prompt, makes no chat and leaves nothing in the folders. A profile
that another program holds is left to it.

Each line begins with ok, warning or fault. The exit code is 1 if there is a
fault, else 0.`,
		Example: "  watcher doctor ~/outbox\n  watcher doctor --browser /usr/bin/google-chrome --json",
		RunE: func(c *cobra.Command, dirs []string) error {
			for _, dir := range dirs {
				if err := isFolder(dir); err != nil {
					return err
				}
			}
			return a.doctor(c.Context(), asJSON, a.checkBrowser, a.checkProfile, a.checkSite, a.checkPause,
				func(ctx context.Context) []finding { return a.checkFolders(ctx, dirs) })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for each finding")
	return c
}

// doctorHoldCommand is the program that doctor kills in mid-request.
func (a *app) doctorHoldCommand() *cobra.Command {
	return &cobra.Command{
		Use:    doctorHold + " SITE DIR",
		Short:  "Hold a request to a site on this machine until killed",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return qwen.HoldRequest(c.Context(), a.browserCheck(), args[0], args[1], a.stdin, a.stdout)
		},
	}
}

// finding is what one check found; the names are those of --json, and stable.
type finding struct {
	Name   string     `json:"check"`
	Level  qwen.Level `json:"level"`            // ok, warning or fault
	Detail string     `json:"detail"`           // what was found
	Hint   string     `json:"hint,omitempty"`   // what to do
	Folder string     `json:"folder,omitempty"` // the folder it is about
}

func ok(name, detail string) finding {
	return finding{Name: name, Level: qwen.LevelOK, Detail: detail}
}

func warning(name, detail, hint string) finding {
	return finding{Name: name, Level: qwen.LevelWarning, Detail: detail, Hint: hint}
}

func faulty(name, detail, hint string) finding {
	return finding{Name: name, Level: qwen.LevelFault, Detail: detail, Hint: hint}
}

// checks looks at one part of the machine.
type checks func(context.Context) []finding

// doctor makes all checks and prints what they find.
func (a *app) doctor(ctx context.Context, asJSON bool, all ...checks) error {
	faults := 0
	for _, look := range all {
		found := look(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx) // what was found then is the interruption's
		}
		for _, f := range found {
			if f.Level == qwen.LevelFault {
				faults++
			}
			if err := a.printFinding(f, asJSON); err != nil {
				return err
			}
		}
	}
	if faults > 0 {
		return exitCode(codeSwitch)
	}
	return nil
}

func (a *app) printFinding(f finding, asJSON bool) error {
	if asJSON {
		b, _ := json.Marshal(f) // strings: can't fail
		_, err := fmt.Fprintf(a.stdout, "%s\n", b)
		return err
	}
	text := f.Name + ": " + f.Detail
	if f.Folder != "" {
		text = f.Folder + ": " + text
	}
	if f.Hint != "" {
		text += "; " + f.Hint
	}
	_, err := fmt.Fprintf(a.stdout, "%-8s %s\n", f.Level, text)
	return err
}

// browserCheck is the check of the browser that the settings name.
func (a *app) browserCheck() qwen.Check {
	return qwen.Check{Browser: a.set.browser, Visible: a.set.visible}
}

// checkBrowser checks the browser and what is taken for granted about it.
func (a *app) checkBrowser(ctx context.Context) []finding {
	check := a.browserCheck()
	check.Hold = []string{os.Args[0], doctorHold, "--browser=" + check.Browser, fmt.Sprintf("--visible=%v", check.Visible)}
	return findings(qwen.CheckBrowser(ctx, check))
}

func findings(list []qwen.Finding) (found []finding) {
	for _, f := range list {
		found = append(found, finding{Name: f.Name, Level: f.Level, Detail: f.Detail, Hint: f.Hint})
	}
	return found
}
