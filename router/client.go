package router

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// DefaultURL is where 9router listens.
const DefaultURL = "http://localhost:20128/v1"

// noKey is sent where no key was given: some endpoints refuse a request without
// one and take any.
const noKey = "none"

// Options say what to ask, and whom. Zero times take the defaults.
type Options struct {
	URL   string // the base address, which ends in /v1 as a rule
	Model string // the model's id; it may not be empty
	Key   string // sent as a bearer token; "": a placeholder is sent

	Dial  time.Duration // to connect; 10 s
	Idle  time.Duration // without a byte of the reply; 5 min
	Total time.Duration // for all of one call; 30 min
}

// Client asks one model of one endpoint. It keeps no connection and is safe for
// concurrent use.
type Client struct {
	o       Options
	address string
}

// New checks the options. It connects to nothing.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the other engine's address: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the other engine's address %q: it begins with http:// or https:// and a host", o.URL)
	case u.User != nil:
		return nil, errors.New("the other engine's address holds a name or password: put the key into a file instead")
	case u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(o.URL, "#?"):
		return nil, fmt.Errorf("the other engine's address %q: leave out what begins with ? or #", o.URL)
	case strings.TrimSpace(o.Model) == "":
		return nil, errors.New("the other engine needs a model's name")
	}
	o.Dial, o.Idle, o.Total = or(o.Dial, 10*time.Second), or(o.Idle, 5*time.Minute), or(o.Total, 30*time.Minute)
	return &Client{o: o, address: strings.TrimRight(u.String(), "/") + "/chat/completions"}, nil
}

func or(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// Address is where the one request of a call goes.
func (c *Client) Address() string { return c.address }

// Reach connects to the endpoint and hangs up, to learn whether anybody is there
// before anything is written down. Behind a proxy it asks nobody.
func (c *Client) Reach(ctx context.Context) error {
	r, err := http.NewRequest(http.MethodPost, c.address, nil)
	if err != nil {
		return unsent(err)
	}
	if proxy, err := http.ProxyFromEnvironment(r); err != nil || proxy != nil {
		return nil
	}
	port := r.URL.Port()
	if port == "" {
		port = r.URL.Scheme // net knows the ports of both
	}
	conn, err := (&net.Dialer{Timeout: c.o.Dial}).DialContext(ctx, "tcp", net.JoinHostPort(r.URL.Hostname(), port))
	if err != nil {
		return unsent(err)
	}
	_ = conn.Close() // nothing was written to it
	return nil
}

// Complete sends the prompt in exactly one request and returns the whole answer
// of the model, or of Options.Model where none is named, as the endpoint gave it and without the model's thinking. With an error, which
// is an [*Error], the text is what there was of the answer.
func (c *Client) Complete(ctx context.Context, model, prompt string) (text string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := time.AfterFunc(c.o.Total, func() { cancel(fmt.Errorf("no end of the answer after %v", c.o.Total)) })
	defer stop.Stop()
	call := &call{dial: c.o.Dial, idle: c.o.Idle, cancel: cancel}
	reply, err := c.post(ctx, call, model, prompt)
	if err != nil {
		return "", call.failure(ctx, err)
	}
	defer reply.Body.Close()
	a, err := read(reply, call.ended)
	if err == nil {
		return a.text(), nil
	}
	var e *Error
	if !errors.As(err, &e) { // the body broke off
		e = broken(KindGeneration, reply.StatusCode, "broke off its answer: %v", because(ctx, err))
		e.cause = err
	}
	return a.text(), e
}

// post makes the request. The service is built without the library's client,
// which would take keys and addresses out of the environment.
func (c *Client) post(ctx context.Context, call *call, model, prompt string) (*http.Response, error) {
	if model == "" {
		model = c.o.Model
	}
	key := c.o.Key
	if key == "" {
		key = noKey
	}
	client := openai.Client{Options: []option.RequestOption{
		option.WithBaseURL(c.o.URL), option.WithAPIKey(key), option.WithMaxRetries(0),
		option.WithHTTPClient(call.client()),
	}}
	var reply *http.Response
	err := client.Post(ctx, "chat/completions", openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
	}, &reply, option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream, application/json"))
	if err == nil && reply == nil {
		err = errors.New("no reply")
	}
	return reply, err
}

// because is the reason for which a context ended, where that was the reason.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
