package router

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3"
)

// call is one request on its way: it lets no second one through, and knows
// whether anything can have left.
type call struct {
	dial, idle time.Duration
	cancel     context.CancelCauseFunc

	trips atomic.Int32
	body  *watched    // of the reply, once there is one
	left  atomic.Bool // the connection stood, so bytes may have gone over it
}

// client is for this call alone. Every connection is fresh, and there is no
// HTTP/2: on neither does net/http repeat a request by itself.
func (c *call) client() *http.Client {
	return &http.Client{
		Transport: c.once(&http.Transport{
			Proxy:               http.ProxyFromEnvironment, // none for this machine
			DialContext:         (&net.Dialer{Timeout: c.dial}).DialContext,
			TLSHandshakeTimeout: c.dial,
			DisableKeepAlives:   true,
			TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
		}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

var errTwice = errors.New("a second request of one call was refused")

// once passes one request through, without the means to repeat its body, and
// watches over the time that its reply takes.
func (c *call) once(transport http.RoundTripper) http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		if c.trips.Add(1) > 1 {
			return nil, errTwice
		}
		trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { c.left.Store(true) }}
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
		r.GetBody = nil
		silent := time.AfterFunc(c.dial+c.idle, func() { c.cancel(c.silence()) })
		reply, err := transport.RoundTrip(r)
		if err != nil {
			silent.Stop()
			return nil, err
		}
		c.body = &watched{body: reply.Body, idle: c.idle, silent: silent}
		reply.Body = c.body
		return reply, nil
	})
}

func (c *call) silence() error { return fmt.Errorf("no sign of life for %v", c.idle) }

// ended says that the answer is whole: what follows is waited for only briefly.
func (c *call) ended() {
	c.body.idle = min(c.body.idle, 3*time.Second)
	c.body.silent.Reset(c.body.idle)
}

// watched is a reply's body: each byte is a sign of life.
type watched struct {
	body   io.ReadCloser
	idle   time.Duration
	silent *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	if n > 0 {
		w.silent.Reset(w.idle)
	}
	return n, err
}

func (w *watched) Close() error {
	w.silent.Stop()
	return w.body.Close()
}

// failure sorts an error of the request.
func (c *call) failure(ctx context.Context, err error) *Error {
	var said *openai.Error
	switch {
	case errors.As(err, &said):
		return refusal(said)
	case !c.left.Load():
		return unsent(because(ctx, err))
	}
	return lost(because(ctx, err))
}

// refusal is a reply whose status says that there is no answer. Those below 500
// speak of the request, and 503 of an endpoint that does not work now: there the
// prompt was not taken. After any other nobody can tell what was done.
func refusal(said *openai.Error) *Error {
	e := broken(KindGeneration, said.StatusCode, "says %d %s%s", said.StatusCode, http.StatusText(said.StatusCode), words(said.Message))
	e.refused = said.StatusCode < 500 || said.StatusCode == http.StatusServiceUnavailable
	if said.Response != nil {
		e.until = comeBack(said.Response.Header.Get("Retry-After"), time.Now())
	}
	switch code := said.StatusCode; {
	case code == 401 || code == 403:
		e.Kind, e.hint = KindLogin, keyHint
	case code == 402 || code == 429:
		e.Kind = KindQuota
	case code == 400 && aboutModel(said), code == 404, code == 405:
		e.Kind, e.hint = KindSiteChanged, "see that --fallback ends in /v1 where it should, and that --fallback-model is in its list (/v1/models)"
	case code == 408:
		e.Kind, e.refused = KindUnreachable, false
	case code == 425 || code >= 500:
		e.Kind = KindUnreachable
	default:
		e.Kind = KindInvalid
	}
	return e
}

const keyHint = "name a file with the key that its dashboard shows (9router: Endpoint & Key) in --fallback-key-file, " +
	"or switch its 'Require API key' off"

// aboutModel reports whether a 400 speaks of the model's name, not of the text.
func aboutModel(e *openai.Error) bool {
	return e.Param == "model" || strings.Contains(e.Code, "model_not_found") ||
		strings.Contains(strings.ToLower(e.Message), "invalid model")
}

// words are what an endpoint says, fit for one line.
func words(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + "…"
	}
	if s == "" {
		return ""
	}
	return ": " + s
}

// comeBack reads a Retry-After: seconds, or a date.
func comeBack(value string, now time.Time) time.Time {
	if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n > 0 {
		return now.Add(time.Duration(min(n, 7*24*3600)) * time.Second)
	}
	at, _ := http.ParseTime(value) // zero when unreadable
	return at
}
