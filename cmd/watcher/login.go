package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"watcher/qwen"
	"watcher/watch"
)

func (a *app) loginCommand() *cobra.Command {
	var fromStdin bool
	var cookies string
	c := &cobra.Command{
		Use:   "login",
		Short: "Log in, or bring a login along",
		Long: `login opens a browser window on the profile that the program uses, waits until
you have logged in there, and closes it. A check that the site asks a person to
solve is solved in the same window.

On a machine without a display bring the login along from your own browser:
the token that the site keeps (in its developer tools: localStorage, "token"),
or its cookies (cookies.txt, or the JSON of the usual browser extensions).`,
		Example: `  watcher login
  ssh laptop cat token.txt | watcher login --token-stdin
  watcher login --cookies cookies.txt`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if fromStdin && cookies != "" {
				return usagef("login: --token-stdin and --cookies exclude each other")
			}
			return a.login(c.Context(), fromStdin, cookies)
		},
	}
	c.Flags().BoolVar(&fromStdin, "token-stdin", false, "read the login token from standard input")
	c.Flags().StringVar(&cookies, "cookies", "", "read the site's cookies from this file")
	return c
}

// login brings a login into the profile and proves that it works.
func (a *app) login(ctx context.Context, fromStdin bool, cookies string) error {
	bring, err := a.bring(fromStdin, cookies)
	if err != nil {
		return err
	}
	dir, err := a.set.profileDir()
	if err != nil {
		return err
	}
	profile, release, err := takeProfile(ctx, dir)
	if err != nil {
		return err
	}
	defer release()
	defer profile.Close()
	o := a.set.chatOptions(profile, a.set.logger(a.stderr, zerolog.WarnLevel))
	o.Visible = o.Visible || bring == nil
	if err := a.withClient(o, func(c *qwen.Client) error {
		if bring == nil {
			fmt.Fprintln(a.stderr, "log in in the window that opens; it closes by itself")
			return c.Login(ctx)
		}
		return bring(ctx, c)
	}); err != nil {
		return err
	}
	// What counts is that the program itself finds the login there.
	o.Visible = a.set.visible
	if err := a.withClient(o, func(c *qwen.Client) error {
		_, err := c.Owner(ctx)
		return err
	}); err != nil {
		return err
	}
	if class := loadPause(dir).Class; class == watch.ClassLogin || class == watch.ClassChallenge {
		if err := savePause(dir, watch.Pause{}); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(a.stdout, "logged in to %s; the login is kept in %s\n", a.set.site, dir)
	return err
}

// takePatience is how long login asks for a profile that nobody gives up:
// a program that is just beginning or ending needs a moment.
const takePatience = 15 * time.Second

// takeProfile opens the profile; a program that holds it is asked to give it
// up until release is called.
func takeProfile(ctx context.Context, dir string) (p *qwen.Profile, release func(), err error) {
	for end := time.Now().Add(takePatience); ; {
		if p, err = qwen.OpenProfile(dir); err == nil || !errors.Is(err, qwen.ErrHeld) {
			return p, func() {}, err
		}
		if release, err = askForProfile(ctx, dir); err == nil {
			break
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return nil, nil, fmt.Errorf("the program that uses the profile %s does not give it up; stop it first: %w", dir, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	if p, err = qwen.OpenProfile(dir); err != nil {
		release()
		return nil, nil, err
	}
	return p, release, nil
}

// askForProfile asks the holder, and returns when it has given the profile up.
func askForProfile(ctx context.Context, dir string) (release func(), err error) {
	c, err := callHolder(dir)
	if err != nil {
		return nil, err
	}
	if _, err := c.hello(ctx); err != nil {
		c.close()
		return nil, err
	}
	free, err := c.yield(ctx)
	if err != nil {
		c.close()
		return nil, err
	}
	return func() { free(); c.close() }, nil
}

func (a *app) withClient(o qwen.Options, use func(*qwen.Client) error) error {
	c, err := qwen.New(o)
	if err != nil {
		return usageError{err}
	}
	defer c.Close()
	return use(c)
}

// bring returns how a login comes from elsewhere; nil when a person types it.
// The token and the cookies are read before the profile is touched, and never
// printed.
func (a *app) bring(fromStdin bool, cookies string) (func(context.Context, *qwen.Client) error, error) {
	switch {
	case fromStdin:
		token, err := io.ReadAll(io.LimitReader(a.stdin, 1<<20))
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		return func(ctx context.Context, c *qwen.Client) error { return c.UseToken(ctx, string(token)) }, nil
	case cookies != "":
		f, err := os.Open(cookies)
		if err != nil {
			return nil, usageError{err}
		}
		defer f.Close()
		list, err := qwen.ParseCookies(f)
		if err != nil {
			return nil, usageError{err}
		}
		return func(ctx context.Context, c *qwen.Client) error { return c.UseCookies(ctx, list) }, nil
	}
	return nil, nil
}
