// Command rehearsal serves the rehearsal site, for tests in other processes
// and for a look at it. It prints one JSON line when it is ready:
//
//	{"url":"http://127.0.0.1:40123","token":"…","spki":"","pid":4711,"login":"http://127.0.0.1:40123/_rehearsal/login"}
//
// Open "login" in a browser to be logged in. It ends on SIGTERM and SIGINT.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"watcher/qwen/qwentest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are the command's flags.
type settings struct {
	addr               string
	tls, h1, fast      bool
	delay              time.Duration
	options            string
	faults             []string
	untilStdin, ledger bool
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("rehearsal", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.addr, "addr", "127.0.0.1:0", "listen on this loopback `address`; port 0 is any free one")
	flags.BoolVar(&s.tls, "tls", false, "serve https with HTTP/2 and a certificate made now")
	flags.BoolVar(&s.h1, "h1", false, "with --tls: HTTP/1.1 only")
	flags.BoolVar(&s.fast, "fast", false, "ten times faster than the real site, as in tests")
	flags.DurationVar(&s.delay, "delay", 0, "`time` between two pieces of an answer")
	flags.StringVar(&s.options, "options", "", `a JSON object of options, such as {"Guest":true,"Hydration":"5s"}`)
	flags.Func("fault", `a JSON fault, such as {"kind":"drop-rst","times":1}; may be repeated`, func(v string) error {
		s.faults = append(s.faults, v)
		return nil
	})
	flags.BoolVar(&s.untilStdin, "until-stdin-closes", false, "end when standard input ends")
	flags.BoolVar(&s.ledger, "ledger", false, "print the ledger on standard error at the end")
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("no arguments are expected, got %q", flags.Args())
		fmt.Fprintln(stderr, err)
	}
	return s, err
}

// build makes the site that the flags describe.
func build(s settings) (*qwentest.Site, error) {
	options := qwentest.Life()
	if s.fast {
		options = qwentest.Options{}
	}
	if s.delay != 0 {
		options.ChunkDelay = s.delay
	}
	site := qwentest.New(options)
	if s.options != "" {
		if err := site.ConfigureJSON([]byte(s.options)); err != nil {
			return nil, err
		}
	}
	for _, f := range s.faults {
		if err := site.FaultJSON([]byte(f)); err != nil {
			return nil, err
		}
	}
	return site, nil
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	site, err := build(s)
	if err != nil {
		fmt.Fprintln(stderr, "rehearsal:", err)
		return 2
	}
	mode := qwentest.ModeHTTP
	switch {
	case s.tls && s.h1:
		mode = qwentest.ModeHTTPS1
	case s.tls:
		mode = qwentest.ModeHTTPS2
	}
	server, err := site.StartOn(s.addr, mode)
	if err != nil {
		fmt.Fprintln(stderr, "rehearsal:", err)
		return 1
	}
	defer server.Close()
	_ = json.NewEncoder(stdout).Encode(map[string]any{
		"url": server.URL, "token": site.Token(), "spki": server.SPKI, "pid": os.Getpid(), "login": server.URL + "/_rehearsal/login",
	})
	wait(ctx, s, stdin)
	if s.ledger {
		out := json.NewEncoder(stderr)
		out.SetIndent("", "  ")
		_ = out.Encode(site.Report())
	}
	return 0
}

// wait returns when the command shall end. The reader of standard input is
// left behind: a read cannot be called off, and the process ends anyway.
func wait(ctx context.Context, s settings, stdin io.Reader) {
	ended := make(chan struct{})
	if s.untilStdin {
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			close(ended)
		}()
	}
	select {
	case <-ctx.Done():
	case <-ended:
	}
}
