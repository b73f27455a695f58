package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"watcher/qwen"
)

func (a *app) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "Remove the login from the profile",
		Long: `logout removes the login, and all else that the browser keeps, from the profile.
What names the profile stays: after the next login of the same account its earlier
prompts are still its own, and their answers are fetched.

It starts no browser and tells the site nothing: to end the login everywhere, log
out on the site or change the password. A profile that another program uses is
left alone.`,
		Example: "  watcher logout",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.logout(c.Context()) },
	}
}

// logout empties the browser's folder of the profile.
func (a *app) logout(ctx context.Context) error {
	dir, err := a.set.profileDir()
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		_, err := fmt.Fprintf(a.stdout, "nobody is logged in: there is no profile %s\n", dir)
		return err
	}
	profile, err := qwen.OpenProfile(dir)
	if errors.Is(err, qwen.ErrHeld) {
		who := heldBy(ctx, dir)
		if who == "" {
			who = "another program"
		}
		return fmt.Errorf("log out: %s uses the profile %s; stop it first", who, dir)
	}
	if err != nil {
		return err
	}
	defer profile.Close()
	note := qwen.ReadLoginNote(dir)
	if err := profile.Forget(); err != nil {
		return err
	}
	text := "logged out: the login is removed from " + dir
	if time.Now().Before(note.Expires) {
		text += fmt.Sprintf("; the site itself takes it until %s: change the password to end it everywhere", note.Expires.Local().Format(time.DateTime))
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return err
}
